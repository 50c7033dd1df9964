// Sentences about jobs and workers. Pure; from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"
#include "model/progress.h"
#include "model/records.pb.h"

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

}  // namespace dunlin
