// Clears away what nobody needs any more: jobs that ended long enough ago, by the rule of the
// store (model::Retention) or their own --keep; the rest of jobs that are being removed; rows of
// workers that vanished, routes that nobody uses, blobs without a job, replies that nobody takes.
//
// It never reads all jobs. Their ids sort by time, so those that may be due are the first ones: it
// goes through them once (Sweep.cursor), removes those that are due, and puts a row into `expiry`
// for those that are due later. What ends sooner than the rule says was put there by its submitter.
//
// All state is in the store. Several may run: the row of the state tells which one does, as leases
// do (docs/decisions/018). Calls block as the store does; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "retention/remove.h"

namespace dunlin::retention {

inline constexpr uint64_t kKeepDefaultMs = uint64_t{30} * 24 * 3600 * 1000;
inline constexpr uint64_t kKeepFailedDefaultMs = uint64_t{90} * 24 * 3600 * 1000;

// Of a rule: "30d", or "forever" (0).
Result<uint64_t> parse_rule(std::string_view text);
std::string rule_text(uint64_t keep_ms);

model::Retention default_rule();

Result<model::Retention> read_rule(Table& table);
// `only_new`: a rule that is there stays.
Result<void> write_rule(Table& table, const model::Retention& rule, bool only_new);

// When a job that has ended may go; none: never.
std::optional<int64_t> due_us(const model::Job& job, const model::End& end,
                              const model::Retention& rule);

// The time of day, as far as it can be trusted. A clock that was set, or that is off, must not
// remove what it should not: so time goes on from where sweepers left it, at most four times as
// fast, until it is what the clock says. It goes back at once, which removes nothing. REQUIRES:
// elapsed >= 0
int64_t trusted_us(int64_t before_us, Millis elapsed, int64_t wall_us);

// A clock that says less has not been set yet (2026-01-01): nothing is removed by it.
inline constexpr WallTime kNotBefore = WallTime(std::chrono::seconds(1'767'225'600));

struct SweepNow {
  Instant at;
  WallTime wall;
};

// What else goes by the rule: done every ten minutes, by the one sweeper, at the time that can be
// trusted. Of bounded length.
using Chore = std::function<Result<void>(RequestStore&, const model::Retention&, WallTime)>;

struct SweeperOptions {
  RemoverOptions removal = {};
  // It is that of a hub: no other sweeper runs, so it need not watch for one, and one counter gives
  // the versions of all rows.
  bool sole = false;
  // An end that it has known for so long, by its own steady clock, is old (RemoverOptions).
  Millis late = std::chrono::minutes(30);
  WallTime not_before = kNotBefore;
  std::vector<Chore> chores = {};
};

class Sweeper {
 public:
  explicit Sweeper(SweeperOptions options) : options_(std::move(options)) {}

  // One look, of bounded length. Returns how long to wait before the next; none: there is more.
  Result<Millis> sweep(RequestStore& store, SweepNow now);

  // It will not look again: the next sweeper need not wait until it has been silent for long.
  Result<void> leave(RequestStore& store);

  uint64_t removed() const { return removed_; }  // Jobs, so far.

 private:
  struct Look {
    RequestStore& store;
    Remover& remover;
    model::Retention rule;
    model::Sweep state;
    size_t room;  // For so many jobs more.
  };

  Result<bool> is_mine(RequestStore& store, uint64_t version, Instant now);
  RemoverOptions removal(uint64_t version, Instant now);
  Result<void> sweep_expiry(Look& look);
  Result<void> sweep_jobs(Look& look);
  Result<void> sweep_late_ids(Look& look);
  static int64_t again_us(const Look& look, const model::Job& job);
  Result<void> settle(Look& look, std::vector<Candidate> jobs, const std::vector<Row>& rows,
                      bool late);
  Result<void> sweep_workers(Look& look, Instant now);
  Result<void> sweep_routes(Look& look);
  Result<void> sweep_orphans(Look& look);
  Result<void> sweep_replies(Look& look);
  Result<void> sweep_history(Look& look);

  struct SeenRow {
    uint64_t version = 0;
    Instant since;
  };

  const SweeperOptions options_;
  SeenRow state_;         // The row of the state, as we last saw it.
  uint64_t written_ = 0;  // Its version, if we wrote it.
  SeenRow seen_;          // A version that all rows had by then, or a smaller one,
  uint64_t old_ = 0;      // and one of `late` ago.
  Instant housekeeping_;  // When the next is due.
  std::map<std::string, SeenRow> workers_;
  uint64_t removed_ = 0;
};

}  // namespace dunlin::retention
