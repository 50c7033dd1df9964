#include "retention/sweeper.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "base/text.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/sound.h"

namespace dunlin::retention {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kRule = "rule";
constexpr std::string_view kState = "sweep";
constexpr std::string_view kLeft = "left";  // The version of the state when its sweeper left.
constexpr size_t kScan = 200;               // Jobs read at once.
constexpr size_t kRoom = 2000;              // Jobs of one look.
constexpr Millis kLookMin = seconds(1);
constexpr Millis kLookMax = minutes(1);
constexpr int kLooksPerKeep = 10;
constexpr Millis kTakeOver = minutes(5);  // Without a word from the sweeper before us.
constexpr int64_t kHurry = 4;             // So much faster than time the trusted time may go.
constexpr Millis kHouseEvery = minutes(10);
constexpr Millis kLookAgain = hours(1);       // At a job that cannot go yet;
constexpr Millis kLookAgainMin = minutes(1);  // sooner, if it is to be kept for less.
constexpr Millis kTidyEvery = hours(24);
constexpr Millis kLateIds = hours(24 * 7);  // Clients whose clock is so far behind are found, too.
constexpr Millis kWorkerGone = hours(24);
constexpr Millis kWorkerSilent = minutes(10);
constexpr Millis kRouteIdle = hours(24);
constexpr Millis kOrphanAge = hours(24 * 2);  // A submission puts its blobs before its job.
constexpr Millis kReplyAge = hours(24);       // After the end of their job.
constexpr Millis kHistoryKept = hours(24 * 400);
constexpr size_t kHouseScan = 1000;  // Rows or blobs read at once.

int64_t us(Millis time) { return time.count() * 1000; }
int64_t keep_us(uint64_t keep_ms) { return static_cast<int64_t>(keep_ms) * 1000; }
WallTime wall_of(int64_t time_us) { return WallTime(Millis(time_us / 1000)); }

// The shortest time that the rule keeps anything; 0: it keeps all.
uint64_t least_keep_ms(const model::Retention& rule) {
  if (rule.keep_ms() == 0) return rule.keep_failed_ms();
  if (rule.keep_failed_ms() == 0) return rule.keep_ms();
  return std::min(rule.keep_ms(), rule.keep_failed_ms());
}

bool same_rule(const model::Retention& one, const model::Retention& other) {
  return one.keep_ms() == other.keep_ms() && one.keep_failed_ms() == other.keep_failed_ms();
}

// 0: for ever, as the rule says.
uint64_t keep_ms_of(const model::Job& job, const model::End& end, const model::Retention& rule) {
  if (job.spec().keep_ms() != 0) return job.spec().keep_ms();
  const bool well = end.kind() == model::End::DONE && end.failed() == 0;
  return well ? rule.keep_ms() : rule.keep_failed_ms();
}

// The job of an `expiry` row.
std::string job_in_key(const std::string& key) { return key.substr(key.find('/') + 1); }

}  // namespace

Result<uint64_t> parse_rule(std::string_view text) {
  const uint64_t keep_ms = TRY(parse_keep(text));
  return keep_ms == kKeepForever ? 0 : keep_ms;
}

std::string rule_text(uint64_t keep_ms) {
  if (keep_ms == 0) return "forever";
  constexpr std::array<std::pair<uint64_t, std::string_view>, 4> kUnits = {
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}}};
  for (const auto& [unit, name] : kUnits) {
    if (keep_ms % unit == 0) return fmt::format("for {}{}", keep_ms / unit, name);
  }
  return fmt::format("for {}ms", keep_ms);
}

model::Retention default_rule() {
  model::Retention rule;
  rule.set_keep_ms(kKeepDefaultMs);
  rule.set_keep_failed_ms(kKeepFailedDefaultMs);
  return rule;
}

Result<model::Retention> read_rule(Table& table) {
  return TRY(read_record<model::Retention>(table, kRetention, std::string(kRule))).record;
}

