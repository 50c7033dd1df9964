// The numbers of an array, as people write them: "0-999", "1-10:3", "7", "0,5,7-9". Pure; from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dunlin::sources {

struct NumberList {
  int64_t first = 0;
  int64_t step = 1;
  uint64_t count = 0;
  std::vector<int64_t> listed;  // If not empty: these instead, `count` of them.
};

// `invalid` if it is none, or makes more tasks than a job can have.
Result<NumberList> parse_array(std::string_view text);

// For options, before anything else is looked at: what is wrong with it; empty if nothing is.
std::string why_no_array(const std::string& text);

}  // namespace dunlin::sources
