#include "tascaas/keys.h"

#include <gtest/gtest.h>

namespace dunlin::tascaas {
namespace {

TEST(Keys, OneNameIsOneNumber) {
  EXPECT_EQ(read_partition_number("0"), 0U);
  EXPECT_EQ(read_partition_number("120"), 120U);
  for (const char* other : {"", "00", "007", "+1", "-1", " 1", "1 ", "1.0", "4294967296"}) {
    EXPECT_FALSE(read_partition_number(other)) << other;
  }
  EXPECT_EQ(place_of_results(result_key("job_x", "7", "results.dat")).value().partition, 7U);
  EXPECT_FALSE(place_of_results(result_key("job_x", "007", "results.dat")));
}

}  // namespace
}  // namespace dunlin::tascaas