Result<void> write_rule(Table& table, const model::Retention& rule, bool only_new) {
  const auto put = table.put(
      kRetention, {std::string(kRule), rule.SerializeAsString(), only_new ? 0 : kAnyVersion});
  if (put.ok() || (only_new && put.error().code == Code::conflict)) return {};
  return put.error();
}

std::optional<int64_t> due_us(const model::Job& job, const model::End& end,
                              const model::Retention& rule) {
  const uint64_t keep_ms = keep_ms_of(job, end, rule);
  if (keep_ms == 0 || keep_ms > kKeepMost) return std::nullopt;
  // A worker whose clock is far behind must not make the job old.
  const int64_t ended_us = std::max(end.ended_us(), job.spec().created_us());
  return std::clamp<int64_t>(ended_us, 0, kTimeMostUs) + keep_us(keep_ms);
}

int64_t trusted_us(int64_t before_us, Millis elapsed, int64_t wall_us) {
  return std::min(wall_us, before_us + kHurry * us(elapsed));
}

// Ours, or that of a sweeper that has left, or has said nothing for long.
Result<bool> Sweeper::is_mine(RequestStore& store, uint64_t version, Instant now) {
  if (options_.sole || version == 0 || version == written_) return true;
  if (version == state_.version && now - state_.since >= kTakeOver) return true;
  return TRY(get_row(store.table(), kRetention, std::string(kLeft))).value ==
         std::to_string(version);
}

// What has a version that was there `late` ago is as old as that, whatever anybody's clock says.
RemoverOptions Sweeper::removal(uint64_t version, Instant now) {
  RemoverOptions removal = options_.removal;
  if (!options_.sole) return removal;
  if (seen_.version == 0) seen_ = {version, now};
  if (now - seen_.since >= options_.late) {
    old_ = seen_.version;
    seen_ = {version, now};
  }
  removal.old_ends = old_;
  return removal;
}

Result<void> Sweeper::leave(RequestStore& store) {
  if (options_.sole || written_ == 0 || written_ != state_.version) return {};
  TRY(store.table().put(kRetention, {std::string(kLeft), std::to_string(written_), kAnyVersion}));
  return {};
}

Result<Millis> Sweeper::sweep(RequestStore& store, SweepNow now) {
  const int64_t wall_us = to_us(now.wall);
  if (now.wall < options_.not_before) return kLookMax;
  const auto stored =
      TRY(read_record<model::Sweep>(store.table(), kRetention, std::string(kState)));
  const bool mine = TRY(is_mine(store, stored.version, now.at));
  if (stored.version != state_.version) state_ = {stored.version, now.at};
  if (!mine) return kLookMax;
  Remover remover(store, removal(stored.version, now.at));
  Look look{store, remover, TRY(read_rule(store.table())), stored.record, kRoom};
  look.state.set_clock_us(
      stored.version == 0 ? wall_us
                          : trusted_us(stored.record.clock_us(), now.at - state_.since, wall_us));
  // What was passed by a clock that was ahead was not due.
  if (look.state.tidied_us() > look.state.clock_us()) look.state.clear_tidied_us();
  if (look.state.cursor() > job_id_prefix(wall_of(look.state.clock_us()))) {
    look.state.clear_cursor();
  }
  if (!same_rule(look.state.rule(), look.rule)) {
    *look.state.mutable_rule() = look.rule;
    look.state.clear_cursor();
  }
  TRY(sweep_expiry(look));
  TRY(sweep_jobs(look));
  if (now.at >= housekeeping_) {
    TRY(sweep_workers(look, now.at));
    TRY(sweep_routes(look));
    for (const Chore& chore : options_.chores) {
      TRY(chore(store, look.rule, wall_of(look.state.clock_us())));
    }
    housekeeping_ = now.at + kHouseEvery;
  }
  if (look.state.clock_us() - look.state.tidied_us() >= us(kTidyEvery)) {
    TRY(sweep_late_ids(look));
    TRY(sweep_orphans(look));
    TRY(sweep_replies(look));
    TRY(sweep_history(look));
    look.state.set_tidied_us(look.state.clock_us());
  }
  const auto put = store.table().put(
      kRetention, {std::string(kState), look.state.SerializeAsString(), stored.version});
  if (!put.ok() && put.error().code == Code::conflict) return kLookMax;  // Another one sweeps.
  if (!put.ok()) return put.error();
  written_ = put.value();
  state_ = {put.value(), now.at};
  if (look.room == 0) return Millis(0);
  const Millis least(static_cast<int64_t>(least_keep_ms(look.rule)));
  return least == Millis(0) ? kLookMax : std::clamp(least / kLooksPerKeep, kLookMin, kLookMax);
}

