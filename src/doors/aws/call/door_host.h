// What the door asks of its hub: the rights of a key, and the requests that are carried out under
// them. One thread, the door's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "store/request.h"

namespace dunlin::aws {

// The hub, as the door sees it.
class DoorHost {
 public:
  virtual ~DoorHost() = default;

  // The secret that belongs to an access key. `denied` if it is none of this hub or has expired.
  virtual Result<std::string> secret_of(std::string_view key_id, WallTime now) = 0;

  // A session with the rights of a key that secret_of() knew; an empty one: all rights.
  virtual uint64_t open(std::string_view key_id, WallTime now) = 0;
  virtual void close(uint64_t session) = 0;  // What it asked is forgotten.

  // `denied` names the one scope that all of these need. REQUIRES: the session is open.
  virtual Result<void> may(uint64_t session, const std::vector<Request>& requests) const = 0;

  // Has as much to answer in this turn as one should hold: what it would ask is better kept.
  virtual bool busy(uint64_t session) const = 0;

  // Door::answered() comes with the same id, in a later turn.
  virtual void ask(uint64_t session, uint64_t id, Request&& request, Instant now) = 0;
};

}  // namespace dunlin::aws
