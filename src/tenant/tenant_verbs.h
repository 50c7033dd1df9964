// The verbs of `dunlin tenant` and `dunlin infra`: each is what the command line said, and run()
// does it, prints what was found and returns the exit code, or the error that ended it. Calls block
// as the store does. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/store_target.h"

namespace dunlin::tenant {

struct TenantAddVerb {
  std::string name = {};
  uint32_t init_partitions = 1;
  uint32_t max_partitions = 10;
  std::string scale_time = "300s";
  std::string timeout = "24h";
  std::string start_time = "20m";
};
struct TenantListVerb {};
struct TenantRemoveVerb {
  std::string name = {};
};
struct TenantPutVerb {
  std::string name = {};
  std::vector<std::string> files = {};
  bool again = false;  // The same job file as before is to be another job.
};
struct TenantGetVerb {
  std::string name = {};
  std::string key = {};
  std::string file = {};  // Empty: standard output.
};
struct TenantFilesVerb {
  std::string name = {};
};
struct TenantJobsVerb {
  std::string name = {};
  std::string job = {};  // Its partitions; empty: all jobs.
};
struct InfraVerb {};

Result<int> run(const TenantAddVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantListVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantRemoveVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantPutVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantGetVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantFilesVerb& verb, const cli::StoreTarget& target);
Result<int> run(const TenantJobsVerb& verb, const cli::StoreTarget& target);
Result<int> run(const InfraVerb& verb, const cli::StoreTarget& target);

}  // namespace dunlin::tenant
