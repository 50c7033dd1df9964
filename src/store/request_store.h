// A Store over one function: the calls become Requests, the function's Answers become Results.
//
// The base of the stores that are reached by requests: memory, file, hub. Every request is checked
// (validate) before the function sees it, so bad input never leaves the process. Like any Store,
// used by one thread at a time.
#pragma once

#include <memory>

#include "store/request.h"
#include "store/store.h"

namespace dunlin {

class RequestStore : public Store {
 public:
  // `seed` must differ between all stores that ever speak to one engine at the same time: the
  // numbers by which an engine knows repeated commits and uploads come from it.
  explicit RequestStore(uint64_t seed);
  ~RequestStore() override = default;
  RequestStore(const RequestStore&) = delete;
  RequestStore& operator=(const RequestStore&) = delete;

  Queue& queue() override { return *queue_; }
  Table& table() override { return *table_; }
  Blobs& blobs() override { return *blobs_; }
  Result<uint64_t> commit(std::span<const Write> writes) override;
  Result<Info> info();

  // Nobody needs the queue for now: what an engine keeps for it besides its messages may go. It is
  // made again when it is used.
  virtual Result<void> drop_queue(std::string_view /*queue*/) { return {}; }

  // Any request, checked first.
  Answer ask(Request&& request);

  // From any thread: a pull that waits returns soon, where that can be.
  virtual void stop() {}

 protected:
  // Carries out one request. Repeats it while the answer is unknown, as long as that makes sense;
  // then says `unavailable`. REQUIRES: validate(request).ok()
  virtual Answer call(Request&& request) = 0;

 private:
  Random random_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<Blobs> blobs_;
};

// A store whose engine is in this very thread. It never waits: a pull finds what is there now.
// Several may share one core. REQUIRES: `core` and `clock` outlive it.
std::unique_ptr<RequestStore> core_store(Core& core, const Clock& clock, uint64_t seed);

}  // namespace dunlin
