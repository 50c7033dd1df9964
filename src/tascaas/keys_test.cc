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

TEST(Keys, PartsOfAKeyAreNames) {
  for (const char* key : {"input/a", "input/a/b..c", "...", "input/.a"}) {
    EXPECT_TRUE(is_file_key(key)) << key;
  }
  for (const char* other : {"", "/a", "a/", "a//b", "..", "a/../b", "./a", "input/.", "a b"}) {
    EXPECT_FALSE(is_file_key(other)) << other;
  }
}

TEST(Keys, OneNewNameIsOneKey) {
  EXPECT_EQ(file_key_of("a b.in"), file_key_of("a%20b.in"));
  for (const char* name : {"a b.in", "100%.in", "50%2", "%", "%%", "%zz", "caf\xc3\xa9"}) {
    EXPECT_TRUE(is_file_name(name)) << name;
  }
  for (const char* other : {"a%20b.in", "%ffx", "x%aF", "%%20", ".."}) {
    EXPECT_FALSE(is_file_name(other)) << other;
  }
}

}  // namespace
}  // namespace dunlin::tascaas
