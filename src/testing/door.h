// A hub with its AWS-compatible door, without sockets: bytes in, bytes out, and time that stands
// still until it is moved. For tests and fuzzing. One thread.
#pragma once

#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "doors/aws/door.h"
#include "hub/access/aws_keys.h"
#include "hub/aws_host.h"
#include "store/memory.h"

namespace dunlin {

class TestDoor final : public net::Peers, public Clock {
 public:
  explicit TestDoor(std::unique_ptr<Core> core = memory_core(),
                    size_t kept_max = aws::Door::kKeptMax)
      : core_(std::move(core)),
        sessions_(*this, *core_, *this, std::string(kAdmin)),
        door_(*this, host_, *this, false, kept_max) {
    host_.attach(sessions_, door_, *this, std::string(kAdmin));
    key = hub::make_aws_key(kAdmin, hub::Scope::admin, 0);
  }

  // From now on requests are signed with a key of these scopes, which ends after that time.
  void use_key(hub::Scopes scopes, Millis life = std::chrono::hours(1)) {
    const auto end = std::chrono::floor<std::chrono::seconds>(wall_ + life);
    key = hub::make_aws_key(kAdmin, scopes, end.time_since_epoch().count());
  }

  // A new connection to the door.
  net::PeerId connect() {
    connections_[++last_peer_];
    door_.opened(last_peer_, false);
    return last_peer_;
  }
  // What the client says, and what the hub does about it until it waits for something.
  void say(net::PeerId peer, std::string_view bytes) {
    Connection& connection = connections_.at(peer);
    connection.unread += bytes;
    if (connection.finishing) return;
    deliver(peer);
    settle();
  }
  // The same without the hub's turn.
  void say_only(net::PeerId peer, std::string_view bytes) {
    connections_.at(peer).unread += bytes;
    deliver(peer);
  }
  void leave(net::PeerId peer) {
    connections_.erase(peer);
    static_cast<void>(door_.closed(peer));
    settle();
  }
  void settle(int turns_max = 10'000) {
    for (int turns = 0; turns < turns_max; ++turns) {
      static_cast<void>(door_.turn(now_));
      const std::optional<Instant> wake = sessions_.turn(now_);
      for (auto& [peer, connection] : connections_) deliver(peer);
      if (!wake || *wake > now_) return;
    }
  }
  void skip(Millis time) {
    now_ += time;
    wall_ += time;
    settle();
  }

  // All that the client has been told since the last time.
  std::string hear(net::PeerId peer) {
    std::string heard = std::exchange(connections_.at(peer).out, {});
    settle();
    return heard;
  }
  bool finished(net::PeerId peer) const { return connections_.at(peer).finishing; }
  bool is_paused(net::PeerId peer) const { return connections_.at(peer).paused; }

  // A request as a client signs it with `key`.
  std::string request(std::string_view service, std::string_view method, std::string_view target,
                      std::string_view body, http::Headers headers = {}) const {
    const size_t question = std::min(target.find('?'), target.size());
    aws::Signable signable;
    signable.method = method;
    signable.path = target.substr(0, question);
    signable.query =
        parse_query(target.substr(std::min(target.size(), question + 1))).value_or(Query());
    signable.payload_hash = hex(sha256(body));
    signable.headers = std::move(headers);
    signable.headers.emplace_back("host", "hub.test:9324");
    signable.headers.emplace_back("x-amz-date", aws::amz_time(wall()));
    if (service == "s3" && !http::find_header(signable.headers, "x-amz-content-sha256")) {
      signable.headers.emplace_back("x-amz-content-sha256", signable.payload_hash);
    }
    if (const auto* said = http::find_header(signable.headers, "x-amz-content-sha256")) {
      signable.payload_hash = *said;
    }
    std::string text = fmt::format("{} {} HTTP/1.1\r\n", method, target);
    for (const auto& [name, value] : signable.headers) {
      text += fmt::format("{}: {}\r\n", name, value);
    }
    text += "authorization: " + aws::authorize(signable, key, "eu-1", service) + "\r\n";
    return text + fmt::format("content-length: {}\r\n\r\n{}", body.size(), body);
  }
  std::string json_request(std::string_view target, std::string_view body) const {
    const bool sqs = target.starts_with("AmazonSQS");
    return request(sqs ? "sqs" : "dynamodb", "POST", "/", body,
                   {{"x-amz-target", std::string(target)}});
  }

