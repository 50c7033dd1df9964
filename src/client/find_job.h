// From what a person calls a job to the job, and the newest jobs. Ids begin with the time, so the
// newest are found without reading all. One thread at a time, as the store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/progress.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// An id, the beginning of one, the --name of a job (the newest with it), or `last`. `not_found` if
// there is none, `invalid` if several ids begin like this.
Result<model::Job> find_job(Table& table, const std::string& text, WallTime now);

struct Listed {
  model::Job job = {};  // Without its inputs.
  Standing standing = {};
};
using Wanted = std::function<bool(const Listed&)>;
// Newest first, at most `max`.
Result<std::vector<Listed>> newest_jobs(Table& table, WallTime now, size_t max,
                                        const Wanted& wanted);

}  // namespace dunlin
