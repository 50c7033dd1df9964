// The jobs of a tenant, for people. One thread at a time, as the store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

struct JobStatus {
  std::string id;  // If its file was refused, nobody knows it by that.
  std::string file;
  std::string state;         // refused, waiting, running, done, failed (a partition was
                             // lost too often), or lost (nobody was heard of for long, and nothing
                             // waits).
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

struct PartitionStatus {
  size_t partition = 0;
  // waiting (to be handed out), handed (out, and not begun), running, finished (without its
  // results), done, spare (nothing was left for it), failed (it was lost too often).
  std::string_view state;
  uint64_t assigned = 0;
  uint64_t done = 0;
  double speed = 0;         // Iterations a second, as last measured.
  std::string holder = {};  // The infrastructure that has it, or had it last.
  uint32_t turn = 0;        // How often it was queued.
  int64_t heard_ms = 0;     // 0: never.
  bool results = false;     // They are there.
};
struct JobDetail {
  JobStatus job;
  std::vector<PartitionStatus> partitions;
};

struct JobPage {
  std::vector<JobStatus> jobs;
  std::string next;  // Goes on behind it; empty at the end.
};
// At most `max`, in no order that means anything.
Result<JobPage> page_jobs(Table& table, const Tenant& tenant, const std::string& after, size_t max,
                          WallTime now);

// By the time at which their files were taken in.
Result<std::vector<JobStatus>> list_jobs(Table& table, const Tenant& tenant, WallTime now);

// `not_found` also for the job of another tenant.
Result<JobDetail> read_job_detail(Table& table, const Tenant& tenant, const std::string& id,
                                  WallTime now);

// As the command line and the REST service show them.
nlohmann::ordered_json job_json(const JobStatus& job);
nlohmann::ordered_json partition_json(const PartitionStatus& partition);

}  // namespace dunlin::tascaas
