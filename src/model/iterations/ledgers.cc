#include "model/iterations/ledgers.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "model/keys.h"
#include "model/partition_record.h"
#include "model/rows.h"
#include "store/compare_and_set.h"

namespace dunlin {
namespace {

using balance::Ledger;
using balance::Span;
using balance::Turn;

constexpr size_t kMeasuresKept = 8;      // Of a partition: what a forecast looks at.
constexpr size_t kMeasuresLeast = 2;     // Of each, if there are many partitions,
constexpr size_t kMeasuresInRow = 1600;  // so that a row holds them.
constexpr Millis kWaitMax = std::chrono::seconds(10);
constexpr int kSettled = 3;      // Paces after which the speed of a partition is worth a decision.
constexpr int kSpareParts = 20;  // One of them, of the time that is left, is kept in hand.

void encode_span(const Span& span, model::Ledger::Span& into) {
  into.set_first(span.first);
  into.set_size(span.size());
}

Span decode_span(const model::Ledger::Span& from) {
  return {from.first(), from.first() + std::min(from.size(), UINT64_MAX - from.first())};
}

void encode_partition(const balance::Partition& partition, const Ledger::Holder& holder,
                      size_t measures, model::Ledger::Partition& into) {
  write_partition(partition, measures, into);
  into.set_attempt(holder.attempt);
  for (const Span& span : holder.spans) encode_span(span, *into.add_spans());
  encode_span(holder.own, *into.mutable_own());
}

// Whether the spans, put side by side, are all iterations once.
bool is_whole(const Ledger& ledger) {
  std::vector<Span> all = ledger.back;
  for (const Ledger::Holder& holder : ledger.holders) {
    all.insert(all.end(), holder.spans.begin(), holder.spans.end());
    all.push_back(holder.own);
  }
  std::erase_if(all, [](const Span& span) { return span.size() == 0; });
  std::ranges::sort(all, {}, &Span::first);
  uint64_t next = 0;
  for (const Span& span : all) {
    if (span.first != next) return false;
    next = span.last;
  }
  return next == ledger.task.iterations;
}

Result<Stored<model::Ledger>> read_row(Table& table, const IterativeJob& job) {
  return read_record<model::Ledger>(table, kLedgers, job.id);
}

Result<LedgerNow> ledger_of(const Stored<model::Ledger>& row, const IterativeJob& job,
                            WallTime now) {
  if (row.version != 0) return decode(row.record);
  return LedgerNow{balance::make_ledger(job.iterations, job.partitions, job.threshold), now};
}

// Reads, changes and writes the row until nobody else was quicker. change(ledger, since it began)
// says what comes of it: a Result.
template <typename Change>
auto change_row(Table& table, const IterativeJob& job, const Looker& looker, const Change& change)
    -> decltype(change(std::declval<Ledger&>(), Millis(0))) {
  using Changed = std::decay_t<decltype(change(std::declval<Ledger&>(), Millis(0)).value())>;
  const Error busy = {Code::unavailable,
                      fmt::format("the ledger of job {} keeps changing: try again", job.id)};
  return compare_and_set(busy, [&]() -> Round<Changed> {
    const Instant asked = looker.clock.now();
    const Stored<model::Ledger> row = TRY(read_row(table, job));
    LedgerNow ledger = TRY(ledger_of(row, job, looker.clock.wall()));
    const Millis since =
        looker.seen.look(job.id, ledger.ledger, ledger.latest, asked, looker.clock.now());
    std::optional<Changed> changed = TRY(change(ledger.ledger, since));
    model::Ledger record = encode(ledger);
    if (row.version != 0 && record.SerializeAsString() == row.record.SerializeAsString()) {
      return changed;
    }
    record.set_latest_ms(since.count());
    std::string value = record.SerializeAsString();
    const auto put = table.put(kLedgers, {job.id, std::move(value), row.version});
    return TRY(unless_conflict(put)) ? std::move(changed) : std::nullopt;
  });
}

struct Failed {
  size_t partition = 0;
  uint32_t attempt = 0;
};

// Partitions that have iterations and an outcome that says that they are not done. Whoever ran them
// may have died before the ledger heard of it.
Result<std::vector<Failed>> find_failed(Table& table, const PartitionAttempt& who,
                                        const Ledger& ledger) {
  std::vector<std::string> keys;
  for (uint64_t page = 0; page <= page_of(ledger.holders.size() - 1); ++page) {
    keys.push_back(page_key(who.job.id, page));
  }
  const std::vector<Row> rows = TRY(get_rows(table, kPages, keys));
  std::vector<Failed> failed;
  for (size_t page = 0; page < rows.size(); ++page) {
    const model::Page record = TRY(parse_row<model::Page>(kPages, rows[page])).record;
    for (const model::Outcome& outcome : record.outcomes()) {
      const size_t partition = page * kPageTasks + outcome.offset();
      if (outcome.state() == model::STATE_OK || partition >= ledger.holders.size()) continue;
      const Ledger::Holder& holder = ledger.holders[partition];
      if (holder.taken > 0) failed.push_back({partition, holder.attempt});
    }
  }
  return failed;
}

// Partitions that have a span and say nothing, and whether there are others that have one.
struct Silent {
  std::vector<Failed> gone;
  bool wait = false;  // One of the others may be gone soon.
};

Silent find_silent(const Ledger& ledger, const PartitionAttempt& who, const LedgerClock& seen) {
  Silent silent;
  for (size_t i = 0; i < ledger.holders.size(); ++i) {
    const balance::Partition& one = ledger.task.partitions[i];
    if (i == who.partition || ledger.holders[i].in_hand(one) == 0) continue;
    const Millis left = patience(ledger, i, who.job.pace) - seen.silence(who.job.id, i);
    if (left <= Millis(0)) silent.gone.push_back({i, ledger.holders[i].attempt});
    silent.wait |= left <= kWaitMax;
  }
  return silent;
}

// From here on an outcome of this attempt does not count. False if there is one already.
Result<bool> revoke_failed(Table& table, const std::string& job, const Failed& one) {
  const uint32_t offset = offset_of(one.partition);
  const std::string key = page_key(job, page_of(one.partition));
  const Error busy = {Code::unavailable,
                      fmt::format("page {} changes all the time: try again", key)};
  return compare_and_set(busy, [&]() -> Round<bool> {
    auto page = TRY(read_record<model::Page>(table, kPages, key));
    for (const model::Outcome& outcome : page.record.outcomes()) {
      if (outcome.offset() == offset) return std::optional(outcome.state() != model::STATE_OK);
    }
    revoke(page.record, offset, one.attempt);
    const auto put = table.put(kPages, {key, page.record.SerializeAsString(), page.version});
    return TRY(unless_conflict(put)) ? std::optional(true) : std::nullopt;
  });
}

// Those whose iterations go to others.
Result<std::vector<Failed>> find_gone(Table& table, const PartitionAttempt& who,
                                      const Ledger& ledger, const Silent& silent) {
  std::vector<Failed> gone = TRY(find_failed(table, who, ledger));
  for (const Failed& one : silent.gone) {
    if (TRY(revoke_failed(table, who.job.id, one))) gone.push_back(one);
  }
  return gone;
}

// What it was given after the first `had`, as far as it lies side by side. REQUIRES: there is more.
Span given_after(const Ledger::Holder& holder, uint64_t had) {
  for (const Span& span : holder.spans) {
    if (had < span.size()) return {span.first + had, span.last};
    had -= span.size();
  }
  CHECK(false);
  return {};
}

Turn turn_of(Ledger& ledger, const PartitionAttempt& who, WallTime now, Millis since) {
  const IterativeJob& job = who.job;
  const balance::Task& task = ledger.task;
  // Also if there is nothing for it: then it is known that it will not come again.
  if (who.partition >= ledger.holders.size()) {
    add_partitions(ledger, who.partition + 1 - ledger.holders.size());
  }
  const Ledger::Holder& holder = ledger.holders[who.partition];
  if (holder.attempt == who.attempt && holder.taken > who.had) {
    return {.code = balance::Code::ok, .span = given_after(holder, who.had), .eta = task.eta};
  }
  if (holder.attempt == who.attempt && task.partitions[who.partition].finished) {
    return {.code = balance::Code::ok, .span = {}, .eta = task.eta};
  }
  const uint64_t given = holder.attempt == who.attempt ? holder.taken : 0;
  if (given < who.had) {  // It was given up.
    return {.code = balance::Code::ended, .span = {}, .eta = task.eta};
  }
  const Turn turn =
      next_span(ledger, balance::by_speed(), who.partition, who.attempt, job.pace, since);
  const bool settled = since - task.partitions[who.partition].resumed >= kSettled * job.pace;
  if (job.finish_by && turn.span && settled && may_grow(task, who.partition)) {
    const size_t have = ledger.holders.size();
    const Millis left = *job.finish_by - now;
    const uint64_t eta = forecast(task, since, left).eta;
    add_partitions(ledger,
                   balance::partitions_lacking(have, eta, left - left / kSpareParts, job.most));
  }
  return turn;
}

// What this attempt has; null if it has no place in the ledger.
const Ledger::Holder* holder_of(const Ledger& ledger, const PartitionAttempt& who) {
  if (who.partition >= ledger.holders.size()) return nullptr;
  const Ledger::Holder& holder = ledger.holders[who.partition];
  return holder.attempt == who.attempt ? &holder : nullptr;
}

// It has taken turns before, and been given all that it had.
bool has_place(const Ledger& ledger, const PartitionAttempt& who) {
  const Ledger::Holder* holder = holder_of(ledger, who);
  return holder != nullptr && holder->taken == who.had &&
         ledger.task.partitions[who.partition].works();
}

bool has_left(const Ledger& ledger, const PartitionAttempt& who, uint64_t done) {
  const Ledger::Holder* holder = holder_of(ledger, who);
  return holder != nullptr && holder->taken == done &&
         ledger.task.partitions[who.partition].finished;
}

// The turn of a taker that leaves: it is given more only if no other is there to do it.
Turn last_turn_of(Ledger& ledger, const PartitionAttempt& who, Millis since) {
  const balance::Task& task = ledger.task;
  size_t others = 0;
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    others += i != who.partition && task.is_active(task.partitions[i], since) ? 1 : 0;
  }
  const size_t have = ledger.holders.size();
  if (!has_place(ledger, who) || (others == 0 && have >= who.job.most)) {
    return turn_of(ledger, who, {}, since);
  }
  const balance::Code code = end_early(ledger, balance::by_speed(), who.partition, who.attempt,
                                       ledger.holders[who.partition].taken, since);
  if (others == 0 && ledger.pool() > 0) add_partitions(ledger, 1);
  return {.code = code, .span = {}, .eta = task.eta};
}

}  // namespace

