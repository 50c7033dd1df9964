// Where a worker gets its ranges from, how much of them it keeps, and what it gives back.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "model/ledgers.h"
#include "model/sound.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr Millis kScanIdle = Millis(500);
constexpr Millis kScanBusy = std::chrono::seconds(5);
constexpr Millis kAway = std::chrono::seconds(5);  // A store that takes longer to answer is away.
constexpr Millis kShareEvery = Millis(250);
constexpr int kCountPart = 10;  // Of the time, at most, is spent on counting a queue.
constexpr Millis kPullWait = std::chrono::seconds(10);
constexpr Millis kReserveEvery = Millis(250);
constexpr size_t kWaitingMax = 32;         // Pulls that wait, each at another route.
constexpr size_t kHeldMax = 4096;          // Ranges.
constexpr uint64_t kShareMax = 1U << 15U;  // Tasks of one range.
constexpr uint64_t kPullMax = 256;         // Messages of one pull.
constexpr double kAheadUs = 100'000;       // Work to hold beyond what runs, at least.
constexpr int kAheadPaces = 4;
constexpr uint64_t kLeastPart = 4;     // Of that is the least to take from a range.
constexpr double kLongUs = 1'000'000;  // Tasks that take longer are not held ahead.
constexpr double kHungryUs = 500'000;  // Who holds more unstarted work than this gives some back,
constexpr double kHungryAheads = 2;    // or than this, if it is more.

// Whoever may submit pushes what he likes.
bool is_range(const model::Range& range) {
  return range.first() < range.last() && range.last() <= kTasksMax && is_name(range.job()) &&
         (!range.reserve() || (range.first() > 0 && range.last() <= kPartitionsMax));
}

}  // namespace

double WorkerMind::ahead_us() const {
  const std::chrono::duration<double, std::micro> paces = options_.pace * kAheadPaces;
  return std::max(kAheadUs, paces.count());
}

double WorkerMind::hungry_us() const { return std::max(kHungryUs, kHungryAheads * ahead_us()); }

// How many tasks are worth holding: those that run, and so many more that no slot ever waits for
// the store. Long tasks are taken one by one.
uint64_t WorkerMind::target() const {
  if (!trouble_.empty()) return 1;
  if (mean_us_ == 0) return uint64_t{room_.slots()} * 4;
  if (mean_us_ > kLongUs) return room_.slots();
  const double ahead = std::ceil(ahead_us() / std::max(mean_us_, 1.0));
  return std::min<uint64_t>(
      static_cast<uint64_t>(room_.slots() * (1 + std::min(ahead, double{kShareMax}))),
      std::max<uint64_t>(kShareMax, uint64_t{2} * room_.slots()));
}

void WorkerMind::scan_routes(std::string after) {
  if (after.empty()) scanned_.clear();
  const Instant asked = now_.at;
  asks_.ask(Scan{std::string(kRoutes), "", std::move(after), kBatchMax},
            [this, asked](Answer&& answer) {
              const auto* rows = std::get_if<Rows>(&answer);
              // A worker is idle if it can ask for work and there is none.
              if (rows == nullptr || now_.at - asked > kAway) idle_since_ = now_.at;
              if (rows == nullptr) return plan_scan();
              if (!rows->rows.empty()) {
                for (const Row& row : rows->rows) add_route(row);
                return scan_routes(rows->rows.back().key);
              }
              std::ranges::stable_sort(scanned_, std::greater<>(),
                                       [](const RouteView& view) { return view.route.priority(); });
              for (RouteView& view : scanned_) {
                const auto old = std::ranges::find(routes_, view.queue, &RouteView::queue);
                if (old != routes_.end()) view.depth = old->depth;
              }
              if (scanned_.size() != routes_.size()) tried_ = 0;
              routes_ = std::move(scanned_);
              if (!held_.empty()) idle_since_ = now_.at;
              if (options_.idle_exit > Millis(0) && now_.at - idle_since_ >= options_.idle_exit) {
                return drain(now_);
              }
              scanned_at_ = now_.at;
              plan_scan();
            });
}

// Who has something to do need not look often. Who has not may have just finished it.
void WorkerMind::plan_scan() {
  asks_.later(std::max(kScanIdle, options_.pace * kAheadPaces), [this] {
    const bool busy = tasks_.size() + unstarted_ >= room_.slots();
    if (busy && now_.at - scanned_at_ < kScanBusy) return plan_scan();
    scan_routes("");
  });
}

