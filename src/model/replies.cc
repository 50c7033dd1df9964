#include "model/replies.h"

#include <utility>

#include "base/log.h"

namespace dunlin {
namespace {

constexpr size_t kRepliesPerPull = 256;
constexpr Millis kHold = Millis(60'000);  // Nobody else reads them.

}  // namespace

Pull ReplyQueue::pull(Millis wait) const {
  return {.queue = name_, .max = kRepliesPerPull, .hold = kHold, .wait = wait};
}

std::vector<model::Reply> ReplyQueue::read(const std::vector<Delivery>& deliveries) {
  std::vector<model::Reply> replies;
  replies.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) {
    read_.push_back(delivery.lease);
    if (replies.emplace_back().ParseFromString(delivery.body)) continue;
    replies.pop_back();
    log::warning("cannot read a reply queue={} message={}", name_, delivery.lease.id);
  }
  return replies;
}

std::optional<Finish> ReplyQueue::finish() {
  if (read_.empty()) return std::nullopt;
  return Finish{name_, std::exchange(read_, {})};
}

}  // namespace dunlin
