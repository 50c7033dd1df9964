// A store with many requests under way, for a loop that must not block: post them, then gather
// answers as they come. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "store/request_store.h"
#include "stores/hub/hub_store.h"
#include "wire/codec.h"

namespace dunlin::stores {

class AsyncStore {
 public:
  virtual ~AsyncStore() = default;

  // The answer comes under `id`. REQUIRES: no request with this id is under way.
  virtual void post(uint64_t id, Request&& request) = 0;

  // The answers that are there. If there are none it waits for the first, until `until` or until
  // the descriptor `also` can be read.
  virtual std::vector<NumberedAnswer> gather(Instant until, int also) = 0;
};

// Over one connection to a hub.
std::unique_ptr<AsyncStore> async_hub_store(std::unique_ptr<HubStore> store);

// Over stores that block, each in a thread of its own: every pull that waits in one, the rest in
// another, in their order.
using Connect = std::function<Result<std::unique_ptr<RequestStore>>()>;
std::unique_ptr<AsyncStore> async_lane_store(Connect connect);

}  // namespace dunlin::stores
