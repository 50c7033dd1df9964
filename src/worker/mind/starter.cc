#include "worker/mind/starter.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace dunlin::worker {
namespace {

constexpr uint64_t kIsolateMax = 32;  // Tasks of a lost worker that travel alone.

bool is_covered(uint64_t page, uint64_t first, uint64_t last, uint64_t tasks) {
  const uint64_t begin = page * kPageTasks;
  return first <= begin && begin + page_size(page, tasks) <= last;
}

}  // namespace

// How many tasks that take so long may be with the slots.
uint64_t Starter::most_of(double pace) const {
  if (parts_.options.enough) return parts_.room.slots();
  return TaskTimes::startable(parts_.room.slots(), pace);
}

void Starter::start() {
  const Course& course = parts_.course;
  if (course.is_leaving() || parts_.health.resting() || course.no_more) return;
  if (parts_.ranges.unstarted() == 0) return;
  const auto taken = [this] { return parts_.tasks.size() + parts_.room.claimed(); };
  const bool is_well = parts_.health.is_well();
  if (!is_well && taken() > 0) return;  // One, to see if it works.
  for (Held* held : startable()) {
    if (held->isolate) {
      isolate(*held);
      continue;
    }
    const double pace = parts_.times.of(*held->job);
    if (taken() >= most_of(pace)) continue;
    parts_.tasks.set_grab(TaskTimes::grab(pace));
    start_from(*held, is_well ? most_of(pace) - taken() : 1);
    if (!is_well) return;
  }
}

// In the order in which they are to start.
std::vector<Held*> Starter::startable() {
  const uint64_t most = most_of(std::max(parts_.times.mean_us(), 1.0));
  std::vector<Held*> order;
  for (auto& [id, held] : parts_.ranges.all()) {
    if (held.unstarted() > 0 && held.job->ready && !held.is_over() &&
        (!held.old || held.job->end_read) && !parts_.ranges.is_stuck(held) &&
        !parts_.ranges.in_doubt(held)) {
      order.push_back(&held);
    }
    if (order.size() > most) break;
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const Held* held) { return held->job->spec().priority(); });
  return order;
}

void Starter::start_from(Held& held, size_t max) {
  for (; max > 0 && held.next() < held.last(); --max) {
    if (!start_next(held)) return;
  }
}

bool Starter::start_next(Held& held) {
  JobView& job = *held.job;
  const uint64_t task = held.next();
  const uint64_t page = page_of(task);
  const bool careful = must_claim(held);
  if (!page_is_there(held, page)) return false;
  const PageView* view = held.seen || careful ? &job.pages[page] : nullptr;
  if (deal_with(held, view)) return true;
  if (!careful && !parts_.pages.has_begun(held, page)) return false;
  std::vector<std::string> values;
  if (!fits(held) || !parts_.inputs.stdin_is_there(job) ||
      !parts_.inputs.are_there(job, task, values)) {
    return false;
  }
  parts_.ranges.take_next(held);
  if (careful) {
    parts_.pages.claim(held, task, std::move(values));
  } else {
    launch(held, task, std::move(values));
  }
  return true;
}

// Whether the next task needs no start: because of what its page says, or because none is possible.
bool Starter::deal_with(Held& held, const PageView* view) {
  const JobView& job = *held.job;
  const uint64_t task = held.next();
  const uint32_t offset = offset_of(task);
  const bool only_once = job.spec().delivery() == model::DELIVERY_AT_MOST_ONCE;
  if (view != nullptr &&
      (view->has_outcome(offset) || (view->is_moved(offset) && !held.range.alone()))) {
    parts_.ranges.skip_next(held);
    PageReader::owe_bit(held, page_of(task));
    parts_.ranges.look_at(held.id);
    return true;
  }
  if (only_once && view->claims_of(offset) > 0) {
    lose(held, "its worker was lost, and it may be started only once");
    return true;
  }
  const bool careful = must_claim(held);
  if (careful) held.lost = losses(held, *view, offset);
  if (careful && !only_once && held.lost >= losses_max(job.spec()) && !parts_.options.is_alone()) {
    lose(held, fmt::format("{} workers in a row were lost while they ran it", held.lost));
    return true;
  }
  if (job.trouble.empty()) return false;
  parts_.ranges.take_next(held);
  parts_.pages.settle(held, task, refused_outcome(held, job.trouble));
  return true;
}

