#include "run/output/arranger.h"

#include <utility>

namespace dunlin::run {
namespace {

constexpr size_t kOverhead = 256;  // Of an outcome in memory, beside its bytes.

size_t size_of(const Ended& one) { return one.outcome.ByteSizeLong() + kOverhead; }

}  // namespace

void Arranger::forget(uint64_t task) {
  auto after = forgotten_.upper_bound(task);
  if (after != forgotten_.begin()) {
    auto before = std::prev(after);
    if (before->second > task) return;
    if (before->second == task) {
      ++before->second;
      if (after != forgotten_.end() && after->first == before->second) {
        before->second = after->second;
        forgotten_.erase(after);
      }
      return;
    }
  }
  uint64_t last = task + 1;
  if (after != forgotten_.end() && after->first == last) {
    last = after->second;
    forgotten_.erase(after);
  }
  forgotten_.emplace(task, last);
}

void Arranger::add(Ended one) {
  if (!keep_order_) {
    arrived_.push_back(std::move(one));
    return;
  }
  if (one.task < next_ || waiting_.contains(one.task)) return;
  const size_t size = size_of(one);
  if (one.task != next_ && bytes_ + size > bytes_max_) {
    forget(one.task);
    return;
  }
  bytes_ += size;
  const uint64_t task = one.task;
  waiting_.emplace(task, std::move(one));
}

std::optional<Ended> Arranger::take_forgotten() {
  const auto run = forgotten_.begin();
  const uint64_t task = run->first;
  const uint64_t last = run->second;
  forgotten_.erase(run);
  if (task + 1 < last) forgotten_.emplace(task + 1, last);
  next_ = task + 1;
  return Ended{.task = task, .forgotten = true};
}

std::optional<Ended> Arranger::next() {
  if (!keep_order_) {
    if (!forgotten_.empty()) return take_forgotten();
    if (arrived_.empty()) return std::nullopt;
    std::optional<Ended> one = std::move(arrived_.front());
    arrived_.pop_front();
    return one;
  }
  const uint64_t kept = waiting_.empty() ? UINT64_MAX : waiting_.begin()->first;
  const uint64_t gone = forgotten_.empty() ? UINT64_MAX : forgotten_.begin()->first;
  const uint64_t first = std::min(kept, gone);
  while (was_shown_ && next_ < first && first != UINT64_MAX && was_shown_(next_)) ++next_;
  if (first == UINT64_MAX || (first != next_ && !ended_)) return std::nullopt;
  if (first == gone && gone != kept) return take_forgotten();
  std::optional<Ended> one = std::move(waiting_.begin()->second);
  if (gone == kept) take_forgotten();
  bytes_ -= size_of(*one);
  waiting_.erase(waiting_.begin());
  next_ = one->task + 1;
  return one;
}

}  // namespace dunlin::run
