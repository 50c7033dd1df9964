// For programs that run as partitions of a job that was submitted with --iterations: they ask for
// work until there is none, and Dunlin gives more to those that are fast.
//
//   namespace dl = dunlin::sdk;
//   while (auto part = dl::next()) {
//     for (uint64_t i = part->first; i < part->first + part->count; ++i) simulate(i);
//   }
//   print_sum();  // Whatever the task is to leave.
//
// Each iteration is given to one partition whose result counts. A program that fails or dies gives
// back all that it had, so it must not leave anything behind but its output. One thread at a time.
#pragma once

#include <cstdint>
#include <dunlin/api.h>
#include <optional>

namespace dunlin::sdk {
inline namespace v1 {

struct Iterations {
  uint64_t first = 0;
  uint64_t count = 0;
};

// What was asked for before is done; gives more. Nothing: the program should print its result and
// end well. Also nothing if it was not started as a partition.
DUNLIN_API std::optional<Iterations> next() noexcept;

// It must go, and has done so many of all the iterations that it was given; the others go
// elsewhere. It should print its result and end well. False if that was not accepted.
DUNLIN_API bool leave(uint64_t done) noexcept;

// Whether this process was started as a partition.
DUNLIN_API bool is_partition() noexcept;

}  // namespace v1
}  // namespace dunlin::sdk
