// What partitions say, and what they are told: start, report and finish on the row of their job.
// Each is durable when it returns, and of two that come at the same time one is second. One thread
// at a time, as the store.
#pragma once

#include <optional>
#include <string>

#include "balance/balancer.h"
#include "base/env.h"
#include "model/rows.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

enum class Word { report = 1, start = 2, finish = 3 };  // With the numbers that clients know.

struct Said {
  Word word = Word::start;
  uint64_t partition = 0;
  uint64_t done = 0;  // Not with start.
  Millis elapsed = Millis(0);
};

// What was last seen of jobs, which saves reading a row before each turn. It need not be right: who
// was wrong is told so when it writes. From any thread.
class JobCache {
 public:
  virtual ~JobCache() = default;
  virtual std::optional<Stored<Job>> find(const std::string& id) = 0;
  virtual void keep(const std::string& id, Stored<Job> job) = 0;
};

// `not_found` if there is no such job, `invalid` if it has no such partition, `denied` if it begins
// and was never handed out; what the balancer does not like is in the share's code. A finished
// partition leaves its speeds in balance.rep.
// `cache` may be null.
Result<balance::Share> next_iterations(Store& store, const std::string& job, const Said& said,
                                       WallTime now, JobCache* cache = nullptr);

// The text of balance.rep.
std::string speed_report(const std::string& id, const Job& job, size_t partition);

}  // namespace dunlin::tascaas
