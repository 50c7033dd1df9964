// What people do to jobs that are there: cancel them, and run again what failed. Repeating either
// is safe. Calls block as the store does; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/jobs/progress.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// Ends the job; workers see it and stop. If it had ended before, returns how, and changes nothing.
Result<std::optional<Standing>> cancel_job(Store& store, const std::string& job, int64_t now_us);

struct Retried {
  uint64_t tasks = 0;
  uint32_t round = 0;  // Of the job, from now on.
};
// Takes the outcomes that are not ok out of the pages of a job that is done, and queues their tasks
// again: one commit for each page, each of which leaves the job as if only that page's tasks were
// missing. `conflict` if the job has not ended, `invalid` if it was cancelled or skipped.
Result<Retried> retry_failed(Store& store, const std::string& job, int64_t now_us);

}  // namespace dunlin
