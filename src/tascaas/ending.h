// How a job ends: its partitions have finished, and the results of all of them are there. And how
// results get there. One thread at a time, as the store.
#pragma once

#include <optional>
#include <string>

#include "base/env.h"
#include "model/rows.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

// Whether all is done and all results are there. A partition that did nothing leaves none.
Result<bool> may_end(Table& table, const std::string& id, const Job& job);

// Writes a job that has changed, with messages for the partitions that have come to wait, and with
// its end if that is now. The new version; nothing if somebody else was quicker.
Result<std::optional<uint64_t>> write_job(Store& store, const std::string& id,
                                          const Stored<Job>& before, Job& job, WallTime now);

// Whose results an infrastructure may upload: its tenant's. One that was forgotten may still bring
// those of a partition that it has. `not_found`: it is unknown.
Result<Tenant> uploader(Table& table, const std::string& infrastructure, const std::string& job,
                        const std::string& partition, WallTime now);

// Results of a partition are there among a tenant's files: its job may have ended with them, if
// that is its tenant.
Result<void> results_came(Store& store, const std::string& tenant, const std::string& job,
                          size_t partition, WallTime now);

// Whether results that are there say at once that a partition has ended: whoever has it will say no
// more, or it waits for nobody else. One that is balanced may have more to say.
bool ends_by_results(const Job& job, const Job::Partition& partition);
// Results say that a partition has ended, even if it never did, nor began: it has done its share,
// the least that anybody who had it was told of.
void finish_by_results(Job::Partition& partition);

}  // namespace dunlin::tascaas
