#include "balance/deadline.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dunlin::balance {
namespace {

constexpr int kReports = 20;
constexpr Millis kReportLeast = std::chrono::seconds(20);
constexpr size_t kMeasuresToGrow = 2;  // The last partition must have more of them.
constexpr size_t kRecent = 8;          // Measures.
constexpr double kDoubt = 0.02;        // Speeds are never known better than that.
constexpr uint64_t kSlotsMax = 1'000'000;

double seconds(Millis time) { return std::chrono::duration<double>(time).count(); }

// How far apart the recent speeds of a partition are: their variance.
double variance(const Partition& partition) {
  std::vector<double> speeds;
  const auto& measures = partition.measures;
  for (size_t i = measures.size() - std::min(kRecent, measures.size()); i < measures.size(); ++i) {
    if (measures[i].speed > 0) speeds.push_back(measures[i].speed);
  }
  if (speeds.size() < 2) return 0;
  double mean = 0;
  for (const double speed : speeds) mean += speed / static_cast<double>(speeds.size());
  double sum = 0;
  for (const double speed : speeds) sum += (speed - mean) * (speed - mean);
  return sum / static_cast<double>(speeds.size() - 1);
}

// That something with this mean and deviation is not below `bound`.
double chance_above(double bound, double mean, double deviation) {
  return 0.5 * std::erfc((bound - mean) / (deviation * std::sqrt(2.0)));
}

}  // namespace

Millis report_time(Millis deadline) {
  if (deadline <= Millis(0)) return kNoDeadline;
  return std::max(std::chrono::floor<std::chrono::seconds>(deadline / kReports),
                  std::chrono::floor<std::chrono::seconds>(kReportLeast));
}

size_t partitions_lacking(size_t have, uint64_t eta, Millis left, size_t most) {
  const size_t room = most - std::min(most, have);
  const double time = seconds(std::max(left, Millis(0)));
  if (static_cast<double>(eta) <= time) return 0;
  if (time <= 0) return room;
  const double lacking = (static_cast<double>(eta) / time - 1) * static_cast<double>(have);
  if (lacking >= static_cast<double>(room)) return room;
  return std::min(static_cast<size_t>(lacking) + 1, room);
}

bool may_grow(const Task& task, size_t reporter) {
  return reporter + 1 == task.partitions.size() &&
         task.partitions[reporter].measures.size() > kMeasuresToGrow;
}

Forecast forecast(const Task& task, Millis now, Millis left) {
  double speed = 0;
  double spread = 0;
  size_t working = 0;
  double remaining = static_cast<double>(task.iterations);
  for (const Partition& partition : task.partitions) {
    remaining -= static_cast<double>(partition.done);
    if (!task.is_active(partition, now) || partition.speed() <= 0) continue;
    remaining -= partition.speed() * seconds(now - partition.last);
    speed += partition.speed();
    spread += variance(partition);
    ++working;
  }
  Forecast found;
  if (remaining <= 0) {
    found.eta = 0;
    if (left <= Millis(0)) found.chance = 0;  // All is done, and too late.
    return found;
  }
  if (working == 0) {  // Nothing is known as long as nobody has said anything.
    found.chance = left > Millis(0) ? 1 : 0;
    return found;
  }
  found.eta = static_cast<uint64_t>(std::min(remaining / speed, double{kEtaNever}));
  const double time = seconds(left);
  if (time <= 0) {
    found.chance = 0;
    return found;
  }
  const double needed = remaining / time;
  found.chance = chance_above(needed, speed, std::max(std::sqrt(spread), kDoubt * speed));
  if (needed > speed) {
    const double each = speed / static_cast<double>(working);
    const double more = std::ceil((needed - speed) / each);
    found.more_slots = more >= double{kSlotsMax} ? kSlotsMax : static_cast<uint64_t>(more);
  }
  return found;
}

}  // namespace dunlin::balance
