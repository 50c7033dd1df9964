#include "model/counts.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "balance/task.h"
#include "model/keys.h"

namespace dunlin {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

Result<void> check_iterations(const model::Spec& spec) {
  const model::Iterations& iterations = spec.iterations();
  if (iterations.total() == 0) return invalid("0 iterations: there is nothing to do");
  if (iterations.total() > balance::kIterationsMax) {
    return invalid(fmt::format("{} iterations are too many: at most {}", iterations.total(),
                               balance::kIterationsMax));
  }
  if (spec.tasks() > kPartitionsMax || iterations.partitions() == 0 ||
      iterations.partitions() > spec.tasks()) {
    return invalid(fmt::format("the job begins with {} of {} partitions: there must be 1 to {}",
                               iterations.partitions(), spec.tasks(), kPartitionsMax));
  }
  return {};
}

}  // namespace

Result<void> check_counts(const model::Spec& spec) {
  if (spec.tasks() == 0) return invalid("the job has no tasks: its list of inputs is empty");
  if (spec.tasks() > kTasksMax) {
    return invalid(fmt::format("the job has {} tasks, at most {} are possible: split it",
                               spec.tasks(), kTasksMax));
  }
  if (spec.has_iterations()) return check_iterations(spec);
  return {};
}

}  // namespace dunlin
