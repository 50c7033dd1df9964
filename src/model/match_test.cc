#include "model/match.h"

#include <gtest/gtest.h>

#include <set>

namespace dunlin {
namespace {

const std::set<std::string> kTags{"fast", "ssd"};

Offer offer() {
  return {.slots = 4, .mem_bytes = 1000, .gpus = 1, .has_tag = [](const std::string& tag) {
            return kTags.contains(tag);
          }};
}

TEST(Match, AWorkerThatHasAsMuchAsIsNeededCanRunIt) {
  model::Requirements needs;
  EXPECT_TRUE(lacks_of(needs, offer()).empty());
  needs.add_tags("fast");
  needs.set_cpus(4);
  needs.set_mem_bytes(1000);
  needs.set_gpus(1);
  EXPECT_TRUE(lacks_of(needs, offer()).empty());
}

TEST(Match, SaysEverythingThatIsMissing) {
  model::Requirements needs;
  needs.add_tags("slow");
  needs.add_tags("ssd");
  needs.set_cpus(5);
  needs.set_mem_bytes(1001);
  needs.set_gpus(2);
  const std::vector<Lack> lacks = lacks_of(needs, offer());
  ASSERT_EQ(lacks.size(), 4U);
  EXPECT_EQ(lacks[0].tag, "slow");
  EXPECT_EQ(lacks[1].what, Lack::What::cpus);
  EXPECT_EQ(lacks[1].needed, 5U);
  EXPECT_EQ(lacks[1].has, 4U);
  EXPECT_EQ(lacks[2].what, Lack::What::memory);
  EXPECT_EQ(lacks[3].what, Lack::What::gpus);
}

}  // namespace
}  // namespace dunlin
