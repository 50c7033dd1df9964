// Where everything of TaScaaS is: one table, one queue for each tenant, and blobs under a prefix.
//
//   tenant/NAME            Tenant
//   secret/HASH            the name of the tenant
//   node/ID                the name of the tenant whose infrastructure that is
//   dispatch/NAME          Dispatch, with the infrastructures; without a name: Dunlin's own workers
//   job/ID                 Job
//   active/NAME/ID         a job that has not ended
//   intake/NAME/DIGEST     Intake of a job file, which names its job
//   file/NAME/KEY          File: what users and partitions know by that key
//   signing                SigningKey, of URLs
//   retiring               Retiring
//
// Pure; from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"

namespace dunlin::tascaas {

inline constexpr std::string_view kTable = "tascaas";
inline constexpr std::string_view kSigningRow = "signing";
inline constexpr std::string_view kRetiringRow = "retiring";

std::string tenant_row(std::string_view name);
std::string secret_row(std::string_view hash);
std::string node_row(std::string_view id);
std::string dispatch_row(std::string_view tenant);
std::string job_row(std::string_view id);
std::string active_row(std::string_view tenant, std::string_view id);
std::string intake_row(std::string_view tenant, std::string_view digest);
std::string file_row(std::string_view tenant, std::string_view key);

std::string queue_of(std::string_view tenant);
std::string blob_prefix(std::string_view tenant);

// 36 characters as a UUID has them, from bytes that are random or a hash.
std::string uuid_from(std::string_view bytes);

// Of a file of a tenant: "input/NAME", "output/results/JOB/worker-N/results.dat".
inline constexpr std::string_view kInput = "input/";
inline constexpr std::string_view kRefused = "input/refused/";
inline constexpr std::string_view kResults = "output/results/";
inline constexpr size_t kFileKeyMax = 400;
// No part of it is . or .., which clients leave out of URLs.
bool is_file_key(std::string_view key);
std::string result_key(std::string_view job, std::string_view worker, std::string_view name);

// What users call a file, as a key: bytes that no key may have become %XX.
std::string file_key_of(std::string_view name);
// Whether a new file may be called so: its key is one, and that of no other name. "a%20b" would be
// the same file as "a b".
bool is_file_name(std::string_view name);

// Whose results a file is; nothing if it is another one.
struct ResultPlace {
  std::string job;
  size_t partition = 0;
};
std::optional<ResultPlace> place_of_results(std::string_view key);
// The number of a partition, as clients write it in paths. There is one way to do so: "007" names
// another file than "7".
std::optional<size_t> read_partition_number(std::string_view text);

inline int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }
inline WallTime from_ms(int64_t ms) { return WallTime(Millis(ms)); }

}  // namespace dunlin::tascaas