  // The reply to one request on a connection of its own.
  std::string ask(std::string_view request_bytes) {
    const net::PeerId peer = connect();
    say(peer, request_bytes);
    std::string heard = hear(peer);
    leave(peer);
    return heard;
  }
  std::string ask_json(std::string_view target, std::string_view body) {
    return ask(json_request(target, body));
  }

  // What a native client sends to a queue of the store.
  void push(std::string_view queue, std::string_view id, std::string_view body) {
    const Message message = {std::string(id), std::string(body)};
    core_->handle(Commit{0, {Push{std::string(queue), {message}}}}, now_);
  }
  // All that the store holds, but for the bytes of blobs: to see whether anything has changed.
  std::string picture() {
    const Answer asked = core_->handle(AskInfo{}, now_);
    const Info& info = std::get<Info>(asked);
    std::string text = fmt::format("{} blobs, {} bytes\n", info.blobs, info.blob_bytes);
    for (const Info::QueueInfo& queue : info.queues) {
      text += fmt::format("{}: {} ready, {} leased\n", queue.name, queue.depth.ready,
                          queue.depth.leased);
    }
    for (const Info::TableInfo& table : info.tables) {
      const Answer found = core_->handle(Scan{table.name, "", "", 1000}, now_);
      for (const Row& row : std::get<Rows>(found).rows) {
        text += fmt::format("{}/{}: {} {}\n", table.name, row.key, row.version, row.value);
      }
    }
    return text;
  }
  size_t rows(std::string_view table) {
    const Answer found = core_->handle(Scan{std::string(table), "", "", 1000}, now_);
    return std::get<Rows>(found).rows.size();
  }
  void put_row(std::string_view table, std::string_view row_key, std::string_view value) {
    const Put put = {std::string(table), std::string(row_key), std::string(value), kAnyVersion};
    core_->handle(Commit{0, {put}}, now_);
  }
  void erase_row(std::string_view table, std::string_view row_key) {
    core_->handle(Commit{0, {Erase{std::string(table), std::string(row_key), kAnyVersion}}}, now_);
  }
  uint64_t blobs() {
    const Answer info = core_->handle(AskInfo{}, now_);
    return std::get<Info>(info).blobs;
  }

  // For the door and the sessions.
  std::string* outgoing(net::PeerId peer) override {
    const auto found = connections_.find(peer);
    return found == connections_.end() ? nullptr : &found->second.out;
  }
  void greeted(net::PeerId /*peer*/) override {}
  void pause(net::PeerId peer, bool paused) override {
    if (connections_.contains(peer)) connections_[peer].paused = paused;
  }
  bool clogged(net::PeerId peer) const override {
    const auto found = connections_.find(peer);
    return found != connections_.end() && found->second.out.size() > clogged_at;
  }
  void finish(net::PeerId peer) override {
    if (connections_.contains(peer)) connections_[peer].finishing = true;
  }
  std::string name_of(net::PeerId /*peer*/) const override { return "test"; }
  Instant now() const override { return now_; }
  WallTime wall() const override { return wall_; }

  aws::Credentials key;
  size_t clogged_at = 8 << 20;

 private:
  static constexpr std::string_view kAdmin =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

  struct Connection {
    std::string unread;
    std::string out;
    bool paused = false;
    bool finishing = false;
  };

  void deliver(net::PeerId peer) {
    Connection& connection = connections_.at(peer);
    if (connection.paused || connection.finishing || connection.unread.empty()) return;
    const std::string bytes = std::exchange(connection.unread, {});
    static_cast<void>(door_.received(peer, bytes, now_));
  }

  Instant now_{Millis(1'000'000)};
  WallTime wall_{Millis(1'790'000'000'000)};
  std::unique_ptr<Core> core_;
  hub::AwsHost host_;
  hub::Sessions sessions_;
  aws::Door door_;
  net::PeerId last_peer_ = 0;
  std::map<net::PeerId, Connection> connections_;
};

}  // namespace dunlin
