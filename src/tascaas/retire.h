// How old jobs of tenants leave the store, by its rule (docs/decisions/020): those that have ended,
// and those that nobody has heard of for the tenant's timeout, which count as failed ones.
//
// A job goes in one commit: its row, that of its job file, and that it was active. From then on it
// is unknown, and its file, put again, becomes a new one. Files in output/results/ whose job does
// not exist go when they are as old: so whoever dies in between leaves nothing that is not found,
// and what was uploaded late goes, too. What users have put into input/ stays.
//
// Blocks; one thread at a time, as the store.
#pragma once

#include "base/env.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin::tascaas {

inline constexpr size_t kRetireRows = 2000;  // Job files, and files, of one look.

// One look, which goes on where the last one stopped, whoever that was.
Result<void> retire(Store& store, const model::Retention& rule, WallTime now);

}  // namespace dunlin::tascaas
