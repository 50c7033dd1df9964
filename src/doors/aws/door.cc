#include "doors/aws/door.h"

#include <fmt/format.h>
#include <utility>

#include "base/digest.h"
#include "base/memory.h"
#include "doors/aws/call/auth.h"
#include "doors/aws/s3/s3.h"
#include "doors/aws/services.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

constexpr size_t kReadSize = 1 << 20;  // What a peer may add in a turn, about.
constexpr Millis kSweepEvery = Millis(5'000);
constexpr Millis kSilentMax = Millis(60'000);  // In the middle of a body,
constexpr Millis kIdleMax = Millis(600'000);   // and between two requests.
constexpr size_t kForgettingMax = 256;         // Well below what a session may ask at once.
constexpr uint64_t kForgetId = 0;              // Of what the door asks by itself.
constexpr uint64_t kSweepId = 1;
constexpr size_t kSweepPage = 1000;

}  // namespace

class Door::Exchange final : public Call {
 public:
  Exchange(Door& door, net::PeerId peer, http::HttpHead&& head)
      : door_(door), peer_(peer), head_(std::move(head)) {}
  ~Exchange() override { drop_state(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const http::HttpHead& head() const override { return head_; }
  const Claim& claim() const override { return signer.claim; }
  const std::string& secret() const override { return signer.secret; }
  WallTime wall() const override { return door_.clock_.wall(); }
  bool tls() const override { return door_.tls_; }
  uint64_t fresh_number() override { return ++door_.last_number_; }

  void ask(Request&& request, Then then) override {
    const uint64_t id = ++door_.last_number_;
    thens_.emplace(id, std::move(then));
    door_.ask(session, id, std::move(request));
  }
  Result<void> may(const std::vector<Request>& requests) const override {
    return door_.host_.may(session, requests);
  }
  void forget(std::vector<std::string> blobs) override {
    for (std::string& blob : blobs) {
      if (door_.held_.contains(blob)) {
        door_.forget_later_.insert(std::move(blob));
      } else {
        door_.to_forget_.push_back(std::move(blob));
      }
    }
    door_.forget_some();
  }
  void hold(const std::string& blob) override { ++door_.held_[blob]; }
  void release(const std::string& blob) override { door_.release(blob); }
  void note_later(int64_t due_ms) override { door_.later_.note(due_ms); }
  std::string fresh_blob() override { return door_.blob_prefix_ + hex(random_bytes(10)); }
  void read(PartitionAttempt taker) override {
    say_continue();
    taker_ = std::move(taker);
  }
  void reply(http::HttpReply&& reply) override {
    if (head_.method == "HEAD" && !reply.length) reply.length = reply.body.size();
    if (head_.method == "HEAD") reply.body.clear();
    keep_alive_ = keep_alive_ && head_.keep_alive && body_ended && !door_.stopping_;
    append(std::move(reply));
    done_ = true;
  }
  void begin(http::HttpReply&& head) override {
    keep_alive_ = keep_alive_ && head_.keep_alive && body_ended && !door_.stopping_;
    append(std::move(head));
  }
  void write(std::string_view bytes, std::function<void()> then) override {
    if (std::string* out = door_.peers_.outgoing(peer_)) *out += bytes;
    if (!door_.peers_.clogged(peer_)) return then();
    resume_ = std::move(then);
    door_.clogged_.insert(peer_);
  }
  void finish() override { done_ = true; }
  void abort() override {
    keep_alive_ = false;
    done_ = true;
  }
  void must_end() override { must_end_ = true; }

  void say_continue() {
    if (!std::exchange(head_.expects_continue, false)) return;
    if (std::string* out = door_.peers_.outgoing(peer_)) *out += "HTTP/1.1 100 Continue\r\n\r\n";
  }
  void answered(uint64_t id, Answer&& answer) {
    auto node = thens_.extract(id);
    if (!node.empty() && !done_) node.mapped()(std::move(answer));
  }
  // False if nobody wants the body now.
  Result<bool> give_body(http::HttpReader& reader) {
    if (!taker_) return false;
    std::string bytes;
    if (!body_ended) body_ended = TRY(reader.body(bytes, kBlobPart));
    if (bytes.empty() && !body_ended) return false;
    const PartitionAttempt taker = std::exchange(taker_, nullptr);
    taker(std::move(bytes), body_ended);
    return true;
  }
  void resume() {
    if (const auto then = std::exchange(resume_, nullptr)) then();
  }

  bool wants_body() const { return gathering || taker_ != nullptr; }
  bool done() const { return done_; }
  bool keeps_alive() const { return keep_alive_; }
  bool may_not_be_cut() const { return must_end_ && !done_; }

  Signer signer;
  uint64_t session = 0;
  bool gathering = false;  // The body is kept whole in `body`.
  bool body_ended = false;
  std::string body;

 private:
  // SDKs set their clocks by the date of a reply that says that theirs is wrong.
  void append(http::HttpReply&& reply) {
    reply.headers.emplace_back("date", http::http_time(wall().time_since_epoch().count()));
    if (std::string* out = door_.peers_.outgoing(peer_))
      http::append_reply(reply, keep_alive_, *out);
  }

  Door& door_;
  const net::PeerId peer_;
  http::HttpHead head_;
  absl::flat_hash_map<uint64_t, Then> thens_;
  PartitionAttempt taker_;
  std::function<void()> resume_;
  bool done_ = false;
  bool keep_alive_ = true;
  bool must_end_ = false;
};

struct Door::Connection {
  http::HttpReader reader;
  std::string key_id;
  std::optional<uint64_t> session;
  std::unique_ptr<Exchange> exchange;
  bool finishing = false;
  bool gone = false;       // Its client has left, its exchange must end.
  bool advancing = false;  // Further down the stack.
  bool anew = false;       // Something has begun since it was accounted for.
  bool held_back = false;
  Instant heard_at;
};

Door::Door(net::Peers& peers, DoorHost& host, const Clock& clock, bool tls, size_t kept_max)
    : peers_(peers),
      host_(host),
      clock_(clock),
      tls_(tls),
      blob_prefix_("aws.s3/" + hex(random_bytes(5)) + "-"),
      holdings_(kept_max) {
  // Numbers of uploads must differ from those of native clients.
  const std::string random = random_bytes(8);
  for (const char c : random) last_number_ = last_number_ << 8U | static_cast<unsigned char>(c);
}

Door::~Door() = default;

void Door::opened(net::PeerId peer, bool crowded) {
  connections_.emplace(peer, std::make_unique<Connection>());
  connections_.at(peer)->heard_at = clock_.now();
  if (!crowded) return;
  if (std::string* out = peers_.outgoing(peer)) {
    http::append_reply({.status = 503, .headers = {}, .body = "", .length = {}}, false, *out);
  }
  connections_.at(peer)->finishing = true;
  peers_.finish(peer);
}

Result<void> Door::received(net::PeerId peer, std::string_view bytes, Instant now) {
  now_ = now;
  Connection& connection = *connections_.at(peer);
  if (connection.finishing) return {};
  connection.heard_at = now;
  TRY(if_memory_lasts([&]() -> Result<void> {
    connection.reader.feed(bytes);
    return {};
  }));
  advance(peer);
  const auto found = connections_.find(peer);
  if (found == connections_.end() || found->second->finishing) return {};
  const std::unique_ptr<Exchange>& exchange = found->second->exchange;
  const size_t kept = found->second->reader.unread() + (exchange ? exchange->body.size() : 0);
  if (holdings_.is_too_much(kept) && (!exchange || exchange->wants_body())) {
    return Error{Code::full, "all connections together have sent too many incomplete requests"};
  }
  return {};
}

// Notes what is kept of a peer, and whether it must wait with the rest because that of all is too
// much.
void Door::account(net::PeerId peer, Connection& connection) {
  const std::unique_ptr<Exchange>& exchange = connection.exchange;
  const bool its_turn = !connection.finishing && (!exchange || exchange->wants_body());
  const size_t bytes = connection.reader.unread() + (exchange ? exchange->body.size() : 0);
  if (!its_turn) return holdings_.set_aside(peer, bytes);
  holdings_.keep(peer, bytes, std::exchange(connection.anew, false), now_);
  if (!connection.held_back && !holdings_.must_wait(peer)) return;
  if (!std::exchange(connection.held_back, true)) held_back_.push_back(peer);
  holdings_.waits(peer, true, now_);  // Even if it is still held back since it was set aside.
}

// Lets those who were held back send on, as far as there is room.
void Door::let_on() {
  size_t room = 1 + holdings_.room() / kReadSize;
  for (const net::PeerId peer : std::exchange(held_back_, {})) {
    if (room == 0 || holdings_.must_wait(peer)) {
      held_back_.push_back(peer);
      continue;
    }
    --room;
    connections_.at(peer)->held_back = false;
    holdings_.waits(peer, false, now_);
    advance(peer);
  }
}

void Door::drop_the_slow() {
  for (const net::PeerId peer : holdings_.too_slow(now_)) {
    peers_.drop(peer, "the client sends its request too slowly");
  }
  if (now_ < sweep_at_) return;
  sweep_at_ = now_ + kSweepEvery;
  for (const auto& [peer, connection] : connections_) {
    if (connection->finishing || connection->held_back) continue;
    const bool sends = connection->exchange && connection->exchange->wants_body();
    const Millis silent = now_ - connection->heard_at;
    if (sends && silent > kSilentMax)
      peers_.drop(peer, "the client stopped in the middle of a body");
    if (connection->exchange || silent <= kIdleMax) continue;
    connection->finishing = true;
    peers_.finish(peer);
  }
}

std::optional<Instant> Door::next_look() const {
  std::optional<Instant> next = holdings_.next_look();
  if (!connections_.empty() && (!next || sweep_at_ < *next)) next = sweep_at_;
  return next;
}

Result<void> Door::closed(net::PeerId peer) {
  Connection& connection = *connections_.at(peer);
  if (connection.exchange && connection.exchange->may_not_be_cut()) {
    connection.gone = true;
    return {};
  }
  const bool busy = connection.exchange != nullptr;
  erase(peer);
  if (busy) return Error{Code::invalid, "the client left before its request was answered"};
  return {};
}

void Door::erase(net::PeerId peer) {
  const auto node = connections_.extract(peer);
  const std::unique_ptr<Connection>& connection = node.mapped();
  clogged_.erase(peer);
  holdings_.forget(peer);
  if (connection->held_back) std::erase(held_back_, peer);
  connection->exchange.reset();
  if (!connection->session) return;
  sessions_.erase(*connection->session);
  host_.close(*connection->session);
}

// Does what can be done with what has been received.
void Door::advance(net::PeerId peer) {
  Connection& connection = *connections_.at(peer);
  if (std::exchange(connection.advancing, true)) return;
  while (!connection.finishing && step(peer, connection)) {
  }
  connection.advancing = false;
  const bool over = !connection.exchange || connection.exchange->done();
  if (connection.gone && over) return erase(peer);
  // Who only waits is read on, as that is how its end is noticed; one request ahead is enough.
  const bool waits = connection.exchange && !connection.exchange->wants_body();
  account(peer, connection);
  peers_.pause(peer, connection.held_back || (waits && connection.reader.unread() > 0));
}

// Says whether there may be another step.
bool Door::step(net::PeerId peer, Connection& connection) {
  if (!connection.exchange) {
    // A client that does not take its replies gets no more of them.
    if (peers_.clogged(peer)) {
      clogged_.insert(peer);
      return false;
    }
    Result<std::optional<http::HttpHead>> head = connection.reader.head();
    if (!head.ok()) {
      if (std::string* out = peers_.outgoing(peer)) {
        const http::Headers headers = {{"content-type", "text/plain"}};
        http::append_reply(
            {.status = 400, .headers = headers, .body = head.error().what + "\n", .length = {}},
            false, *out);
      }
      connection.finishing = true;
      peers_.finish(peer);
      return false;
    }
    std::optional<http::HttpHead> whole = std::move(head).value();
    if (!whole) return false;
    begin(peer, connection, std::move(*whole));
    return true;
  }
  Exchange& exchange = *connection.exchange;
  if (exchange.done()) {
    settle(peer, connection);
    return true;
  }
  if (exchange.gathering) {
    gather(peer, connection);
    return !exchange.gathering || exchange.done();
  }
  const Result<bool> given = exchange.give_body(connection.reader);
  if (!given.ok()) exchange.abort();
  return !given.ok() || given.value() || exchange.done();
}

void Door::begin(net::PeerId peer, Connection& connection, http::HttpHead&& head) {
  connection.exchange = std::make_unique<Exchange>(*this, peer, std::move(head));
  connection.anew = true;
  Exchange& exchange = *connection.exchange;
  const http::HttpHead& asked = exchange.head();
  exchange.body_ended = !asked.chunked && asked.length.value_or(0) == 0;
  if (exchange.body_ended) {
    std::string none;
    CHECK(connection.reader.body(none, 0).ok());
  }
  std::variant<Signer, http::HttpReply> signer = identify(asked, host_, clock_.wall());
  if (auto* refused = std::get_if<http::HttpReply>(&signer))
    return exchange.reply(std::move(*refused));
  exchange.signer = std::move(std::get<Signer>(signer));
  exchange.gathering = true;
  if (exchange.signer.service != Kind::s3 || s3_keeps_body(asked)) {
    exchange.say_continue();
    return;
  }
  exchange.gathering = false;
  if (!s3_is_signed(exchange.signer, asked)) {
    return exchange.reply(refusal(exchange.signer.service, {Fault::mismatch, ""}));
  }
  settle_session(peer, connection);
  serve_s3(exchange, "");
}

// Collects a body that its service wants whole, checks what was signed, and serves it.
void Door::gather(net::PeerId peer, Connection& connection) {
  Exchange& exchange = *connection.exchange;
  const Kind service = exchange.signer.service;
  const size_t before = exchange.body.size();
  const size_t max = body_max(service, exchange.head());
  if (!exchange.body_ended) {
    const auto ended =
        if_memory_lasts([&] { return connection.reader.body(exchange.body, max + 1 - before); });
    if (!ended.ok()) return exchange.abort();
    exchange.body_ended = ended.value();
  }
  if (exchange.body.size() > max) return exchange.reply(too_large(service, max));
  if (!exchange.body_ended) return;
  exchange.gathering = false;
  if (!is_signed(exchange.signer, exchange.head(), exchange.body)) {
    return exchange.reply(refusal(service, {Fault::mismatch, ""}));
  }
  settle_session(peer, connection);
  if (service == Kind::s3) return serve_s3(exchange, exchange.body);
  if (service == Kind::sqs_query) return serve_sqs_query(exchange, exchange.body);
  serve_json(exchange, service, exchange.body);
}

// A connection has one session, as long as its requests are signed with one key.
void Door::settle_session(net::PeerId peer, Connection& connection) {
  Exchange& exchange = *connection.exchange;
  peers_.greeted(peer);
  if (connection.session && connection.key_id != exchange.signer.claim.key_id) {
    sessions_.erase(*connection.session);
    host_.close(*std::exchange(connection.session, std::nullopt));
  }
  if (!connection.session) {
    connection.key_id = exchange.signer.claim.key_id;
    connection.session = host_.open(connection.key_id, clock_.wall());
    sessions_.emplace(*connection.session, peer);
  }
  exchange.session = *connection.session;
}

// Ends an exchange that was replied to.
void Door::settle(net::PeerId peer, Connection& connection) {
  const bool keep_alive = connection.exchange->keeps_alive();
  connection.exchange.reset();
  connection.anew = true;
  if (keep_alive) return;
  connection.finishing = true;
  peers_.finish(peer);
}

void Door::ask(uint64_t session, uint64_t id, Request&& request) {
  if (!kept_.empty() || host_.busy(session)) {
    kept_.push_back({session, id, std::move(request)});
    return;
  }
  host_.ask(session, id, std::move(request), now_);
}

void Door::ask_kept() {
  while (!kept_.empty()) {
    Kept& next = kept_.front();
    const bool gone = !sessions_.contains(next.session);
    if (!gone && host_.busy(next.session)) return;
    if (!gone) host_.ask(next.session, next.id, std::move(next.request), now_);
    kept_.pop_front();
  }
}

void Door::forget_some() {
  if (!own_session_) own_session_ = host_.open("", clock_.wall());
  while (forgetting_ < kForgettingMax && !to_forget_.empty()) {
    const std::string blob = std::move(to_forget_.front());
    to_forget_.pop_front();
    forgetting_ += 2;
    host_.ask(*own_session_, kForgetId, BlobErase{blob}, now_);
    host_.ask(*own_session_, kForgetId, Commit{0, {fasten(blob)}}, now_);
  }
}

void Door::release(const std::string& blob) {
  const auto found = held_.find(blob);
  CHECK(found != held_.end());
  if (--found->second > 0) return;
  held_.erase(found);
  if (forget_later_.erase(blob) == 0) return;
  to_forget_.push_back(blob);
  forget_some();
}

void Door::sweep(std::string after) {
  if (!own_session_) own_session_ = host_.open("", clock_.wall());
  host_.ask(*own_session_, kSweepId,
            Scan{std::string(kLooseTable), "", std::move(after), kSweepPage}, now_);
}

// What this door itself has not yet made fast is not garbage.
void Door::swept(const Rows& rows) {
  for (const Row& row : rows.rows) {
    if (!row.key.starts_with(blob_prefix_)) to_forget_.push_back(row.key);
  }
  forget_some();
  if (!rows.rows.empty()) sweep(rows.rows.back().key);
}

void Door::answered(uint64_t session, uint64_t id, Answer&& answer, Instant now) {
  now_ = now;
  if (session == own_session_) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (id == kSweepId && rows) swept(*rows);
    if (id == kSweepId) return;
    if (id != kForgetId) {
      return later_.answered(host_, session, id, answer, now, clock_.wall());
    }
    --forgetting_;
    return forget_some();
  }
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const net::PeerId peer = found->second;
  Connection& connection = *connections_.at(peer);
  if (connection.exchange) connection.exchange->answered(id, std::move(answer));
  advance(peer);
}

std::optional<Instant> Door::turn(Instant now) {
  now_ = now;
  if (!std::exchange(swept_, true)) sweep("");
  ask_kept();
  for (const net::PeerId peer : std::exchange(clogged_, {})) {
    if (peers_.clogged(peer)) {
      clogged_.insert(peer);
      continue;
    }
    const std::unique_ptr<Exchange>& exchange = connections_.at(peer)->exchange;
    if (exchange) exchange->resume();
    advance(peer);
  }
  drop_the_slow();
  let_on();
  if (!kept_.empty()) return now;
  const std::optional<Instant> look = next_look();
  const std::optional<Instant> later = later_.turn(host_, *own_session_, now, clock_.wall());
  return look && (!later || *look < *later) ? look : later;
}

}  // namespace dunlin::aws