void WorkerMind::add_route(const Row& row) {
  // What is in another queue is nobody's work, and the store may refuse to give it.
  if (!is_work_queue(row.key)) return;
  RouteView view{row.key, {}, {}};
  if (!view.route.ParseFromString(row.value)) return;
  if (satisfies(view.route.requires_())) scanned_.push_back(std::move(view));
}

bool WorkerMind::satisfies(const model::Requirements& needs) const {
  if (std::max(needs.cpus(), 1U) > room_.slots() || needs.gpus() > options_.gpus) return false;
  if (needs.mem_bytes() > options_.mem_bytes) return false;
  return std::ranges::all_of(
      needs.tags(), [this](const std::string& tag) { return options_.tags.contains(tag); });
}

// A pull that waits for longer would bring leases that are half over.
Millis WorkerMind::patience() const { return std::min(kPullWait, options_.hold / 2); }

// With one route a pull waits there. With several, each is asked in turn, by priority; only when
// none has anything do pulls wait, at all of them.
void WorkerMind::pull() {
  if (stopping() || resting() || no_more_ || routes_.empty() || held_.size() >= kHeldMax) return;
  const uint64_t have = tasks_.size() + unstarted_ - stuck_tasks();
  const uint64_t want = target();
  if (have >= room_.slots() && have > want / 2) return;
  if (routes_.size() == 1) {
    // Who is alone knows when there is something new: no pull needs to wait.
    if (pulling_.empty() && !(is_alone() && nothing_there_)) {
      pull_from(routes_.front().queue, is_alone() ? Millis(0) : patience());
    }
    return;
  }
  for (; tried_ < routes_.size(); ++tried_) {
    if (asking_) return;
    // Routes of the same priority take turns; the first of them changes with each success.
    const auto priority_of = [](const RouteView& view) { return view.route.priority(); };
    const auto priority = priority_of(routes_[tried_]);
    const auto same = std::ranges::lower_bound(routes_, priority, std::greater<>(), priority_of);
    const auto lower = std::ranges::upper_bound(routes_, priority, std::greater<>(), priority_of);
    const auto first = static_cast<size_t>(same - routes_.begin());
    const size_t turn = first + (tried_ - first + turn_) % static_cast<size_t>(lower - same);
    // Where a pull waits there is nothing, or it is on its way.
    if (!pulling_.contains(routes_[turn].queue)) return pull_from(routes_[turn].queue, Millis(0));
  }
  for (const RouteView& view : routes_) {
    if (pulling_.size() >= kWaitingMax) break;
    if (!pulling_.contains(view.queue)) pull_from(view.queue, patience());
  }
}

void WorkerMind::pull_from(const std::string& queue, Millis wait) {
  pulling_.insert(queue);
  if (wait == Millis(0)) asking_ = true;
  asks_.ask(Pull{queue, pull_max_, options_.hold, wait},
            [this, queue, wait, asked = now_.at](Answer&& answer) {
              pulling_.erase(queue);
              if (wait == Millis(0)) asking_ = false;
              auto* found = std::get_if<Deliveries>(&answer);
              if (found == nullptr || found->deliveries.empty()) {
                ++tried_;
                const bool known = std::exchange(nothing_there_, true);
                if (!known) asks_.later(kShareEvery, [this] { nothing_there_ = false; });
                if (routes_.size() > 1 && tried_ > 2 * routes_.size()) tried_ = 0;
                return;
              }
              tried_ = 0;
              ++turn_;
              // It may have been handed out right after we asked: that is when the lease began, at
              // worst.
              pulled(queue, std::move(found->deliveries), asked + options_.hold);
            });
}

void WorkerMind::pulled(const std::string& queue, std::vector<Delivery>&& deliveries,
                        Instant valid_until) {
  const bool all = deliveries.size() == pull_max_;
  bool large = false;
  for (Delivery& delivery : deliveries) {
    const uint64_t id = hold(queue, std::move(delivery), valid_until);
    if (Held* held = find(id)) large |= held->splitting;
  }
  // Many small ranges are worth one pull; of large ones, one is enough.
  if (large) {
    pull_max_ = 1;
  } else if (all) {
    pull_max_ = std::min(pull_max_ * 2, kPullMax);
  }
}