model::Ledger encode(const LedgerNow& now) {
  const Ledger& ledger = now.ledger;
  model::Ledger record;
  record.set_iterations(ledger.task.iterations);
  record.set_begun_ms(now.begun.time_since_epoch().count());
  record.set_latest_ms(now.latest.count());
  record.set_remaining(ledger.task.remaining);
  record.set_eta(ledger.task.eta);
  record.set_threshold_ms(ledger.task.threshold.count());
  record.set_ended(ledger.task.ended);
  for (const Span& span : ledger.back) encode_span(span, *record.add_back());
  const size_t measures = std::clamp(kMeasuresInRow / std::max<size_t>(ledger.holders.size(), 1),
                                     kMeasuresLeast, kMeasuresKept);
  for (size_t i = 0; i < ledger.holders.size(); ++i) {
    encode_partition(ledger.task.partitions[i], ledger.holders[i], measures,
                     *record.add_partitions());
  }
  return record;
}

Result<LedgerNow> decode(const model::Ledger& record) {
  LedgerNow now;
  now.begun = WallTime(Millis(record.begun_ms()));
  now.latest = Millis(record.latest_ms());
  Ledger& ledger = now.ledger;
  ledger.task.iterations = record.iterations();
  ledger.task.remaining = record.remaining();
  ledger.task.eta = record.eta();
  ledger.task.threshold = Millis(record.threshold_ms());
  ledger.task.gap = balance::kLedgerGap;
  ledger.task.ended = record.ended();
  for (const auto& span : record.back()) ledger.back.push_back(decode_span(span));
  for (const auto& partition : record.partitions()) {
    ledger.task.partitions.push_back(read_partition(partition));
    Ledger::Holder& holder = ledger.holders.emplace_back();
    holder.attempt = partition.attempt();
    holder.own = decode_span(partition.own());
    for (const auto& span : partition.spans()) {
      holder.spans.push_back(decode_span(span));
      holder.taken += holder.spans.back().size();
    }
  }
  if (ledger.holders.empty() || ledger.task.iterations > balance::kIterationsMax ||
      !is_whole(ledger)) {
    return Error{Code::corrupt, "a ledger does not contain every iteration exactly once"};
  }
  return now;
}

