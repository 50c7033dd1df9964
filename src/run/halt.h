// When to stop a run early: --halt soon|now,fail|success|done=N, where N may be a percentage. Pure;
// from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace dunlin::run {

struct Halt {
  enum class When : uint8_t { never, soon, now };  // soon: what runs may end; now: it is killed.
  enum class What : uint8_t { fail, success, done };

  When when = When::never;
  What what = What::fail;
  uint64_t count = 0;
  bool percent = false;  // Of all tasks.
};

// Also the short forms of GNU parallel: 0, 1, 2, -1, -2 and 5%.
Result<Halt> parse_halt(std::string_view text);

// What is to be done after so many tasks ended well and badly, of `total`.
Halt::When should_halt(const Halt& halt, uint64_t ok, uint64_t failed, uint64_t total);

}  // namespace dunlin::run
