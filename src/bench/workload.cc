#include "bench/workload.h"

#include <cmath>
#include <fmt/format.h>

#include "base/env.h"
#include "base/names.h"
#include "model/jobs/inputs.h"
#include "model/keys.h"

namespace dunlin::bench {

std::vector<double> lengths_ms(const Workload& work) {
  std::vector<double> lengths;
  if (!sleeps(work)) return lengths;
  lengths.reserve(work.tasks);
  Random random(work.seed);
  const double ratio = work.sleep_max_ms / work.sleep_min_ms;
  for (uint64_t i = 0; i < work.tasks; ++i) {
    constexpr uint64_t kParts = uint64_t{1} << 53U;
    const double part = static_cast<double>(random.below(kParts)) / static_cast<double>(kParts);
    const double length = work.sleep_min_ms * std::pow(ratio, part);
    lengths.push_back(std::round(length * 1000) / 1000);
  }
  return lengths;
}

Result<model::Delivery> parse_delivery(std::string_view text) {
  if (text == "once") return model::DELIVERY_ONCE;
  if (text == "at-most-once") return model::DELIVERY_AT_MOST_ONCE;
  if (text == "relaxed") return model::DELIVERY_RELAXED;
  return Error{Code::invalid,
               fmt::format("there is no delivery {}: there are once, at-most-once and relaxed",
                           quote(text))};
}

Result<WorkJob> make_job(const Workload& work, const std::vector<double>& lengths,
                         const std::string& id, uint64_t first, uint64_t count) {
  WorkJob job;
  job.spec.set_name("bench");
  job.spec.set_owner("bench");
  job.spec.set_priority(kPriorityDefault);
  job.spec.set_tasks(count);
  job.spec.set_delivery(TRY(parse_delivery(work.delivery)));
  job.spec.mutable_command()->set_builtin(sleeps(work) ? "sleep" : "noop");
  if (!sleeps(work) && work.payload == 0) return job;
  SourceWriter writer;
  const std::string payload(work.payload, 'x');
  for (uint64_t i = first; i < first + count; ++i) {
    TRY(writer.add(sleeps(work) ? fmt::format("{}", lengths[i]) : payload));
  }
  const std::string name = input_blob_name(id, "0");
  auto [source, blob] = std::move(writer).finish(name, false);
  *job.spec.mutable_inputs()->add_sources() = std::move(source);
  if (!blob.empty()) job.blobs.push_back(blob_of_bytes(name, std::move(blob)));
  return job;
}

}  // namespace dunlin::bench