// Jobs whose time has come.
Result<void> Sweeper::sweep_expiry(Look& look) {
  const std::string until = expiry_key(look.state.clock_us() - kExpiryStepUs, "~");
  std::string after;
  while (look.room > 0) {
    std::vector<Row> rows =
        TRY(look.store.table().scan(kExpiry, "", after, std::min(kScan, look.room)));
    std::erase_if(rows, [&](const Row& row) { return row.key > until; });
    if (rows.empty()) return {};
    std::vector<std::string> jobs;
    for (const Row& row : rows) jobs.push_back(job_in_key(row.key));
    after = rows.back().key;
    look.room -= std::min(look.room, rows.size());
    std::vector<Candidate> candidates = TRY(look.remover.read(jobs));
    TRY(settle(look, std::move(candidates), rows, false));
  }
  return {};
}

// Those that may be due by the rule, in the order of their ids.
Result<void> Sweeper::sweep_jobs(Look& look) {
  if (least_keep_ms(look.rule) == 0) return {};
  const std::string until =
      job_id_prefix(wall_of(look.state.clock_us() - keep_us(least_keep_ms(look.rule))));
  size_t some = 1;  // Mostly the first is not due.
  while (look.room > 0) {
    std::vector<Row> rows =
        TRY(look.store.table().scan(kJobs, "", look.state.cursor(), std::min(some, look.room)));
    some = kScan;
    std::erase_if(rows, [&](const Row& row) { return row.key >= until; });
    if (rows.empty()) {
      look.state.set_cursor(std::max(look.state.cursor(), until));
      return {};
    }
    std::vector<std::string> ids;
    for (const Row& row : rows) ids.push_back(row.key);
    look.room -= std::min(look.room, ids.size());
    std::vector<Candidate> candidates = TRY(look.remover.read(ids));
    TRY(settle(look, std::move(candidates), {}, false));
    look.state.set_cursor(ids.back());
  }
  return {};
}

// Those with ids that were passed by when they came: their client's clock is behind. They are kept
// from now on, as nobody knows better.
Result<void> Sweeper::sweep_late_ids(Look& look) {
  if (least_keep_ms(look.rule) == 0) return {};
  // Once a week from the very first on. Of those hardly any are left.
  const int64_t now_us = look.state.clock_us();
  const bool all = now_us / us(kLateIds) != look.state.tidied_us() / us(kLateIds);
  const int64_t from = all ? 0 : now_us - keep_us(least_keep_ms(look.rule)) - us(kLateIds);
  std::string after = job_id_prefix(wall_of(from));
  while (true) {
    std::vector<Row> rows = TRY(look.store.table().scan(kJobs, "", after, kScan));
    std::erase_if(rows, [&](const Row& row) { return row.key > look.state.cursor(); });
    if (rows.empty()) return {};
    std::vector<std::string> ids;
    for (const Row& row : rows) ids.push_back(row.key);
    after = ids.back();
    std::vector<Candidate> candidates = TRY(look.remover.read(ids));
    TRY(settle(look, std::move(candidates), {}, true));
  }
}

// When to look again at a job that goes on and on: the same time for all who ask.
int64_t Sweeper::again_us(const Look& look, const model::Job& job) {
  const int64_t now_us = look.state.clock_us();
  const uint64_t keep_ms =
      job.spec().keep_ms() != 0 ? job.spec().keep_ms() : least_keep_ms(look.rule);
  const int64_t keep = keep_us(std::min(keep_ms, kKeepMost));
  const int64_t pause =
      keep == 0 ? us(kLookAgain) : std::clamp(keep, us(kLookAgainMin), us(kLookAgain));
  return (now_us / pause + 1) * pause;
}

