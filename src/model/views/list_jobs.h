// The newest jobs. Ids begin with the time, so they are found without reading all. One thread at a
// time, as the store.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/progress.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// Whether there is a state of that name.
bool is_job_state(std::string_view text);

struct Listed {
  model::Job job = {};  // Without what its tasks are and get: command, inputs, environment.
  Standing standing = {};
};
using Wanted = std::function<bool(const Listed&)>;
// Newest first, at most `max`; only jobs whose id is less than `before`, if that is not empty.
Result<std::vector<Listed>> newest_jobs(Table& table, WallTime now, size_t max,
                                        const Wanted& wanted, std::string before = "");

// Those with the ids after `after`, oldest first, at most `max`.
Result<std::vector<Listed>> jobs_after(Table& table, std::string after, size_t max);

}  // namespace dunlin
