// An iterative job of `dunlin bench balance`, submitted and then looked at from outside, from time
// to time. Blocks as the store does; one thread, as the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/balance_part.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin::bench {

inline constexpr Millis kLookEvery = Millis(100);
inline constexpr Millis kSpan = Millis(250);

struct Sample {
  double at_s = 0;
  std::vector<uint64_t> done;  // By partition.
  size_t working = 0;          // Partitions.
};

struct Ran {
  double seconds = 0;
  uint64_t done = 0;
  size_t partitions = 0;
  std::vector<Sample> samples;
};

struct Shape {
  uint64_t iterations = 0;
  uint32_t partitions = 1;
  uint32_t most = 1;
  bool balanced = true;
  double finish_in_s = 0;  // 0: whenever.
};

model::Spec spec_of(const Shape& shape, const PartOptions& part);

class Watched {
 public:
  Watched(Store& store, const model::Spec& spec) : store_(store), spec_(spec) {}

  Result<void> begin();
  Result<bool> look();  // True when it has ended.
  const Ran& ran() const { return ran_; }

 private:
  double seconds_of(int64_t us) const { return static_cast<double>(us - spec_.created_us()) / 1e6; }

  Store& store_;
  const model::Spec spec_;
  std::string id_;
  Ran ran_;
};

}  // namespace dunlin::bench
