// What a hub keeps and answers so that an owner finds the jobs that are the owner's, and no others,
// without a look at those of others: a table of them (kOwnedJobs), one row for each job whose id
// has an owner's name. The hub writes it itself, in the commit that writes or erases the job. One
// thread, that of the hub's mind.
#pragma once

#include <string>

#include "base/env.h"
#include "store/request.h"

namespace dunlin::hub {

// Adds the rows of that table to a commit that needs them; says whether it did.
bool note_owned(Commit& commit);

// Carries out a request of whoever is bound to the owner. REQUIRES: it is allowed
// (hub/access/rights.h).
Answer handle_as(const std::string& owner, Core& core, Request&& request, Instant now);

// The same for a list of blobs of whoever is no admin: private ones are left out.
Answer list_public(Core& core, BlobList&& list, Instant now);

}  // namespace dunlin::hub