uint64_t WorkerMind::hold(const std::string& queue, Delivery&& delivery, Instant valid_until) {
  if (delivery.attempt > 1) {  // It may be our own, whose lease ended before we noticed.
    const auto old = std::ranges::find_if(held_, [&](const auto& one) {
      return one.second.lease.id == delivery.lease.id && one.second.queue == queue;
    });
    if (old != held_.end()) forget(old->first);
  }
  const uint64_t id = ++last_held_;
  Held& held = held_[id];
  held.id = id;
  held.queue = queue;
  held.lease = std::move(delivery.lease);
  held.valid_until = valid_until;
  by_lease_[{held.lease.id, held.lease.token}] = id;
  held.received_us = now_.wall_us;
  held.received_at = now_.at;
  model::Range& range = held.range;
  if (!range.ParseFromString(delivery.body) || !is_range(range)) {
    log::warning("dropped a message that is no range queue={} id={}", queue, held.lease.id);
    held.job = Pin(nothing_);
    ++nothing_.held;
    settled_.insert(id);
    return id;
  }
  held.old = is_old(range);
  held.job = Pin(job_of(queue, range));
  ++held.job->held;
  const uint32_t again = delivery.attempt - 1;
  held.attempt = std::max(range.attempt(), 1U) + again;
  held.again = again;
  held.lost = range.lost() + again;
  held.seen = range.seen() || again > 0;
  held.isolate = again > 0 && range.last() - range.first() > 1 &&
                 held.job->spec().delivery() != model::DELIVERY_AT_MOST_ONCE;
  held.first = held.next = range.first();
  held.last = range.last();
  // The last holder may have given a part of it away.
  model::Note note;
  if (note.ParseFromString(delivery.note) && note.has_last()) {
    held.last = std::clamp(note.last(), held.first, held.last);
  }
  adopt(held);
  return id;
}

// Stands in every commit that gives tasks of a held range away: it conflicts if the lease is not
// ours any more, and so does a copy of the commit, however late it comes.
Keep WorkerMind::keep(const Held& held, uint64_t last) const {
  model::Note note;
  note.set_last(last);
  return {held.queue, held.lease, held.step, note.SerializeAsString(), options_.hold};
}

void WorkerMind::kept(Held& held, Instant sent) {
  ++held.step;
  held.splitting = false;
  held.valid_until = std::max(held.valid_until, sent + options_.hold);
  settled_.insert(held.id);
}

// What we knew of the pages of a range may be older than the range.
void WorkerMind::forget_pages(const Held& held) {
  auto& pages = held.job->pages;
  for (auto at = pages.lower_bound(page_of(held.first)); at != pages.end(); ++at) {
    if (at->first * kPageTasks >= held.last) break;
    at->second.known = false;
    ++at->second.era;
  }
}

// From here on its tasks may be started.
void WorkerMind::adopt(Held& held) {
  if (is_over(held)) {
    abandon(held);
    settled_.insert(held.id);
    return;
  }
  // By the clock of whoever moved it, which may be off: so it is never longer than was meant.
  const int64_t not_before_ms = std::max<int64_t>(held.range.not_before_ms(), 0);
  const Millis rest = std::min(Millis(not_before_ms - now_.wall_us / 1000),
                               held.received_at + pause_of(held) - now_.at);
  if (rest > Millis(0)) {
    held.resting = true;
    asks_.later(std::min(rest, Millis(1000)), [this, id = held.id] {
      Held* range = find(id);
      if (range != nullptr && range->resting) adopt(*range);
    });
    return;
  }
  if (held.range.reserve()) {
    held.resting = true;
    return look_for_need(held);
  }
  if (held.seen) forget_pages(held);
  shorten_to_job(held);
  held.resting = false;
  held.adopted = true;
  unstarted_ += held.last - held.next;
  if (held.next == held.last) {
    held.isolate = false;
    settled_.insert(held.id);
  }
  if (held.isolate || held.splitting || stopping() || held.last - held.first == 1) return;
  const uint64_t share = share_of(held);
  if (held.last - held.first > share + share / 2) shorten(held, held.first + share);
}

