#include "doors/rest/server/call.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <poll.h>

#include "base/names.h"
#include "base/wait.h"

namespace dunlin::rest {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr size_t kSmallReply = 64 << 10;  // Always has room.
constexpr size_t kUrlMax = 1024;
constexpr size_t kTokenMax = 1024;  // Longer than any, and what a hub may be told.

// A body that is kept whole comes so fast, after a while.
constexpr Millis kPatience = std::chrono::seconds(10);
constexpr int64_t kBytesPerS = 16 << 10;

}  // namespace

Result<std::string> check_public_url(const std::string& url) {
  if (url.empty()) return url;
  const size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  const bool fine = scheme > 0 && is_visible(url, kUrlMax) && url.size() > scheme &&
                    url[scheme] != '/' && url.find_first_of("?#\"<>") == std::string::npos;
  if (!fine) {
    return Error{Code::invalid,
                 fmt::format("--public-url {} is not http://HOST[:PORT][/PATH]", quote(url))};
  }
  return url.substr(0, url.find_last_not_of('/') + 1);
}

Call::Call(const Setting& setting, const CallLimits& limits, const Peer& peer, http::HttpHead head,
           Match match)
    : setting_(setting),
      limits_(limits),
      peer_(peer),
      head_(std::move(head)),
      match_(std::move(match)),
      body_by_(setting.clock.now() + limits.body_max),
      share_(setting.cache.bodies()),
      keep_alive_(head_.keep_alive) {}

const std::string* Call::parameter(In in, std::string_view name) const {
  if (in == In::header) return head_.header(name);
  const auto& all = in == In::path ? match_.parameters : head_.query;
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const auto& one) { return one.first == name; });
  return found == all.rend() ? nullptr : &found->second;
}

const std::string& Call::path(std::string_view name) const {
  const std::string* value = parameter(In::path, name);
  CHECK(value != nullptr);
  return *value;
}

int64_t Call::number(std::string_view name, int64_t otherwise) const {
  const std::string* text = query(name);
  int64_t value = otherwise;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

std::string Call::base_url() const {
  if (!setting_.public_url.empty()) return setting_.public_url;
  const std::string* host = head_.header("host");
  const bool named = host != nullptr && is_visible(*host, kUrlMax);
  return fmt::format("{}://{}{}", setting_.tls ? "https" : "http",
                     named ? *host : peer_.connection.local(), match_.prefix);
}

std::optional<std::string> Call::bearer() const {
  constexpr std::string_view kScheme = "bearer ";
  const std::string* header = head_.header("authorization");
  if (header == nullptr || header->size() <= kScheme.size()) return {};
  const bool same = std::ranges::equal(kScheme, header->substr(0, kScheme.size()),
                                       [](char a, char b) { return a == (b | 0x20); });
  if (!same) return {};
  const size_t first = header->find_first_not_of(' ', kScheme.size());
  if (first == std::string::npos || header->size() - first > kTokenMax) return {};
  return header->substr(first);
}

Result<bool> Call::read_some(std::string& into) {
  if (body_done_) return false;
  const size_t before = into.size();
  while (true) {
    body_done_ = TRY(peer_.reader.body(into, kPiece));
    if (body_done_ || into.size() > before) return into.size() > before;
    if (head_.expects_continue && !std::exchange(continued_, true)) {
      TRY(peer_.connection.send("HTTP/1.1 100 Continue\r\n\r\n", limits_.send_stall));
    }
    std::string bytes;
    const Instant until = std::min(body_by_, setting_.clock.now() + limits_.body_stall);
    const Result<Connection::Got> got = peer_.connection.receive(bytes, until);
    // What comes after half of a body is no request.
    if (!got.ok() || got.value() == Connection::Got::end) keep_alive_ = false;
    if (TRY(got) == Connection::Got::end) {
      return Error{Code::invalid, "the body is shorter than its head says"};
    }
    peer_.reader.feed(bytes);
  }
}

Result<std::string> Call::read_body(size_t max) {
  std::string body;
  const Instant begun = setting_.clock.now();
  if (head_.length.value_or(0) <= max) {
    while (body.size() <= max && TRY(read_some(body))) {
      TRY(take_memory(body.size()));
      const Millis time = setting_.clock.now() - begun;
      if (time > kPatience &&
          static_cast<int64_t>(body.size()) * 1000 < kBytesPerS * time.count()) {
        keep_alive_ = false;
        return Error{Code::unavailable, "the body arrives too slowly"};
      }
    }
    if (body.size() <= max) return body;
  }
  return Error{Code::full, fmt::format("the body has more than {} bytes", max)};
}

Result<void> Call::take_memory(size_t bytes) {
  if (share_.grow_to(bytes)) return {};
  keep_alive_ = false;
  return Error{Code::unavailable,
               "the service has no room for this request or its reply now: try again later"};
}

Result<void> Call::put(std::string_view bytes) {
  return peer_.connection.send(bytes, limits_.send_stall);
}

Result<void> Call::reply(http::HttpReply reply) {
  CHECK(!begun_);
  // It is there twice until it is sent.
  if (reply.body.size() > kSmallReply) TRY(take_memory(2 * reply.body.size()));
  begun_ = true;
  // Who still waits to be told to go on will not send its body; it could not be told from a
  // request.
  if (!body_done_ && head_.expects_continue && !continued_) keep_alive_ = false;
  if (head_.method == "HEAD") {
    reply.length = reply.length.value_or(reply.body.size());
    reply.body.clear();
  }
  std::string bytes;
  http::append_reply(reply, keep_alive_, bytes);
  TRY(put(bytes));
  complete_ = true;
  return {};
}

Result<void> Call::reply(int status, std::string_view type, std::string body) {
  return reply(http::HttpReply{.status = status,
                               .headers = {{"content-type", std::string(type)}},
                               .body = std::move(body),
                               .length = {}});
}

Result<void> Call::begin(int status, http::Headers headers, std::optional<uint64_t> length) {
  CHECK(!begun_);
  begun_ = true;
  chunked_ = !length;
  std::string bytes;
  http::append_reply(
      {.status = status, .headers = std::move(headers), .body = {}, .length = length}, keep_alive_,
      bytes);
  if (chunked_) {
    constexpr std::string_view kLength = "content-length: 0\r\n";
    bytes.replace(bytes.find(kLength), kLength.size(), "transfer-encoding: chunked\r\n");
  }
  return put(bytes);
}

Result<void> Call::send(std::string_view bytes) {
  CHECK(begun_ && !complete_);
  if (bytes.empty()) return {};
  if (!chunked_) return put(bytes);
  return put(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

Result<void> Call::end() {
  CHECK(begun_ && !complete_);
  if (chunked_) TRY(put("0\r\n\r\n"));
  complete_ = true;
  return {};
}

bool Call::should_end() const {
  pollfd one{.fd = peer_.stopping, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) > 0 || peer_.connection.gone();
}

void Call::pause(Millis time) const {
  wait_until(setting_.clock.now() + time, setting_.clock, peer_.stopping);
}

}  // namespace dunlin::rest
