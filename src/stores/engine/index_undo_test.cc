#include <gtest/gtest.h>

#include "sim/dump.h"
#include "stores/engine/index.h"

namespace dunlin::engine {
namespace {

constexpr Instant kStart = Instant(Millis(1'000'000));

// Changes an index at random, in every way that there is.
class Changer {
 public:
  Changer(Index& index, Random& random) : index_(index), random_(random) {}

  void change() {
    const std::string name = std::to_string(random_.below(12));
    const std::string group = std::to_string(random_.below(3));
    switch (random_.below(10)) {
      case 0:
      case 1:
        return index_.put_row(group, name, {position(), ++stamp_});
      case 2:
        return index_.erase_row(group, name);
      case 3:
        return index_.put_blob(name, {position(), ++stamp_, 5});
      case 4:
        return index_.erase_blob(name);
      case 5:
        if (index_.item(group, name) == nullptr) index_.add(group, name, ++stamp_, position());
        return;
      default:
        if (Item* item = index_.item(group, name)) change(*item);
    }
  }

 private:
  void change(Item& item) {
    switch (random_.below(6)) {
      case 0:
        return index_.move(item, position());
      case 1:
      case 2:
        return index_.lease(item, ++stamp_, hold(), kStart);
      case 3:
        return index_.renew(item, hold(), kStart);
      case 4:
        return index_.give_back(item);
      default:
        return index_.remove(item);
    }
  }
  Position position() {
    return {.segment = static_cast<uint32_t>(1 + random_.below(4)),
            .offset = static_cast<uint32_t>(++stamp_),
            .size = static_cast<uint32_t>(20 + random_.below(100))};
  }
  Millis hold() { return Millis(random_.below(1000)); }

  Index& index_;
  Random& random_;
  uint64_t stamp_ = 0;
};

TEST(IndexUndo, GivesBackWhatWasThere) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Index index;
    Changer changer(index, random);
    for (uint64_t i = random.below(200); i > 0; --i) changer.change();
    index.remember();
    std::string settled = describe(index);
    for (int round = 0; round < 20; ++round) {
      for (uint64_t i = random.below(30); i > 0; --i) changer.change();
      const size_t flying = index.changes();
      const std::string taken = describe(index);
      for (uint64_t i = random.below(10); i > 0; --i) changer.change();  // Staged behind it.
      if (random.percent(50)) {
        index.settle(flying);
        settled = taken;
      }
      if (random.percent(60)) {
        index.undo();
        ASSERT_EQ(describe(index), settled);
        ASSERT_EQ(index.changes(), 0U);
      } else {
        index.settle(index.changes());
        settled = describe(index);
      }
    }
  }
}

}  // namespace
}  // namespace dunlin::engine
