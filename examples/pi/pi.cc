// A partition of a Monte Carlo job: throws a dart for each iteration that it is given, and prints
// how many it threw and how many hit the quarter of a circle.
//
//   dunlin submit --iterations 1e9 --finish-by 5m --wait -- ./pi | ./sum
#include <cstdint>
#include <dunlin/iterations.h>
#include <iostream>

namespace {

// The dart of an iteration depends on its number alone (SplitMix64), so that the sum is the same
// however the iterations are shared.
double uniform(uint64_t number) {
  uint64_t bits = number * 0x9E3779B97F4A7C15U + 0x9E3779B97F4A7C15U;
  bits = (bits ^ bits >> 30U) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ bits >> 27U) * 0x94D049BB133111EBU;
  return static_cast<double>((bits ^ bits >> 31U) >> 11U) * 0x1.0p-53;
}

bool hits(uint64_t dart) {
  const double x = uniform(2 * dart);
  const double y = uniform(2 * dart + 1);
  return x * x + y * y < 1;
}

}  // namespace

int main() {
  if (!dunlin::sdk::is_partition()) {
    std::cerr << "start it with: dunlin submit --iterations 1e9 --wait -- ./pi\n";
    return 2;
  }
  uint64_t darts = 0;
  uint64_t inside = 0;
  while (const auto part = dunlin::sdk::next()) {
    for (uint64_t dart = part->first; dart < part->first + part->count; ++dart) {
      inside += hits(dart) ? 1 : 0;
    }
    darts += part->count;
  }
  std::cout << darts << ' ' << inside << '\n';
}
