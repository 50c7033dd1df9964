#include "stores/hub/hub_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "base/wait.h"
#include "net/outages.h"

namespace dunlin::stores {
namespace {

constexpr Millis kConnectMax = std::chrono::seconds(10);  // For one try.

}  // namespace

HubStore::HubStore(Private, const HubAddress& address, const HubOptions& options,
                   const Clock& clock, std::optional<net::TlsContext> tls)
    : RequestStore(random_seed()),
      address_(address),
      deadline_(options.deadline),
      clock_(clock),
      tls_(std::move(tls)),
      mind_({.peer = net::host_port(address.host, address.port),
             .hello = {.token = options.token, .program = "dunlin " DUNLIN_VERSION},
             .seed = random_seed(),
             .pending_max = kPostedMax}) {}

uint64_t HubStore::post(Request&& request) {
  CHECK(mind_.pending() + answered_.size() < kPostedMax);
  const uint64_t id = mind_.call(request, deadline_, clock_.now());
  if (stream_) carry_out(clock_.now());
  return id;
}

Answer HubStore::await(uint64_t id) {
  carry_out(Instant::max());
  while (true) {
    if (auto answered = answered_.extract(id)) return std::move(answered.mapped());
    CHECK(mind_.awaits(id));
    turn(Instant::max());
  }
}

std::vector<NumberedAnswer> HubStore::gather(Instant until, int also) {
  if (!carry_out(clock_.now()) && answered_.empty()) turn(until, also);
  std::vector<NumberedAnswer> answers;
  for (auto& [id, answer] : answered_) answers.push_back({id, std::move(answer)});
  answered_.clear();
  return answers;
}

Result<void> HubStore::meet(Millis wait) {
  const Instant until = clock_.now() + wait;
  mind_.connect(clock_.now());
  do {
    turn(until);
    if (mind_.refusal()) return *mind_.refusal();
    if (mind_.welcomed()) return {};
  } while (clock_.now() < until);
  if (!mind_.trouble().empty()) return Error{Code::unavailable, mind_.trouble()};
  return Error{Code::unavailable, fmt::format("{} said nothing for {} s: is it a dunlin hub?",
                                              net::host_port(address_.host, address_.port),
                                              static_cast<double>(wait.count()) / 1000)};
}

// One round: what time brings, or else what arrives until then.
void HubStore::turn(Instant until, int also) {
  mind_.tick(clock_.now());
  if (carry_out(until) || mind_.refusal()) return;
  const Instant wake = std::min(until, mind_.next_wake().value_or(until));
  if (!stream_) return wait_until(wake, clock_, also);
  const auto arrived = stream_->exchange(wake, clock_, also);
  if (!arrived.ok()) return lose_connection(arrived.error());
  if (!arrived.value().empty()) {
    mind_.received(arrived.value(), clock_.now());
    if (mind_.welcomed()) net::note_answer(net::host_port(address_.host, address_.port));
  }
  carry_out(until);
}

// Says whether there were answers among the effects.
bool HubStore::carry_out(Instant until) {
  bool answered = false;
  bool connected = false;
  do {
    HubClientMind::Effects effects = mind_.take();
    for (NumberedAnswer& one : effects.answers) answered_.emplace(one.id, std::move(one.answer));
    answered = answered || !effects.answers.empty();
    if (effects.disconnect) {
      const bool lost = stream_ && !mind_.refusal();
      if (lost) net::note_failure(net::host_port(address_.host, address_.port), mind_.trouble());
      stream_.reset();
    }
    connected = effects.connect;
    if (connected) make_connection(until);
    if (effects.send.empty() || !stream_) continue;
    const auto sent = stream_->send(effects.send);
    if (!sent.ok()) lose_connection(sent.error());
  } while (connected);
  return answered;
}

void HubStore::make_connection(Instant until) {
  const Instant now = clock_.now();
  const Instant deadline = std::min({until, now + kConnectMax, mind_.next_wake().value_or(until)});
  auto stream =
      net::Stream::connect(address_.host, address_.port, tls_ ? &*tls_ : nullptr, deadline, clock_);
  if (!stream.ok()) return mind_.disconnected(clock_.now(), stream.error());
  stream_.emplace(std::move(stream).value());
  mind_.connected(clock_.now());
}

// Requests wait a minute for a hub that is away, and people want to know why nothing happens.
void HubStore::lose_connection(const Error& why) {
  if (mind_.welcomed()) net::note_failure(net::host_port(address_.host, address_.port), why.what);
  stream_.reset();
  mind_.disconnected(clock_.now(), why);
}

Result<std::unique_ptr<HubStore>> open_hub(const HubAddress& address, const HubOptions& options,
                                           const Clock& clock) {
  std::optional<net::TlsContext> tls;
  if (address.tls) tls.emplace(TRY(net::TlsContext::client(options.tls_ca)));
  auto store =
      std::make_unique<HubStore>(HubStore::Private{}, address, options, clock, std::move(tls));
  TRY(store->meet(options.connect_wait));
  return store;
}

}  // namespace dunlin::stores