IterativeJob iterative_job(std::string id, const model::Spec& spec) {
  const model::Iterations& iterations = spec.iterations();
  IterativeJob job{.id = std::move(id),
                   .iterations = iterations.total(),
                   .partitions = iterations.partitions(),
                   .most = spec.tasks()};
  if (iterations.span_ms() > 0) job.pace = Millis(iterations.span_ms());
  job.threshold = std::max(job.threshold, 3 * job.pace);
  if (spec.finish_by_ms() > 0) job.finish_by = WallTime(Millis(spec.finish_by_ms()));
  return job;
}

void revoke(model::Page& page, uint32_t offset, uint32_t attempt) {
  const auto found = std::ranges::find(*page.mutable_revoked(), offset, &model::Claim::offset);
  model::Claim& entry = found == page.mutable_revoked()->end() ? *page.add_revoked() : *found;
  entry.set_offset(offset);
  entry.set_attempt(std::max(entry.attempt(), attempt));
}

Result<std::string> worker_of(Table& table, const PartitionAttempt& who) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::conflict,
                 fmt::format("attempt {} of partition {} {}", who.attempt, who.partition, why)};
  };
  const std::string key = page_key(who.job.id, page_of(who.partition));
  const model::Page page = TRY(read_record<model::Page>(table, kPages, key)).record;
  const uint32_t offset = offset_of(who.partition);
  const auto has_offset = [&](const auto& one) { return one.offset() == offset; };
  if (std::ranges::any_of(page.outcomes(), has_offset)) return refuse("is over: there is a result");
  const model::Claim* latest = nullptr;
  for (const model::Claim& claim : page.claims()) {
    if (!has_offset(claim)) continue;
    if (latest == nullptr || claim.attempt() > latest->attempt()) latest = &claim;
  }
  if (latest == nullptr) return refuse("does not run, nor does another");
  if (latest->attempt() != who.attempt) {
    return refuse(fmt::format("does not run: attempt {} does", latest->attempt()));
  }
  const auto is_revoked = [&](const model::Claim& one) {
    return has_offset(one) && one.attempt() >= who.attempt;
  };
  if (std::ranges::any_of(page.revoked(), is_revoked)) {
    return refuse("was silent for too long, and others have its iterations");
  }
  return latest->worker();
}

