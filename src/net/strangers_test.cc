#include "net/strangers.h"

#include <gtest/gtest.h>

namespace dunlin::net {
namespace {

TEST(Strangers, TheOldestIsTheOneThatIsThereForLongest) {
  Strangers strangers;
  EXPECT_FALSE(strangers.oldest());
  strangers.add(7, "a");
  strangers.add(3, "b");
  strangers.add(5, "a");
  EXPECT_EQ(strangers.oldest(), 7U);
  EXPECT_EQ(strangers.oldest_of("a"), 7U);
  EXPECT_EQ(strangers.oldest_of("b"), 3U);
  EXPECT_FALSE(strangers.oldest_of("c"));
  EXPECT_EQ(strangers.count_of("a"), 2U);

  strangers.remove(7);
  strangers.remove(7);
  EXPECT_EQ(strangers.oldest(), 3U);
  EXPECT_EQ(strangers.oldest_of("a"), 5U);
  strangers.add(7, "a");
  EXPECT_EQ(strangers.oldest_of("a"), 5U) << "one that comes back is the youngest";
  strangers.remove(3);
  EXPECT_EQ(strangers.count_of("b"), 0U);
  EXPECT_EQ(strangers.count(), 2U);
}

TEST(Strangers, AnOriginIsAMachineWhateverItsPort) {
  const auto origin = [](const char* text) { return origin_of(resolve(text).value().front()); };
  EXPECT_EQ(origin("127.0.0.1:1"), origin("127.0.0.1:2"));
  EXPECT_NE(origin("127.0.0.1:1"), origin("127.0.0.2:1"));
  EXPECT_EQ(origin("[::ffff:127.0.0.1]:1"), origin("127.0.0.1:2"));
  EXPECT_EQ(origin("[2001:db8::1]:1"), origin("[2001:db8::ffff]:1")) << "one network of one user";
  EXPECT_NE(origin("[2001:db8::1]:1"), origin("[2001:db8:1::1]:1"));
}

}  // namespace
}  // namespace dunlin::net
