#include "worker/mind/sharing.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace dunlin::worker {
namespace {

constexpr Millis kShareEvery = Millis(250);
constexpr int kSharePaces = 4;
constexpr int kCountPart = 10;             // Of the time, at most, is spent on counting a queue.
constexpr size_t kHeldMax = 4096;          // Ranges.
constexpr uint64_t kShareMax = 1U << 15U;  // Tasks of one range.

}  // namespace

uint64_t Sharing::target() const {
  return parts_.health.is_well() ? parts_.times.target(parts_.room.slots()) : 1;
}

bool Sharing::wants_more() const {
  const HeldRanges& ranges = parts_.ranges;
  if (ranges.size() >= kHeldMax) return false;
  const uint64_t have = parts_.tasks.size() + ranges.unstarted() - ranges.stuck_tasks();
  return have < parts_.room.slots() || have <= target() / 2;
}

uint64_t Sharing::free_slots() const {
  const uint64_t slots = parts_.room.slots();
  const uint64_t busy = parts_.tasks.size() + parts_.room.claimed() + parts_.ranges.unstarted();
  return slots - std::min(busy, slots);
}

void Sharing::keep_share(Held& held) {
  if (held.isolate || held.is_splitting() || parts_.course.is_leaving() || held.size() == 1) {
    return;
  }
  const uint64_t share = share_of(held);
  if (held.size() > share + share / 2) parts_.ranges.shorten(held, held.first() + share);
}

// Guided self-scheduling: no more than half of an even share, so that the last ranges are small.
uint64_t Sharing::share_of(const Held& held) const {
  const uint64_t size = held.size();
  if (parts_.options.is_alone()) return std::min(size, kShareMax);
  const uint64_t have = parts_.tasks.size() + parts_.ranges.unstarted() - size;
  const uint64_t want = target() > have ? target() - have : 0;
  const uint64_t holders = parts_.routes.holders(held.queue);
  const uint64_t guided = holders == 1 ? size : size / (2 * holders);
  const uint64_t slots = parts_.room.slots();
  // The rest of the range would go from worker to worker, one round trip for each piece.
  const uint64_t least = TaskTimes::least_part(parts_.room.slots(), target());
  return std::min({std::max(want, slots), std::max(guided, least), kShareMax});
}

// What others could do now is given back: half of the range with most unstarted tasks. A store that
// counts slowly is asked less often, so that counting never takes much of its time.
void Sharing::keep_asking() {
  const auto again = [this](Millis delay) { parts_.asks.later(delay, [this] { keep_asking(); }); };
  if (parts_.ranges.empty() || parts_.course.is_leaving()) return again(kShareEvery);
  measure_running();
  const uint64_t least = parts_.times.is_slow() ? 1 : 2;  // One is worth another worker's while.
  const Held* most = largest(least);
  const uint64_t id = most != nullptr ? most->id : 0;
  const std::string queue =
      most != nullptr ? most->queue : parts_.ranges.all().begin()->second.queue;
  parts_.asks.ask(AskDepth{queue},
                  [this, queue, least, again, asked = parts_.asks.now().at, id](Answer&& answer) {
                    again(std::max({kShareEvery, parts_.options.pace * kSharePaces,
                                    kCountPart * (parts_.asks.now().at - asked)}));
                    const auto* depth = std::get_if<Depth>(&answer);
                    if (depth == nullptr) return;
                    parts_.routes.set_depth(queue, *depth);
                    depth_read(id, least, *depth);
                  });
}

// The range with most unstarted tasks, if it has so many.
const Held* Sharing::largest(uint64_t least) const {
  const Held* most = nullptr;
  for (const auto& [id, held] : parts_.ranges.all()) {
    if (held.is_splitting() || held.isolate || held.unstarted() < least) continue;
    if (parts_.ranges.is_stuck(held)) continue;  // With others as well.
    if (most == nullptr || held.unstarted() > most->unstarted()) most = &held;
  }
  return most;
}

void Sharing::depth_read(uint64_t id, uint64_t least, const Depth& depth) {
  HeldRanges& ranges = parts_.ranges;
  Held* held = ranges.find(id);
  if (held == nullptr || depth.ready > 0 || held->is_splitting()) return;
  if (parts_.course.is_leaving() || parts_.options.is_alone()) return;
  const double mean_us = parts_.times.mean_us();
  const auto tasks = static_cast<double>(ranges.unstarted() - ranges.stuck_tasks());
  const double time_us = tasks * std::max(mean_us, 1.0);
  if (mean_us == 0 || time_us / parts_.room.slots() < parts_.times.hungry_us()) return;
  if (held->last() - held->next() < least || ranges.in_doubt(*held)) return;
  ranges.shorten(*held, held->next() + (held->last() - held->next()) / 2);
}

// If no slot has taken anything for a while, tasks take that long at least.
void Sharing::measure_running() {
  if (parts_.tasks.size() < parts_.room.slots()) return;
  const std::chrono::duration<double, std::micro> since =
      parts_.asks.now().at - parts_.tasks.last_start();
  parts_.times.take_at_least(since.count());
}

void Sharing::give_back_unstarted() {
  HeldRanges& ranges = parts_.ranges;
  for (auto& [id, held] : ranges.all()) {
    if (held.is_splitting() || held.is_finishing() || !held.is_range || held.is_over()) continue;
    held.isolate = false;
    if (held.phase() == Phase::resting) ranges.make_ready(held);
    if (held.next() < held.last() && !ranges.in_doubt(held)) {
      ranges.shorten(held, held.next());
    }
  }
}

}  // namespace dunlin::worker
