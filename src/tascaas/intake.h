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

// The job that a file becomes: the same for the same file, whoever looks at it.
std::string job_id(std::string_view tenant, std::string_view name, std::string_view text);
Job make_job(const Tenant& tenant, std::string_view name, const JobFile& file, WallTime now);

struct Taken {
  std::string job = {};  // Its id.
  std::string file = {};
  std::string refused = {};  // Why.
};
// All that are there and new.
Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now);

}  // namespace dunlin::tascaas
