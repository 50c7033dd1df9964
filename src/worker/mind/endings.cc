#include "worker/mind/endings.h"

#include <algorithm>
#include <utility>

namespace dunlin::worker {
namespace {

constexpr uint32_t kBackoffDoublings = 16;
// A task that cannot be started here, by no fault of its own, goes to others, so often, after a
// pause that doubles.
constexpr uint32_t kRefusedMax = 100;
constexpr Millis kRefusedPause = Millis(100);
constexpr Millis kRefusedPauseMax = std::chrono::seconds(30);
constexpr uint64_t kUrgentFailures = 10;

Millis refused_pause(uint32_t before) {
  return std::min(kRefusedPause * (1U << std::min(before, kBackoffDoublings)), kRefusedPauseMax);
}

// Outputs that are too large for the page go into rows of their own.
PendingOutcome pending_of(model::Outcome&& outcome) {
  PendingOutcome pending;
  pending.outcome = std::move(outcome);
  model::Outcome& kept = pending.outcome;
  if (!kept.value().empty()) kept.mutable_out()->set_allocated_bytes(kept.release_value());
  for (const auto& [output, row] :
       {std::pair(kept.mutable_out(), &pending.out), {kept.mutable_err(), &pending.err}}) {
    if (output->where() != model::Output::HERE || output->bytes().size() <= kOutputHereMax) {
      continue;
    }
    output->set_where(model::Output::ROW);
    output->set_size(output->bytes().size());
    row->swap(*output->mutable_bytes());
  }
  if (kept.out().ByteSizeLong() == 0) kept.clear_out();
  if (kept.err().ByteSizeLong() == 0) kept.clear_err();
  return pending;
}

// Whether the task's own failure is worth another try.
bool is_tried_again(const Held& held, const model::Outcome& outcome) {
  const model::Spec& spec = held.job->spec();
  if (outcome.blame() == model::BLAME_STORE || spec.delivery() == model::DELIVERY_AT_MOST_ONCE) {
    return false;
  }
  if (held.range.failures() >= spec.retries()) return false;
  if (spec.retry_on().empty()) return true;
  const auto exit = static_cast<uint32_t>(outcome.exit());
  return outcome.state() == model::STATE_FAILED &&
         std::ranges::find(spec.retry_on(), exit) != spec.retry_on().end();
}

}  // namespace

Millis pause_of(const Held& held) {
  const model::Range& range = held.range;
  if (range.not_before_ms() == 0) return Millis(0);
  if (!held.job->ready) return std::chrono::hours(1);  // Not known yet; it is asked again soon.
  const Millis failed =
      range.failures() == 0 ? Millis(0) : backoff_of(held.job->spec(), range.failures() - 1);
  const Millis refused = range.refused() == 0 ? Millis(0) : refused_pause(range.refused() - 1);
  return std::max(failed, refused);
}

void Endings::ended(std::vector<Ending>&& endings) {
  for (Ending& ending : endings) {
    const Tasks::Running* running = parts_.tasks.find(ending.ticket);
    if (running == nullptr) continue;  // Dropped meanwhile.
    const Held& held = parts_.ranges.at(running->held);
    auto done = parts_.tasks.ended(std::move(ending), [&](const char* which) {
      return blob_name(held.job->id, running->task, held.attempt, which);
    });
    if (done) end(std::move(*done));
  }
}

bool Endings::uploaded(uint64_t ticket, const Result<void>& result) {
  auto done = parts_.tasks.uploaded(ticket, result);
  if (done) end(std::move(*done));
  return done.has_value();
}

void Endings::end(Tasks::Ended&& ended) {
  const uint64_t task = ended.running.task;
  Held& held = parts_.ranges.at(ended.running.held);
  ended.running.room = {};
  model::Outcome& outcome = ended.ending.outcome;
  parts_.times.measure(*held.job, outcome.ran_us());
  outcome.set_attempt(held.attempt);
  outcome.set_received_us(held.received_us);
  outcome.set_waited_us(static_cast<uint32_t>(
      std::clamp<int64_t>(ended.ending.started_us - held.received_us, 0, UINT32_MAX)));
  const bool could_not_start =
      outcome.state() == model::STATE_REFUSED && outcome.blame() == model::BLAME_WORKER;
  if (!could_not_start) parts_.health.ran();
  if (could_not_start && elsewhere(held, task, outcome)) return;
  if (outcome.state() != model::STATE_OK && again(held, task, outcome)) return;
  // Who waits for failures wants to know of the first ones at once.
  if (outcome.state() != model::STATE_OK && parts_.pages.failed() < kUrgentFailures) {
    parts_.pages.hurry();
  }
  parts_.pages.settle(held, task, pending_of(std::move(outcome)));
}

// Whether there is another try, which then is on its way.
bool Endings::again(Held& held, uint64_t task, const model::Outcome& outcome) {
  if (!is_tried_again(held, outcome)) return false;
  const Millis backoff = backoff_of(held.job->spec(), held.range.failures());
  const int64_t now_ms = parts_.asks.now().wall_us / 1000;
  const int64_t when = backoff == Millis(0) ? 0 : now_ms + backoff.count();
  PendingMove& move = parts_.pages.move_task(held, task, held.attempt + 1, 0, when);
  move.range.set_failures(held.range.failures() + 1);
  return true;
}

// What could not be started here is no outcome: others may have it. Its claim goes with the move,
// so this holds for tasks that may start only once, too.
bool Endings::elsewhere(Held& held, uint64_t task, const model::Outcome& outcome) {
  parts_.health.could_not_start(outcome.why());
  const uint32_t before = held.range.refused();
  if (before + 1 >= kRefusedMax) return false;
  const int64_t when = parts_.asks.now().wall_us / 1000 + refused_pause(before).count();
  PendingMove& move = parts_.pages.move_task(held, task, held.attempt + 1, held.range.lost(), when);
  move.range.set_refused(before + 1);
  return true;
}

// What has already ended is published before the range is finished.
void Endings::give_back_all() {
  for (const auto& [id, tasks] : parts_.tasks.drop_all()) give_back(parts_.ranges.at(id), tasks);
}

void Endings::give_back(Held& held, const std::vector<uint64_t>& tasks) {
  const bool only_once = held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE;
  for (const uint64_t task : tasks) {
    if (only_once) {
      parts_.pages.settle(held, task, lost_outcome(held, "its worker was stopped"));
    } else {
      parts_.pages.move_task(held, task, held.attempt + 1, held.range.lost(), 0);
    }
  }
}

}  // namespace dunlin::worker