// Removes what is due and files the rest under the time when it is. `rows`: of `expiry`, which
// brought us here, one for each job; a job may have several.
Result<void> Sweeper::settle(Look& look, std::vector<Candidate> jobs, const std::vector<Row>& rows,
                             bool late) {
  const int64_t now_us = look.state.clock_us();
  std::map<std::string, Candidate> due;  // By id.
  std::map<std::string, model::Job> stones;
  std::set<std::string> filed;          // Rows of `expiry`.
  std::map<std::string, uint64_t> old;  // Versions of rows of `expiry`.
  for (const Row& row : rows) old.emplace(row.key, row.version);
  for (Candidate& one : jobs) {
    const model::Job& job = one.job.record;
    if (one.job.version == 0) continue;  // It is gone, and its row is all that is left.
    if (job.gone_us() != 0) {
      const int64_t rests_us = job.gone_us() + us(options_.removal.stone_kept);
      filed.insert(expiry_key(rests_us, job.id()));
      if (!rows.empty()) stones.emplace(job.id(), job);
    } else if (one.end.version == 0) {
      if (!rows.empty() || job.spec().keep_ms() == 0) {
        filed.insert(expiry_key(again_us(look, job), job.id()));
      }
    } else if (const auto at = due_us(job, one.end.record, look.rule); at && *at > now_us) {
      filed.insert(expiry_key(*at, job.id()));
    } else if (at && late) {
      const uint64_t keep_ms = std::max(keep_ms_of(job, one.end.record, look.rule), uint64_t{1});
      filed.insert(expiry_key(now_us + keep_us(keep_ms), job.id()));
    } else if (at) {
      due.emplace(job.id(), std::move(one));
    }
  }
  std::vector<Candidate> group;
  for (auto& [id, one] : due) group.push_back(std::move(one));
  const std::vector<Verdict> verdicts = TRY(look.remover.remove(group, wall_of(now_us)));
  for (size_t i = 0; i < group.size(); ++i) {
    if (verdicts[i] == Verdict::removed) ++removed_;
    if (verdicts[i] == Verdict::removed || verdicts[i] == Verdict::absent) continue;
    const model::Job& job = group[i].job.record;
    filed.insert(expiry_key(again_us(look, job), job.id()));
  }
  std::vector<model::Job> to_clear;
  for (auto& [id, stone] : stones) to_clear.push_back(std::move(stone));
  TRY(look.remover.clear(std::move(to_clear), wall_of(now_us)));
  std::vector<Write> writes;
  for (const std::string& row : filed) {
    // That of a stone goes with it.
    if (!old.contains(row) && !stones.contains(job_in_key(row))) {
      writes.emplace_back(Put{std::string(kExpiry), row, "", kAnyVersion});
    }
  }
  for (const auto& [row, version] : old) {
    if (!filed.contains(row)) writes.emplace_back(Erase{std::string(kExpiry), row, version});
  }
  const size_t most = std::min(options_.removal.commit_rows, kBatchMax / 2);
  for (size_t at = 0; at < writes.size(); at += most) {
    const size_t count = std::min(most, writes.size() - at);
    const auto committed = look.store.commit(std::span(writes).subspan(at, count));
    // Somebody has filed a job under the same time since we read the row: it is looked at again.
    if (!committed.ok() && committed.error().code != Code::conflict) return committed.error();
  }
  return {};
}

