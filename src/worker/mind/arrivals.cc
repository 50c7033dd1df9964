#include "worker/mind/arrivals.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "model/counts.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/submit.h"
#include "worker/mind/endings.h"

namespace dunlin::worker {
namespace {

constexpr Millis kRestMax = Millis(1000);  // Then it looks again.
constexpr Millis kReserveEvery = Millis(250);
constexpr int64_t kFreshUs = 5'000'000;

// Whoever may submit pushes what he likes.
bool is_range(const model::Range& range) {
  return range.first() < range.last() && range.last() <= kTasksMax && is_name(range.job()) &&
         (!range.reserve() || (range.first() > 0 && range.last() <= kPartitionsMax));
}

}  // namespace

bool Arrivals::pulled(const std::string& queue, std::vector<Delivery>&& deliveries,
                      Instant valid_until) {
  bool large = false;
  for (Delivery& delivery : deliveries) {
    Held& held = parts_.ranges.add(queue, delivery, valid_until);
    model::Range range;
    if (!range.ParseFromString(delivery.body) || !is_range(range)) {
      log::warning("dropped a message that does not hold a range queue={} id={}", queue,
                   held.lease.id);
      parts_.ranges.assign_nothing(held);
      continue;
    }
    take_in(held, std::move(range), delivery);
    large |= held.is_splitting();
  }
  return large;
}

void Arrivals::take_in(Held& held, model::Range&& range, const Delivery& delivery) {
  held.range = std::move(range);
  held.old = is_old(held.range);
  // The last holder may have given a part of it away.
  model::Note note;
  const bool is_cut = note.ParseFromString(delivery.note) && note.has_last();
  JobView& job = job_of(held.queue, held.range);
  parts_.ranges.assign(held, job, is_cut ? note.last() : held.range.last());
  const uint32_t again = delivery.attempt - 1;
  held.attempt = std::max(held.range.attempt(), 1U) + again;
  held.again = again;
  held.lost = held.range.lost() + again;
  held.seen = held.range.seen() || again > 0;
  held.isolate = again > 0 && held.range.last() - held.range.first() > 1 &&
                 job.spec().delivery() != model::DELIVERY_AT_MOST_ONCE;
  adopt(held);
}

JobView& Arrivals::job_of(const std::string& queue, model::Range& range) {
  JobView& job = parts_.jobs.open(range.job(), range.round());
  job.queue = queue;
  if (range.round() > job.round) parts_.ranges.open_again(job, range.round());
  // A job whose message was on its way for long may be gone: then there is none to read. (Earlier
  // releases pushed specs that they had not read, without tasks.)
  const bool whole = range.has_spec() && range.spec().tasks() > 0;
  if (!job.ready && !job.asked && whole && !is_old(range)) {
    job.text->spec.Swap(range.mutable_spec());
    job_ready(job);
  }
  range.clear_spec();
  if (!job.ready) read_job(job);
  if (is_old(range) && !job.end_read && !job.ended) parts_.completion.read_end(job, [] {});
  return job;
}

// A job whose message was on its way for long may have been cancelled meanwhile.
bool Arrivals::is_old(const model::Range& range) const {
  const int64_t sent_us = range.sent_us();  // Clocks differ.
  const int64_t now_us = parts_.asks.now().wall_us;
  return range.seen() || sent_us <= now_us - kFreshUs || sent_us >= now_us + kFreshUs;
}

void Arrivals::read_job(JobView& job) {
  if (job.asked) return;
  job.asked = true;
  parts_.asks.ask(Get{std::string(kJobs), {job.id}}, [this, pin = Pin(job)](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows != nullptr && !rows->rows.empty()) job_read(*pin, rows->rows[0]);
  });
}

void Arrivals::job_read(JobView& job, const Row& row) {
  model::Job record;
  if (!record.ParseFromString(row.value)) {
    log::error("the row of job {} is damaged: its tasks wait until it is repaired", job.id);
    job.damaged = true;
    parts_.ranges.see_damage();
    return parts_.asks.later(kBadRowWait, [this, pin = Pin(job)] {
      pin->asked = false;
      if (pin->held > 0) read_job(*pin);
    });
  }
  if (row.version == 0 || record.gone_us() != 0) {
    log::warning("a range names a job that does not exist job={}", job.id);
    return parts_.completion.has_ended(job);
  }
  job.text->spec = std::move(*record.mutable_spec());
  job_ready(job);
  for (auto& [id, held] : parts_.ranges.all()) {
    if (held.job.get() != &job || held.phase() == Phase::resting) continue;
    parts_.ranges.cut_to_job(held);
    parts_.ranges.look_at(id);
  }
}

