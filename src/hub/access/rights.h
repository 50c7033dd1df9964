// What the holder of a token, or of an access key, may do, and until when. Pure.
#pragma once

#include <string>

#include "base/env.h"
#include "hub/access/scopes.h"
#include "store/request.h"

namespace dunlin::hub {

struct Rights {
  Rights(Scopes allowed = {}) : scopes(allowed) {}
  Rights(Scope allowed) : scopes(allowed) {}

  Scopes scopes;
  std::string owner = {};            // Sees and steers only what is this owner's; empty: all.
  WallTime until = WallTime::max();  // From then on nothing is allowed.
  bool door = false;                 // Came through the AWS-compatible door.
};

// `denied` says which scope is missing and how to get it, or what is somebody else's.
Result<void> allows(const Rights& rights, const Request& request);

// `denied` if the rights have ended. A pull does not wait for longer than they last.
Result<void> limit_to_life(const Rights& rights, WallTime now, Request& request);

}  // namespace dunlin::hub