Result<Place> find_place(Table& table, const PartitionAttempt& who) {
  const Ledger ledger = TRY(read_ledger(table, who.job, WallTime())).ledger;
  const Ledger::Holder* holder = holder_of(ledger, who);
  if (holder == nullptr) return Place{};
  return Place{true, ledger.task.partitions[who.partition].finished, holder->taken};
}

Result<LedgerNow> read_ledger(Table& table, const IterativeJob& job, WallTime now) {
  return ledger_of(TRY(read_row(table, job)), job, now);
}

Result<Turn> next_iterations(Table& table, const PartitionAttempt& who, const Looker& looker,
                             bool leaving) {
  std::vector<Failed> gone;
  bool looked = false;  // For those that failed and those that say nothing, when all is taken.
  return change_row(table, who.job, looker, [&](Ledger& ledger, Millis since) -> Result<Turn> {
    Silent silent;
    if (ledger.pool() == 0 && !leaving) silent = find_silent(ledger, who, looker.seen);
    if (ledger.pool() == 0 && !looked) {
      gone = TRY(find_gone(table, who, ledger, silent));
      looked = true;
    }
    for (const Failed& one : gone) {
      lose(ledger, balance::by_speed(), one.partition, one.attempt, since);
    }
    if (leaving) return last_turn_of(ledger, who, since);
    if (ledger.pool() == 0 && silent.wait && has_place(ledger, who)) {
      rest(ledger, balance::by_speed(), who.partition, who.attempt, since);
      return Turn{.span = {}, .eta = ledger.task.eta, .wait = true};
    }
    return turn_of(ledger, who, looker.clock.wall(), since);
  });
}

Result<Left> leave(Table& table, const PartitionAttempt& who, uint64_t done, const Looker& looker) {
  return change_row(table, who.job, looker, [&](Ledger& ledger, Millis since) -> Result<Left> {
    if (has_left(ledger, who, done)) return Left::yes;
    Ledger without = ledger;
    const balance::Code code =
        end_early(without, balance::by_speed(), who.partition, who.attempt, done, since);
    if (code != balance::Code::ok) return Left::given_up;
    const auto& all = without.task.partitions;
    const bool nobody = std::ranges::all_of(all, &balance::Partition::finished);
    if (nobody && without.pool() > 0) {
      if (all.size() >= who.job.most) return Left::alone;
      add_partitions(without, 1);
    }
    ledger = std::move(without);
    return Left::yes;
  });
}

Result<void> lose_partition(Table& table, const PartitionAttempt& who, const Looker& looker) {
  TRY(change_row(table, who.job, looker, [&](Ledger& ledger, Millis since) -> Result<bool> {
    lose(ledger, balance::by_speed(), who.partition, who.attempt, since);
    return true;
  }));
  return {};
}

Result<uint64_t> reserve_needed(const Row& row, uint64_t first, uint64_t last, bool before) {
  const model::Ledger ledger = TRY(parse_row<model::Ledger>(kLedgers, row)).record;
  const auto wanted = static_cast<uint64_t>(ledger.partitions_size());
  if (ledger.ended()) return last - first;  // They find nothing to do, and are settled.
  if (wanted > first) return std::min(wanted, last) - first;
  if (!before) return 0;
  // Nobody is left. If none of them even began, no other will.
  return wanted == 0 ? last - first : 1;
}

}  // namespace dunlin
