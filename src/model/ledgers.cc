#include "model/ledgers.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/rows.h"

namespace dunlin {
namespace {

using balance::Ledger;
using balance::Span;

constexpr size_t kMeasuresKept = 8;  // What a forecast looks at.
constexpr int kTries = 1000;

void encode_span(const Span& span, model::Ledger::Span& into) {
  into.set_first(span.first);
  into.set_size(span.size());
}

Span decode_span(const model::Ledger::Span& from) {
  return {from.first(), from.first() + std::min(from.size(), UINT64_MAX - from.first())};
}

balance::Partition decode_partition(const model::Ledger::Partition& from) {
  balance::Partition partition;
  partition.assigned = from.assigned();
  partition.done = from.done();
  partition.started = from.started();
  partition.finished = from.finished();
  partition.init = Millis(from.init_ms());
  partition.resumed = Millis(from.resumed_ms());
  partition.last = Millis(from.last_ms());
  for (const auto& measure : from.measures()) {
    partition.measures.push_back({Millis(measure.at_ms()), measure.speed()});
  }
  return partition;
}

void encode_partition(const balance::Partition& partition, const Ledger::Holder& holder,
                      model::Ledger::Partition& into) {
  into.set_assigned(partition.assigned);
  into.set_done(partition.done);
  into.set_started(partition.started);
  into.set_finished(partition.finished);
  into.set_init_ms(partition.init.count());
  into.set_resumed_ms(partition.resumed.count());
  into.set_last_ms(partition.last.count());
  const auto& all = partition.measures;
  for (size_t i = all.size() - std::min(all.size(), kMeasuresKept); i < all.size(); ++i) {
    model::Ledger::Measure& measure = *into.add_measures();
    measure.set_at_ms(all[i].at.count());
    measure.set_speed(all[i].speed);
  }
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
// says what comes of it.
template <typename Change>
auto change_row(Table& table, const IterativeJob& job, WallTime now, const Change& change)
    -> Result<decltype(change(std::declval<Ledger&>(), Millis(0)))> {
  for (int tries = 0; tries < kTries; ++tries) {
    const Stored<model::Ledger> row = TRY(read_row(table, job));
    LedgerNow ledger = TRY(ledger_of(row, job, now));
    auto result = change(ledger.ledger, std::max(now - ledger.begun, Millis(0)));
    const auto put = table.put(kLedgers, {job.id, encode(ledger).SerializeAsString(), row.version});
    if (put.ok()) return result;
    if (put.error().code != Code::conflict) return put.error();
  }
  return Error{Code::unavailable,
               fmt::format("the ledger of job {} changes all the time: try again", job.id)};
}

}  // namespace

model::Ledger encode(const LedgerNow& now) {
  const Ledger& ledger = now.ledger;
  model::Ledger record;
  record.set_iterations(ledger.task.iterations);
  record.set_begun_ms(now.begun.time_since_epoch().count());
  record.set_remaining(ledger.task.remaining);
  record.set_eta(ledger.task.eta);
  record.set_threshold_ms(ledger.task.threshold.count());
  record.set_ended(ledger.task.ended);
  for (const Span& span : ledger.back) encode_span(span, *record.add_back());
  for (size_t i = 0; i < ledger.holders.size(); ++i) {
    encode_partition(ledger.task.partitions[i], ledger.holders[i], *record.add_partitions());
  }
  return record;
}

Result<LedgerNow> decode(const model::Ledger& record) {
  LedgerNow now;
  now.begun = WallTime(Millis(record.begun_ms()));
  Ledger& ledger = now.ledger;
  ledger.task.iterations = record.iterations();
  ledger.task.remaining = record.remaining();
  ledger.task.eta = record.eta();
  ledger.task.threshold = Millis(record.threshold_ms());
  ledger.task.gap = balance::kLedgerGap;
  ledger.task.ended = record.ended();
  for (const auto& span : record.back()) ledger.back.push_back(decode_span(span));
  for (const auto& partition : record.partitions()) {
    ledger.task.partitions.push_back(decode_partition(partition));
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
    return Error{Code::corrupt, "a ledger does not have every iteration once"};
  }
  return now;
}

Result<LedgerNow> read_ledger(Table& table, const IterativeJob& job, WallTime now) {
  return ledger_of(TRY(read_row(table, job)), job, now);
}

Result<balance::Turn> take_turn(Table& table, const IterativeJob& job, size_t partition,
                                uint32_t attempt, WallTime now) {
  return change_row(table, job, now, [&](Ledger& ledger, Millis since) {
    return next_span(ledger, balance::by_speed(), partition, attempt, job.pace, since);
  });
}

Result<balance::Code> leave(Table& table, const IterativeJob& job, size_t partition,
                            uint32_t attempt, uint64_t done, WallTime now) {
  return change_row(table, job, now, [&](Ledger& ledger, Millis since) {
    return end_early(ledger, balance::by_speed(), partition, attempt, done, since);
  });
}

Result<void> lose_partition(Table& table, const IterativeJob& job, size_t partition,
                            uint32_t attempt, WallTime now) {
  TRY(change_row(table, job, now, [&](Ledger& ledger, Millis since) {
    lose(ledger, balance::by_speed(), partition, attempt, since);
    return true;
  }));
  return {};
}

}  // namespace dunlin