// Partitions in reserve start when the ledger says so, or when all before them are through.
void WorkerMind::look_for_need(Held& held) {
  const std::string job = held.job->id;
  asks_.ask(Get{std::string(kLedgers), {job}}, [this, id = held.id, job](Answer&& answer) {
    auto* ledger = std::get_if<Rows>(&answer);
    const Held* range = find(id);
    if (range == nullptr || ledger == nullptr || ledger->rows.empty()) return;
    Get pages{std::string(kPages), {}};
    for (uint64_t page = 0; page <= page_of(range->first - 1); ++page) {
      pages.keys.push_back(page_key(job, page));
    }
    asks_.get_rows(std::move(pages), [this, id, row = std::move(ledger->rows[0])](auto&& rows) {
      Held* held_still = find(id);
      if (held_still == nullptr || !held_still->resting) return;
      begin_reserve(*held_still, row, rows);
    });
  });
}

void WorkerMind::begin_reserve(Held& held, const Row& ledger, const std::vector<Row>& pages) {
  if (is_over(held)) return adopt(held);
  uint64_t through = 0;
  for (size_t number = 0; number < pages.size(); ++number) {
    const auto page = parse_row<model::Page>(kPages, pages[number]);
    if (!page.ok()) continue;
    for (const model::Outcome& outcome : page.value().record.outcomes()) {
      through += number * kPageTasks + outcome.offset() < held.first ? 1 : 0;
    }
  }
  const auto needed = reserve_needed(ledger, held.first, held.last, through == held.first);
  if (!needed.ok()) log::error("{}", needed.error().what);
  if (!needed.ok() || needed.value() == 0 || in_doubt(held)) {
    return asks_.later(kReserveEvery, [this, id = held.id] {
      Held* range = find(id);
      if (range != nullptr && range->resting) adopt(*range);
    });
  }
  // Others look, too, and at once.
  const uint64_t busy = tasks_.size() + room_.claimed() + unstarted_;
  const uint64_t free = room_.slots() - std::min<uint64_t>(busy, room_.slots());
  const uint64_t rest = held.first + std::min(needed.value(), std::max<uint64_t>(free, 1));
  if (rest < held.last) {
    unstarted_ += held.last - held.next;
    shorten(held, rest);
    unstarted_ -= held.last - held.next;
  }
  held.range.set_reserve(false);
  adopt(held);
}

// Guided self-scheduling: no more than half of an even share, so that the last ranges are small.
uint64_t WorkerMind::share_of(const Held& held) const {
  const uint64_t size = held.last - held.first;
  if (is_alone()) return std::min(size, kShareMax);
  const uint64_t have = tasks_.size() + unstarted_ - size;
  const uint64_t want = target() > have ? target() - have : 0;
  const auto view = std::ranges::find(routes_, held.queue, &RouteView::queue);
  const uint64_t holders = view == routes_.end() ? 1 : std::max<uint64_t>(view->depth.leased, 1);
  const uint64_t guided = holders == 1 ? size : size / (2 * holders);
  // What is done sooner than the store answers is not worth a message of its own: the rest of the
  // range would go from worker to worker, one round trip for each piece.
  const uint64_t least = std::max<uint64_t>(room_.slots(), target() / kLeastPart);
  return std::min({std::max<uint64_t>(want, room_.slots()), std::max(guided, least), kShareMax});
}

// Gives the tasks from `last` on to whoever pulls them next. REQUIRES: none of them was started.
void WorkerMind::shorten(Held& held, uint64_t last) {
  CHECK(!held.splitting && last >= held.next && last <= held.last);
  if (last - held.first >= 2 * kPageTasks) {
    last = std::max(last / kPageTasks * kPageTasks, held.next);
  }
  if (last == held.last) return;
  model::Range tail = held.range;
  tail.set_first(last);
  tail.set_last(held.last);
  // A message that is still held keeps its id: the copy needs another one.
  tail.set_attempt(held.attempt + (last == held.first ? 1 : 0));
  tail.set_lost(held.range.alone() ? held.lost : 0);
  tail.set_seen(held.seen);
  // As old as the range, as long as nobody has looked whether its job has ended.
  if (!held.old || held.job->end_read) tail.set_sent_us(now_.wall_us);
  // A spec that we have not read yet is not in it: whoever gets the tail reads the job's row, too.
  if (held.job->ready) embed_spec(tail, held.job->spec());
  unstarted_ -= held.last - last;
  held.last = last;
  held.splitting = true;
  std::vector<Write> writes;
  writes.emplace_back(Push{held.queue, {{range_id(tail), tail.SerializeAsString()}}});
  writes.emplace_back(keep(held, last));
  asks_.commit(std::move(writes), [this, id = held.id, sent = now_.at](Answer&& answer) {
    Held* range = find(id);
    if (range == nullptr) return;
    // If not: somebody else has the message. The next renewal would say so, too.
    if (!std::holds_alternative<Committed>(answer)) return forget(id);
    nothing_there_ = false;
    kept(*range, sent);
  });
}

