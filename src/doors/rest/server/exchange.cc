#include "doors/rest/server/exchange.h"

#include <algorithm>
#include <poll.h>

#include "base/log.h"
#include "doors/rest/server/problem.h"

namespace dunlin::rest {
namespace {

constexpr size_t kRestOfBody = 256 << 10;            // What is read of a body that nobody wanted.
constexpr Millis kLinger = std::chrono::seconds(1);  // For it, and for bytes after the last.

bool is_readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) > 0;
}

// Nothing if there will be no more requests.
Result<std::optional<http::HttpHead>> next_head(Connection& connection, http::HttpReader& reader,
                                                const Setting& setting,
                                                const ExchangeLimits& limits, bool first,
                                                int stopping) {
  const Millis patience = first ? std::min(limits.first_max, limits.idle_max) : limits.idle_max;
  Instant deadline = setting.clock.now() + patience;
  bool begun = reader.unread() > 0;
  if (begun) deadline = setting.clock.now() + limits.head_max;
  while (true) {
    std::optional<http::HttpHead> head = TRY(reader.head());
    if (head) return head;
    if (!begun && is_readable(stopping)) return std::optional<http::HttpHead>();
    std::string bytes;
    const auto got = TRY(connection.receive(bytes, deadline, begun ? -1 : stopping));
    if (got != Connection::Got::bytes) return std::optional<http::HttpHead>();
    reader.feed(bytes);
    if (!begun) deadline = setting.clock.now() + limits.head_max;
    begun = true;
  }
}

Result<void> run_handler(Call& call, Stores& stores) {
  const Match& match = call.match();
  if (!match.family->bearer) {
    if (match.family->checked) TRY(check_parameters(*match.route, call));
    const Stores::Lent store = TRY(stores.own());
    return match.route->handler(call, *store);
  }
  const std::optional<std::string> token = call.bearer();
  if (!token) {
    return call.reply(problem(401, "denied", "send a token: \"Authorization: Bearer TOKEN\""));
  }
  const Result<Stores::Lent> store = stores.with_token(*token);
  if (!store.ok() && store.error().code == Code::denied) {
    return call.reply(problem(401, "denied", store.error().what));
  }
  if (!store.ok()) return store.error();
  if (match.family->checked) TRY(check_parameters(*match.route, call));
  return match.route->handler(call, *store.value());
}

// False: the connection cannot be used for another request.
bool answer(Call& call, Stores& stores) {
  const Match& match = call.match();
  if (match.route == nullptr) {
    if (!call.reply(unknown_route(match, call.head().method)).ok()) return false;
  } else {
    const Result<void> handled = run_handler(call, stores);
    if (!handled.ok() && !call.begun()) {
      if (handled.error().code == Code::corrupt) {
        log::error("request failed method={} path={}: {}", call.head().method, call.head().path,
                   handled.error().what);
      }
      if (!call.reply(error_reply(match.family->style, handled.error())).ok()) return false;
    }
    const http::HttpReply nothing{.status = 204, .headers = {}, .body = {}, .length = {}};
    if (handled.ok() && !call.begun() && !call.reply(nothing).ok()) return false;
  }
  return call.complete() && call.keeps_alive();
}

// Reads what is left of a body that nobody wanted, so that the next request is found behind it. Who
// has its answer and dribbles would keep its place, without a token.
bool skip_body(Call& call, Instant now) {
  std::string rest;
  call.end_body_by(now + kLinger);
  while (!call.body_read()) {
    const Result<bool> more = call.read_some(rest);
    if (!more.ok() || rest.size() > kRestOfBody) return false;
  }
  return true;
}

}  // namespace

void serve_connection(Connection& connection, const Setting& setting, const ExchangeLimits& limits,
                      Stores& stores, int stopping) {
  http::HttpReader reader;
  const CallLimits call_limits;
  for (bool first = true;; first = false) {
    limits.waiting(Waits::request);
    Result<std::optional<http::HttpHead>> head =
        next_head(connection, reader, setting, limits, first, stopping);
    limits.waiting(Waits::no);
    if (!head.ok()) {
      limits.waiting(Waits::in_vain);
      if (head.error().code == Code::invalid) {
        std::string bytes;
        http::append_reply(problem(400, "invalid", head.error().what), false, bytes);
        if (connection.send(bytes, kLinger).ok()) connection.finish(kLinger);
      }
      return;
    }
    std::optional<http::HttpHead> next = std::move(head).value();
    if (!next) return connection.finish(Millis(0));
    Match match = find_route(*setting.families, next->method, next->path);
    Call call(setting, call_limits, {connection, reader, stopping}, std::move(*next),
              std::move(match));
    if (is_readable(stopping)) call.close_after();
    const bool answered = answer(call, stores);
    if (!answered || !call.body_read()) limits.waiting(Waits::in_vain);
    if (!answered || !skip_body(call, setting.clock.now())) {
      return connection.finish(call.complete() ? kLinger : Millis(0));
    }
  }
}

}  // namespace dunlin::rest
