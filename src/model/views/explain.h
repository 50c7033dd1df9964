// Sentences about jobs: what became of one, and why it is not further than it is. One thread at a
// time, as the store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/progress.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// "is done: 100 tasks ok", "was cancelled: 3 tasks ok, 1 failed". REQUIRES: it has ended.
std::string ending_words(const Standing& standing);

// Why an open job is not further than it is, and what to do about it: sentences, one a line.
struct Scene {
  Progress progress = {};
  std::vector<model::WorkerInfo> workers = {};
  uint64_t ready = 0;   // Messages in its queue, of all jobs with the same route.
  std::string at = {};  // The store's URL.
};
std::string explain_open(const Scene& scene, WallTime now);

// Of any job. `at` is the store's URL, for the commands that it advises.
struct Explained {
  Progress progress = {};
  std::string text = {};
};
Result<Explained> explain_job(Store& store, const std::string& job, const std::string& at,
                              WallTime now);
nlohmann::ordered_json explained_json(const Explained& explained);

}  // namespace dunlin
