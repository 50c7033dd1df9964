// Whether a worker can run tasks with these requirements: the one rule, by which workers choose
// their routes and `explain` says why nobody runs a job. Pure; from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/records.pb.h"

namespace dunlin {

// What a worker has.
struct Offer {
  uint32_t slots = 0;
  uint64_t mem_bytes = 0;
  uint32_t gpus = 0;
  std::function<bool(const std::string& tag)> has_tag = {};
};

// One thing that it has not.
struct Lack {
  enum class What { tag, cpus, memory, gpus };
  What what = What::tag;
  std::string tag = {};
  uint64_t needed = 0;
  uint64_t has = 0;
};

// In the order of Lack::What, tags in theirs; none if it can.
std::vector<Lack> lacks_of(const model::Requirements& needs, const Offer& offer);

}  // namespace dunlin