// What others could do now is given back: half of the range with most unstarted tasks. A store that
// counts slowly is asked less often, so that counting never takes much of its time.
void WorkerMind::share_with_hungry() {
  const auto again = [this](Millis delay) { asks_.later(delay, [this] { share_with_hungry(); }); };
  if (held_.empty() || stopping()) return again(kShareEvery);
  measure_running();
  const bool slow = mean_us_ > kLongUs;  // Then even one task is worth another worker's while.
  const uint64_t least = slow ? 1 : 2;
  const Held* most = nullptr;
  for (const auto& [id, held] : held_) {
    if (!held.adopted || held.splitting || held.isolate || held.last - held.next < least) continue;
    if (is_stuck(held)) continue;  // With others as well.
    if (most == nullptr || held.last - held.next > most->last - most->next) most = &held;
  }
  const std::string queue = most != nullptr ? most->queue : held_.begin()->second.queue;
  asks_.ask(AskDepth{queue}, [this, queue, least, again, asked = now_.at,
                              id = most != nullptr ? most->id : 0](Answer&& answer) {
    again(std::max({kShareEvery, options_.pace * kAheadPaces, kCountPart * (now_.at - asked)}));
    const auto* depth = std::get_if<Depth>(&answer);
    if (depth == nullptr) return;
    const auto view = std::ranges::find(routes_, queue, &RouteView::queue);
    if (view != routes_.end()) view->depth = *depth;
    Held* held = find(id);
    if (held == nullptr || depth->ready > 0 || held->splitting || stopping()) return;
    if (is_alone()) return;
    const double time_us =
        static_cast<double>(unstarted_ - stuck_tasks()) * std::max(mean_us_, 1.0);
    if (mean_us_ == 0 || time_us / room_.slots() < hungry_us()) return;
    if (held->last - held->next < least || in_doubt(*held)) return;
    shorten(*held, held->next + (held->last - held->next) / 2);
  });
}

void WorkerMind::drain(Now now) {
  asks_.set_now(now);
  draining_ = true;
  think();
}

void WorkerMind::give_back_unstarted() {
  for (auto& [id, held] : held_) {
    if (held.splitting || held.finishing || is_over(held)) continue;
    held.isolate = false;
    if (std::exchange(held.resting, false)) {
      held.adopted = true;
      unstarted_ += held.last - held.next;
    }
    if (held.adopted && held.next < held.last && !in_doubt(held)) shorten(held, held.next);
  }
}

// Running tasks are stopped and given back as another attempt; what has already ended is published
// before the range is finished.
void WorkerMind::stop(Now now) {
  asks_.set_now(now);
  stopping_ = true;
  for (const auto& [id, tasks] : tasks_.drop_all()) give_back_running(held_.at(id), tasks);
  drain(now);
}

void WorkerMind::give_back_running(Held& held, const std::vector<uint64_t>& tasks) {
  if (held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE) {
    for (const uint64_t task : tasks) {
      settle(held, task, lost_outcome(held, "its worker was stopped"));
    }
    return;
  }
  for (const uint64_t task : tasks) {
    move_task(held, task, held.attempt + 1, held.range.lost(), 0);
  }
}

// Somebody else has the range, or nobody needs it: nothing that it still does matters.
void WorkerMind::forget(uint64_t id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  Held& held = found->second;
  abandon(held);
  --held.job->held;
  by_lease_.erase({held.lease.id, held.lease.token});
  held_.erase(found);
  settled_.erase(id);
}

// Stops its tasks and drops what they left; the range itself stays held.
void WorkerMind::abandon(Held& held) {
  tasks_.drop_of(held.id);
  if (held.adopted) unstarted_ -= held.last - held.next;
  held.next = held.last;
  for (auto& [number, view] : held.job->pages) {
    std::erase_if(view.outcomes,
                  [id = held.id](const PendingOutcome& one) { return one.held == id; });
    std::erase_if(view.moves, [id = held.id](const PendingMove& one) { return one.held == id; });
    std::erase_if(view.claims, [id = held.id](const PendingClaim& one) { return one.held == id; });
    view.begins = 0;  // Other ranges that need it ask again.
  }
}

}  // namespace dunlin
