#include "stores/postgres/pg_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "base/wait.h"
#include "stores/postgres/schema.h"

namespace dunlin::postgres {
namespace {

constexpr Millis kRetryFirst = Millis(20);
constexpr Millis kRetryMax = Millis(1000);
constexpr Millis kTryMax = Millis(15'000);  // For one try of several.
constexpr Millis kCheckMax = Millis(5000);

}  // namespace

Answer PgEngine::handle(const Request& request, Instant deadline) {
  return std::visit([&](const auto& kind) { return on(kind, deadline); }, request);
}

Result<std::optional<Millis>> PgEngine::watch(const std::string& queue, Instant deadline) {
  if (!bells_.contains(queue)) {
    static constexpr const char* kBell = "select bell($1::text)";
    const PgRows rows = TRY(link_.run(kBell, PgParams().text(queue), deadline));
    bells_[queue] = rows.text(0, 0);
  }
  TRY(link_.listen(bells_[queue], deadline));
  static constexpr const char* kNext =
      "select (extract(epoch from min(until) - clock_timestamp()) * 1000)::bigint from messages "
      "where queue = $1::text and until is not null";
  const PgRows rows = TRY(link_.run(kNext, PgParams().text(queue), deadline));
  if (rows.null(0, 0)) return std::optional<Millis>();
  return std::optional(Millis(std::max<int64_t>(rows.number(0, 0) + 1, 1)));
}

Result<bool> PgEngine::rang(const std::string& queue) {
  rung_.merge(TRY(link_.take_bells()));
  const auto bell = bells_.find(queue);
  return bell != bells_.end() && rung_.erase(bell->second) > 0;
}

Answer insist(PgEngine& engine, const Request& request, Instant deadline, const Clock& clock) {
  Millis pause = kRetryFirst;
  while (true) {
    Answer answer = engine.handle(request, std::min(deadline, clock.now() + kTryMax));
    const auto* error = std::get_if<Error>(&answer);
    // A full server has no room a moment later either, so the caller hears of it at once.
    if (error != nullptr && error->code == Code::full) return Error{Code::unavailable, error->what};
    if (error == nullptr || error->code != Code::unavailable) return answer;
    if (clock.now() + pause >= deadline) return Error{Code::unavailable, error->what};
    wait_until(clock.now() + pause, clock);
    pause = std::min(pause * 2, kRetryMax);
  }
}

PgStore::PgStore(PgAddress address, const PgOptions& options, const Clock& clock)
    : RequestStore(random_seed()),
      clock_(clock),
      options_(options),
      engine_(std::move(address), clock) {}

Answer PgStore::call(Request&& request) {
  if (const auto* asked = std::get_if<Pull>(&request); asked && asked->wait > Millis(0)) {
    return pull(*asked);
  }
  return insist(engine_, request, clock_.now() + options_.deadline, clock_);
}

Answer PgStore::pull(const Pull& pull) {
  const Instant until = clock_.now() + pull.wait;
  while (true) {
    const Instant deadline = clock_.now() + options_.deadline;
    // Listening comes first: what is pushed after the look rings.
    const auto next = engine_.watch(pull.queue, deadline);
    Answer answer = insist(engine_, pull, deadline, clock_);
    const auto* found = std::get_if<Deliveries>(&answer);
    if (found == nullptr || !found->deliveries.empty() || clock_.now() >= until) return answer;
    Instant wake = until;
    if (!next.ok()) wake = std::min(wake, clock_.now() + kRetryMax);
    if (next.ok() && next.value()) wake = std::min(wake, clock_.now() + *next.value());
    while (clock_.now() < wake) {
      const auto rang = engine_.rang(pull.queue);
      if (!rang.ok() || rang.value() || !engine_.link().connected()) break;
      wait_until(wake, clock_, -1, engine_.link().descriptor());
    }
  }
}

Result<std::unique_ptr<PgStore>> open_postgres(const std::string& url, const PgOptions& options,
                                               const Clock& clock) {
  const PgAddress address = TRY(parse_postgres_url(url));
  PgLink link(address, clock);
  const Instant deadline = clock.now() + options.connect_wait;
  // A host that does not answer may take all the time: those that do need some, too.
  const auto check = [&]() -> Result<void> {
    TRY(link.connect());
    return check_schema(link, std::max(deadline, clock.now() + kCheckMax));
  };
  Result<void> good = check();
  while (!good.ok() && good.error().code == Code::unavailable && clock.now() < deadline) {
    wait_until(std::min(deadline, clock.now() + kRetryMax / 4), clock);
    good = check();
  }
  TRY(good);
  return std::make_unique<PgStore>(address, options, clock);
}

}  // namespace dunlin::postgres