// A worker that is alive changes its row every few seconds, whatever its clock says.
Result<void> Sweeper::sweep_workers(Look& look, Instant now) {
  std::map<std::string, SeenRow> silent;
  std::string after;
  while (true) {
    const std::vector<Row> rows = TRY(look.store.table().scan(kWorkers, "", after, kHouseScan));
    if (rows.empty()) break;
    after = rows.back().key;
    for (const Row& row : rows) {
      const auto info = parse_row<model::WorkerInfo>(kWorkers, row);
      if (!info.ok()) continue;
      const int64_t seen_ms =
          std::clamp<int64_t>(info.value().record.seen_ms(), 0, kTimeMostUs / 1000);
      const int64_t age_us = look.state.clock_us() - seen_ms * 1000;
      // One whose clock is ahead has been seen in the future.
      const Millis patience = age_us < us(kWorkerGone) ? kWorkerGone : kWorkerSilent;
      const auto seen = workers_.find(row.key);
      if (seen == workers_.end() || seen->second.version != row.version) {
        silent[row.key] = {row.version, now};
      } else if (now - seen->second.since < patience) {
        silent[row.key] = seen->second;
      } else {
        const auto erased = look.store.table().erase(kWorkers, row.key, row.version);
        if (!erased.ok() && erased.error().code != Code::conflict) return erased.error();
      }
    }
  }
  workers_ = std::move(silent);
  return {};
}

// A route goes a day after somebody has seen that nothing is in its queue. Whoever submits to it
// meanwhile, or starts a job that has waited, takes the mark away, which changes the row.
Result<void> Sweeper::sweep_routes(Look& look) {
  std::string after;
  while (true) {
    const std::vector<Row> rows = TRY(look.store.table().scan(kRoutes, "", after, kHouseScan));
    if (rows.empty()) return {};
    after = rows.back().key;
    for (const Row& row : rows) {
      model::Route record;
      if (!is_work_queue(row.key) || !record.ParseFromString(row.value)) continue;
      if (!is_time_us(record.idle_us())) record.clear_idle_us();
      const bool idle = TRY(look.store.queue().depth(row.key)) == Depth();
      if (idle == (record.idle_us() != 0) &&
          (!idle || look.state.clock_us() - record.idle_us() < us(kRouteIdle))) {
        continue;
      }
      const bool over = idle && record.idle_us() != 0;
      record.set_idle_us(idle ? look.state.clock_us() : 0);
      const Write change =
          over ? Write(Erase{std::string(kRoutes), row.key, row.version})
               : Put{std::string(kRoutes), row.key, record.SerializeAsString(), row.version};
      const auto changed = look.store.commit(std::span(&change, 1));
      if (!changed.ok() && changed.error().code != Code::conflict) return changed.error();
      if (changed.ok() && over) TRY(look.store.drop_queue(row.key));
    }
  }
}

// Of jobs so old that hardly any others are left: nobody reads all jobs. Where no rule removes
// jobs, nothing is looked for.
Result<void> Sweeper::sweep_orphans(Look& look) {
  if (least_keep_ms(look.rule) == 0) return {};
  const int64_t until_us =
      look.state.clock_us() - keep_us(least_keep_ms(look.rule)) - us(kOrphanAge);
  return look.remover.erase_orphans(job_id_prefix(wall_of(until_us)));
}

// What nobody has taken a day after its job has ended: its client is gone.
Result<void> Sweeper::sweep_replies(Look& look) {
  const Info info = TRY(look.store.info());
  for (const Info::QueueInfo& queue : info.queues) {
    if (!is_reply_queue(queue.name) || queue.depth.ready == 0) continue;
    TRY(look.remover.drop_replies(queue.name, look.state.clock_us() - us(kReplyAge)));
  }
  return {};
}

Result<void> Sweeper::sweep_history(Look& look) {
  const std::string until = history_key(look.state.clock_us() - us(kHistoryKept), "");
  std::string after;
  while (true) {
    const std::vector<Row> rows = TRY(look.store.table().scan(kHistory, "", after, kHouseScan));
    for (const Row& row : rows) {
      if (row.key >= until) return {};
      TRY(look.store.table().erase(kHistory, row.key, kAnyVersion));
    }
    if (rows.empty()) return {};
    after = rows.back().key;
  }
}

}  // namespace dunlin::retention