// A spec that was not submitted by our own client may be anything.
void Arrivals::job_ready(JobView& job) {
  job.ready = true;
  job.damaged = false;
  Result<void> good = validate_spec(job.spec());
  if (!good.ok()) job.text->spec.clear_reply();
  if (good.ok()) good = check_needs(job.spec().requires_());
  if (good.ok()) good = prepare(job);
  if (!good.ok()) job.trouble = good.error().what;
}

// Its route asks for as much, unless somebody wrote another one. It would wait here for ever.
Result<void> Arrivals::check_needs(const model::Requirements& needs) const {
  const WorkerOptions& has = parts_.options;
  const bool enough = needs.gpus() <= has.gpus && needs.mem_bytes() <= has.mem_bytes;
  if (enough || has.is_alone()) return {};
  return Error{Code::corrupt,
               "the job needs more than the workers have that its queue is for: submit it again"};
}

// From here on its tasks may be started.
void Arrivals::adopt(Held& held) {
  if (held.is_over()) {
    parts_.ranges.abandon(held);
    parts_.ranges.look_at(held.id);
    return;
  }
  // By the clock of whoever moved it, which may be off: so it is never longer than was meant.
  const Now& now = parts_.asks.now();
  const int64_t not_before_ms = std::max<int64_t>(held.range.not_before_ms(), 0);
  const Millis rest = std::min(Millis(not_before_ms - now.wall_us / 1000),
                               held.received_at + pause_of(held) - now.at);
  if (rest > Millis(0)) return adopt_later(held, std::min(rest, kRestMax));
  if (held.range.reserve()) return look_for_need(held);
  parts_.ranges.make_ready(held);
  make_ready(held);
}

void Arrivals::adopt_later(const Held& held, Millis delay) {
  parts_.asks.later(delay, [this, id = held.id] {
    Held* range = parts_.ranges.find(id);
    if (range != nullptr && range->phase() == Phase::resting) adopt(*range);
  });
}

void Arrivals::make_ready(Held& held) {
  if (held.seen) HeldRanges::forget_pages(held);
  parts_.ranges.cut_to_job(held);
  if (held.next() == held.last()) {
    held.isolate = false;
    parts_.ranges.look_at(held.id);
  }
  parts_.sharing.keep_share(held);
}

// Partitions in reserve start when the ledger says so, or when all before them are through.
void Arrivals::look_for_need(const Held& held) {
  const std::string job = held.job->id;
  parts_.asks.ask(Get{std::string(kLedgers), {job}}, [this, id = held.id, job](Answer&& answer) {
    auto* ledger = std::get_if<Rows>(&answer);
    const Held* range = parts_.ranges.find(id);
    if (range == nullptr || ledger == nullptr || ledger->rows.empty()) return;
    Get pages{std::string(kPages), {}};
    for (uint64_t page = 0; page <= page_of(range->first() - 1); ++page) {
      pages.keys.push_back(page_key(job, page));
    }
    parts_.asks.get_rows(std::move(pages), [this, id, row = std::move(ledger->rows[0])](
                                               const std::vector<Row>& rows) {
      Held* still = parts_.ranges.find(id);
      if (still == nullptr || still->phase() != Phase::resting) return;
      begin_reserve(*still, row, rows);
    });
  });
}

void Arrivals::begin_reserve(Held& held, const Row& ledger, const std::vector<Row>& pages) {
  if (held.is_over()) return adopt(held);
  uint64_t through = 0;
  for (size_t number = 0; number < pages.size(); ++number) {
    const auto page = parse_row<model::Page>(kPages, pages[number]);
    if (!page.ok()) continue;
    for (const model::Outcome& outcome : page.value().record.outcomes()) {
      through += number * kPageTasks + outcome.offset() < held.first() ? 1 : 0;
    }
  }
  const auto needed = reserve_needed(ledger, held.first(), held.last(), through == held.first());
  if (!needed.ok()) log::error("{}", needed.error().what);
  if (!needed.ok() || needed.value() == 0 || parts_.ranges.in_doubt(held)) {
    return adopt_later(held, kReserveEvery);
  }
  // Others look, too, and at once.
  const uint64_t free = std::max<uint64_t>(parts_.sharing.free_slots(), 1);
  const uint64_t rest = held.first() + std::min(needed.value(), free);
  parts_.ranges.make_ready(held);
  if (rest < held.last()) parts_.ranges.shorten(held, rest);
  held.range.set_reserve(false);
  make_ready(held);
}

}  // namespace dunlin::worker
