#include "model/keys.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/digest.h"
#include "model/sound.h"

namespace dunlin {
namespace {

// So that nobody finds other requirements with the same queue. Stores of earlier releases have
// queues by a weaker hash, which are found by their rows as all are.
constexpr size_t kQueueHashBytes = 16;

}  // namespace

uint64_t page_size(uint64_t page, uint64_t tasks) {
  const uint64_t first = page * kPageTasks;
  return first >= tasks ? 0 : std::min(kPageTasks, tasks - first);
}

std::string page_key(std::string_view job, uint64_t page) {
  return fmt::format("{}/{:08x}", job, page);
}

std::string output_key(std::string_view job, uint64_t task, uint32_t attempt,
                       std::string_view which) {
  return fmt::format("{}/{:09}/{}/{}", job, task, attempt, which);
}

std::string blob_name(std::string_view job, uint64_t task, uint32_t attempt,
                      std::string_view which) {
  return fmt::format("jobs/{}/{:09}/{}/{}", job, task, attempt, which);
}

std::string expiry_key(int64_t at_us, std::string_view job) {
  return fmt::format("{:011}/{}", std::max<int64_t>(0, at_us) / kExpiryStepUs, job);
}

std::string range_id(const model::Range& range) {
  return fmt::format("{}.{}-{}.{}.{}{}", range.job(), range.first(), range.last(), range.attempt(),
                     range.round(), range.alone() ? "a" : "");
}

std::string queue_of(const model::Route& route) {
  std::string text = route.owner();
  for (const std::string& tag : route.requires_().tags()) text += '\n' + tag;
  const model::Requirements& needs = route.requires_();
  text += fmt::format("\n\n{} {} {}", needs.cpus(), needs.mem_bytes(), needs.gpus());
  return fmt::format("{}{}.{}", kWorkQueues, route.priority(),
                     hex(sha256(text).substr(0, kQueueHashBytes)));
}

model::Route route_of(const model::Spec& spec) {
  model::Route route;
  *route.mutable_requires_() = spec.requires_();
  route.set_priority(spec.priority());
  route.set_owner(spec.owner());
  return route;
}

Put put_route(const model::Job& job) {
  return {std::string(kRoutes), job.queue(), route_of(job.spec()).SerializeAsString(), kAnyVersion};
}

void embed_spec(model::Range& range, const model::Spec& spec) {
  if (spec.ByteSizeLong() <= kSpecInRangeMax) *range.mutable_spec() = spec;
}

}  // namespace dunlin
