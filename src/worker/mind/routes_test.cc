#include "worker/mind/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/keys.h"

namespace dunlin::worker {
namespace {

class RoutesTest : public testing::Test, private RoutesOwner {
 protected:
  void add_route(uint32_t priority, const std::string& owner, const std::string& tag = "") {
    model::Route route;
    route.set_priority(priority);
    route.set_owner(owner);
    if (!tag.empty()) route.mutable_requires_()->add_tags(tag);
    rows_.push_back({queue_of(route), route.SerializeAsString(), 1});
    queues[owner] = rows_.back().key;
  }

  void begin() {
    RoutesOwner& owner = *this;
    routes.emplace(options, asks, owner);
    routes->begin();
    work();
  }
  // Answers all but pulls, which it notes.
  void work() {
    for (std::vector<Ask> all = asks.take(); !all.empty(); all = asks.take()) {
      for (Ask& ask : all) {
        if (const auto* pull = std::get_if<Pull>(&ask.request)) {
          pulls.emplace_back(ask.id, *pull);
        } else if (const auto* scan = std::get_if<Scan>(&ask.request)) {
          asks.answered(ask.id, scan->after.empty() ? Rows{rows_} : Rows{});
        }
      }
    }
  }
  void pull() {
    routes->pull();
    work();
    routes->check();
  }
  // The oldest pull brings so many messages.
  void bring(size_t count) {
    const uint64_t id = pulls.at(0).first;
    pulls.erase(pulls.begin());
    asks.answered(id, Deliveries{std::vector<Delivery>(count)});
    work();
    routes->check();
  }
  void pass(Millis time) {
    asks.set_now({asks.now().at + time, 0});
    asks.tick();
    work();
  }
  std::string pulled_from() const { return pulls.at(0).second.queue; }

  RoutesOptions options{.hold = std::chrono::seconds(30)};
  Asks asks = Asks(3);
  std::optional<Routes> routes;
  std::map<std::string, std::string> queues;  // By owner.
  std::vector<std::pair<uint64_t, Pull>> pulls;
  size_t brought = 0;
  bool large = false;
  bool busy = false;
  bool left = false;

 private:
  Offer offer() const override {
    return {.slots = 2, .has_tag = [](const std::string& tag) { return tag == "fast"; }};
  }
  bool is_busy() const override { return busy; }
  bool holds_any() const override { return busy; }
  void idle_too_long() override { left = true; }
  bool pulled(const std::string& /*queue*/, std::vector<Delivery>&& deliveries,
              Instant /*valid_until*/) override {
    brought += deliveries.size();
    return large;
  }

  std::vector<Row> rows_;
};

TEST_F(RoutesTest, APullWaitsAtTheOnlyRoute) {
  add_route(5, "ann");
  begin();
  pull();
  ASSERT_EQ(pulls.size(), 1U);
  EXPECT_GT(pulls[0].second.wait, Millis(0));
  pull();
  EXPECT_EQ(pulls.size(), 1U) << "one is under way";
}

TEST_F(RoutesTest, ARouteThatWantsMoreIsLeftAlone) {
  add_route(5, "ann", "slow");
  add_route(5, "bob", "fast");
  begin();
  EXPECT_EQ(routes->size(), 1U);
  pull();
  EXPECT_EQ(pulled_from(), queues["bob"]);
}

TEST_F(RoutesTest, TheLargerPriorityIsAskedFirst) {
  add_route(1, "ann");
  add_route(9, "bob");
  begin();
  pull();
  EXPECT_EQ(pulled_from(), queues["bob"]);
  EXPECT_EQ(pulls[0].second.wait, Millis(0));
  bring(0);
  pull();
  EXPECT_EQ(pulled_from(), queues["ann"]);
}

TEST_F(RoutesTest, OwnersOfTheSamePriorityTakeTurns) {
  add_route(5, "ann");
  add_route(5, "bob");
  begin();
  std::set<std::string> asked;
  for (int i = 0; i < 2; ++i) {
    pull();
    asked.insert(pulled_from());
    bring(1);
  }
  EXPECT_EQ(asked.size(), 2U);
}

TEST_F(RoutesTest, PullsWaitAtAllRoutesWhenNoneHasAnything) {
  add_route(5, "ann");
  add_route(5, "bob");
  begin();
  for (int i = 0; i < 2; ++i) {
    pull();
    bring(0);
  }
  pull();
  ASSERT_EQ(pulls.size(), 2U);
  for (const auto& [id, one] : pulls) EXPECT_GT(one.wait, Millis(0));
}

TEST_F(RoutesTest, ManySmallMessagesArePulledAtOnceAndOneLargeAlone) {
  add_route(5, "ann");
  begin();
  for (const uint64_t expected : {1U, 2U, 4U}) {
    pull();
    EXPECT_EQ(pulls[0].second.max, expected);
    bring(expected);
  }
  large = true;
  pull();
  bring(1);
  pull();
  EXPECT_EQ(pulls[0].second.max, 1U);
  EXPECT_EQ(brought, 8U);
}

TEST_F(RoutesTest, WhoIsAloneAsksAgainAfterSomethingWasPushed) {
  options.only = "work.mine";
  begin();
  pull();
  EXPECT_EQ(pulls[0].second.wait, Millis(0));
  bring(0);
  pull();
  EXPECT_TRUE(pulls.empty()) << "nothing is there";
  routes->something_pushed();
  pull();
  EXPECT_EQ(pulls.size(), 1U);
}

TEST_F(RoutesTest, RoutesThatComeLaterAreFound) {
  begin();
  EXPECT_EQ(routes->size(), 0U);
  add_route(5, "ann");
  pass(std::chrono::seconds(1));
  EXPECT_EQ(routes->size(), 1U);
}

TEST_F(RoutesTest, ItSaysWhenThereWasNoWorkForLong) {
  options.idle_exit = std::chrono::seconds(3);
  begin();
  busy = true;
  for (int i = 0; i < 20; ++i) pass(Millis(500));
  EXPECT_FALSE(left);
  busy = false;
  for (int i = 0; i < 20; ++i) pass(Millis(500));
  EXPECT_TRUE(left);
}

TEST_F(RoutesTest, EndedPullsAreThoseThatWait) {
  add_route(5, "ann");
  begin();
  pull();
  routes->end_pulls();
  const std::vector<Ask> all = asks.take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(std::get<Renew>(all[0].request).leases.empty());
}

}  // namespace
}  // namespace dunlin::worker