void Starter::lose(Held& held, std::string why) {
  const uint64_t task = held.next();
  parts_.ranges.take_next(held);
  parts_.pages.settle(held, task, lost_outcome(held, std::move(why)));
}

bool Starter::fits(const Held& held) const {
  return parts_.room.fits(held.job->spec().requires_(), is_doubtful(held));
}

// One more loss would end it.
bool Starter::is_doubtful(const Held& held) const {
  return held.lost + 1 >= losses_max(held.job->spec()) && !parts_.options.is_alone();
}

// A start that must be on record before it happens: because it may happen only once, because what
// the last attempt had of its job's iterations goes to others with it, or because a worker may have
// been lost with this task and the next loss must be known to be its doing.
bool Starter::must_claim(const Held& held) {
  return held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE ||
         held.job->spec().has_iterations() ||
         (held.size() == 1 && (held.range.lost() > 0 || held.lost > 0));
}

// Workers that were lost with this task: starts on record, and at most one that was not. A message
// that was pulled and never arrived is nobody's fault.
uint32_t Starter::losses(const Held& held, const PageView& view, uint32_t offset) {
  const uint32_t claims = view.claims_of(offset);
  if (held.job->spec().has_iterations()) return claims;  // All are on record.
  const uint32_t unclaimed = held.range.lost() + (held.again > claims ? held.again - claims : 0);
  return claims + std::min(unclaimed, 1U);
}

// A page that nobody else can have written need not be read; one that is shared is read while its
// tasks run, one that was seen before they start.
bool Starter::page_is_there(Held& held, uint64_t page) {
  JobView& job = *held.job;
  const bool needed = held.seen || must_claim(held);
  if (!needed && is_covered(page, held.first(), held.last(), job.spec().tasks())) return true;
  PageView& view = job.pages[page];
  if (!view.known) parts_.reader.read(job, page);
  return !needed || view.known;
}

void Starter::launch(Held& held, uint64_t task, std::vector<std::string>&& values) {
  const JobView& job = *held.job;
  parts_.tasks.start(
      {.held = held.id,
       .task = task,
       .room = parts_.room.take(job.spec().requires_(), is_doubtful(held)),
       .since = parts_.asks.now().at},
      {.job = job.text, .task = task, .attempt = held.attempt, .values = std::move(values)});
}

void Starter::claimed(PendingClaim&& claim) {
  claim.place.release();
  Held* held = parts_.ranges.find(claim.held);
  if (held == nullptr) return;
  // It has not started: nothing is lost.
  if (parts_.course.stopping || parts_.ranges.in_doubt(*held)) {
    parts_.pages.move_task(*held, claim.task, held->attempt + 1, held->range.lost(), 0);
    return;
  }
  launch(*held, claim.task, std::move(claim.values));
}

// A worker was lost while it held these tasks. The first of them may be the reason: each gets a
// message of its own, so that it can only take itself down. The others go on as one range.
void Starter::isolate(Held& held) {
  JobView& job = *held.job;
  if (held.is_splitting()) return;
  uint64_t alone = 0;
  uint64_t task = held.next();
  for (; task < held.last() && alone < kIsolateMax; ++task) {
    const uint64_t page = page_of(task);
    if (!page_is_there(held, page)) return;
    if (!job.pages[page].is_settled(offset_of(task))) ++alone;
  }
  const uint64_t last = task;
  for (task = held.next(); task < last; ++task) {
    if (job.pages[page_of(task)].is_settled(offset_of(task))) {
      parts_.ranges.skip_next(held);
      PageReader::owe_bit(held, page_of(task));
      continue;
    }
    parts_.ranges.take_next(held);
    parts_.pages.move_task(held, task, held.attempt, 1, 0);
  }
  held.isolate = false;
  parts_.ranges.look_at(held.id);
  if (held.next() < held.last()) parts_.ranges.shorten(held, held.next());
}

}  // namespace dunlin::worker
