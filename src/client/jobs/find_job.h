// From what a person calls a job to the job. One thread at a time, as the store.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin::client {

// An id, the beginning of one, the --name of a job (the newest with it), or `last`. `not_found` if
// there is none, `invalid` if several ids begin like this.
Result<model::Job> find_job(Table& table, const std::string& text, WallTime now);

// All of them, or an error.
Result<std::vector<model::Job>> find_jobs(Table& table, const std::vector<std::string>& texts,
                                          WallTime now);

}  // namespace dunlin::client
