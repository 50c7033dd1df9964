// The jobs of a tenant, for people. One thread at a time, as the store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

struct JobStatus {
  std::string id;
  std::string file;
  std::string state;         // refused, waiting, running, done, failed (a partition crashed
                             // too often), or lost (nobody was heard of for long).
  std::string refused = {};  // Why.
  int64_t taken_ms = 0;
  uint64_t iterations = 0;
  uint64_t done = 0;
  size_t partitions = 0;
  size_t waiting = 0;  // Of them, to be handed out or to start.
  size_t running = 0;
  size_t finished = 0;
  std::optional<uint64_t> eta = {};  // Seconds from the last report, if there was one.
};

// By the time at which their files were taken in.
Result<std::vector<JobStatus>> list_jobs(Table& table, const Tenant& tenant, WallTime now);

}  // namespace dunlin::tascaas
