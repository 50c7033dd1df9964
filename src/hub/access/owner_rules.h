// What a token that is bound to an owner reaches: the rows, blobs and queues of that owner's jobs,
// and what all share. Keys of them begin with the id of a job, which ends with its owner's name
// (model/owned.h), so the key alone says whose they are; what a client writes into the row of a
// job, and pushes for it, is read, because workers act on it with rights of their own. Pure.
//
// Some requests are answered otherwise than for others, as their keys do not tell, or as people
// look for jobs by beginnings and names: hub/access/owner_view.h.
#pragma once

#include <string>

#include "base/result.h"
#include "store/request.h"

namespace dunlin::hub {

// `denied` names what is not this owner's. Scopes are another matter: hub/access/rights.h.
Result<void> check_owner(const std::string& owner, const Request& request);

}  // namespace dunlin::hub
