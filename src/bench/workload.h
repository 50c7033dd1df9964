// What the tasks of a benchmark are: nothing, or sleep. Pure; from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/jobs/submit.h"
#include "model/records.pb.h"

namespace dunlin::bench {

struct Workload {
  uint64_t tasks = 16'000;
  uint64_t batch = 0;    // Tasks in a job; 0: all that a client has.
  uint64_t payload = 0;  // Bytes that travel with each task as its input.
  std::string delivery = "once";
  double sleep_min_ms = 0;  // Both zero: no-ops.
  double sleep_max_ms = 0;
  uint64_t seed = 1;  // Of the lengths between them.
};

inline bool sleeps(const Workload& work) { return work.sleep_max_ms > 0; }

// How long each of the tasks sleeps: log-uniform between the two, to the microsecond. The same for
// the same workload.
std::vector<double> lengths_ms(const Workload& work);

// "once", "at-most-once", "relaxed".
Result<model::Delivery> parse_delivery(std::string_view text);

struct WorkJob {
  model::Spec spec;
  std::vector<NamedBlob> blobs;
};
// The job `id` of `count` of the tasks, from `first` on. Its values are an input list if there are
// any; no-ops without a payload are a plain array.
Result<WorkJob> make_job(const Workload& work, const std::vector<double>& lengths,
                         const std::string& id, uint64_t first, uint64_t count);

}  // namespace dunlin::bench
