// Job files: what a tenant drops into input/ as NAME.config becomes a job, once, by whichever
// service sees it first; one with errors is refused and moved aside. One thread at a time, as the
// store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

inline constexpr size_t kJobFileMax = 64 << 10;

// What a job file asks for. `invalid` says what is wrong with it.
struct JobFile {
  uint64_t iterations = 0;
  Millis time = Millis(0);  // 0: nothing is balanced.
  std::string input_file = {};
  uint32_t partitions = 0;  // 0: it does not say.
};
Result<JobFile> parse_job_file(std::string_view text);

// By what a job file is known: the same for the same file, whoever looks at it, unless it was
// marked to be another job.
std::string digest_of(std::string_view tenant, std::string_view name, std::string_view text,
                      std::string_view again);
// Nobody can compute or guess it: who knows the id of a job may speak for its partitions. It can
// stand in a path as it is.
std::string new_job_id(std::string_view name);
// The job of a file that was not refused.
std::string job_of(std::string_view digest, const Intake& intake);
Job make_job(const Tenant& tenant, std::string_view name, const JobFile& file, WallTime now);

struct Taken {
  std::string job = {};  // Its id.
  std::string file = {};
  std::string refused = {};  // Why.
  bool existed = false;      // The same file had become this job before.
};
bool is_job_file(std::string_view key);
// All that are there and new.
Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now);

// Puts a job file, and says what has become of it, whoever took it in. `again`: the same file as
// before is to be another job. REQUIRES: is_job_file(key).
Result<Taken> put_job_file(Store& store, const Tenant& tenant, const std::string& key,
                           const std::string& text, bool again, WallTime now);

}  // namespace dunlin::tascaas
