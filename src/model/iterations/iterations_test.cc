#include "model/iterations/iterations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/env_posix.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "store/memory.h"

namespace dunlin {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class Deadlines : public testing::Test {
 protected:
  Deadlines() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  // 2027-01-15 08:00 UTC.
  const WallTime now = WallTime(seconds(1'800'000'000));

  WallTime at(std::string_view text) {
    const auto time = parse_deadline(text, now);
    EXPECT_TRUE(time.ok()) << text;
    return time.ok() ? time.value() : WallTime();
  }
};

TEST_F(Deadlines, AreDurationsTimesOfDayOrDates) {
  EXPECT_EQ(at("25m"), now + minutes(25));
  EXPECT_EQ(at("17:00"), now + hours(9));
  EXPECT_EQ(at("07:59"), now + hours(24) - minutes(1)) << "tomorrow";
  EXPECT_EQ(at("08:00"), now + hours(24)) << "that is over";
  EXPECT_EQ(at("2027-01-15 09:30"), now + minutes(90));
  EXPECT_EQ(at("2027-01-16T08:00"), now + hours(24));
}

TEST_F(Deadlines, OthersAreRefused) {
  for (const char* text : {"", "soon", "24:00", "12:60", "5:00", "0s", "-5m", "2027-13-01 00:00",
                           "2027-01-32 00:00", "2027-01-15 07:00", "2027-01-15", "17:00:00"}) {
    EXPECT_FALSE(parse_deadline(text, now).ok()) << text;
  }
}

TEST(Iterations, AreNumbers) {
  EXPECT_EQ(parse_iterations("1000000").value(), 1'000'000U);
  EXPECT_EQ(parse_iterations("1e6").value(), 1'000'000U);
  EXPECT_EQ(parse_iterations("2.5e3").value(), 2'500U);
  EXPECT_EQ(whole_iterations(1e6).value(), 1'000'000U);
  for (const char* text : {"", "-1", "1.5", "1e30", "six", "1e6x", "nan", "inf", "0x10"}) {
    EXPECT_FALSE(parse_iterations(text).ok()) << text;
  }
}

class Partitions : public testing::Test {
 protected:
  Partitions() {
    spec.mutable_command()->set_line("true");
    spec.mutable_inputs()->set_single(true);
    spec.set_tasks(1);
    spec.set_owner("ann");
    spec.set_created_us(to_us(now));
  }

  void set_worker(const std::string& id, uint32_t slots, WallTime seen,
                  const std::string& tag = "") {
    model::WorkerInfo worker;
    worker.set_id(id);
    worker.set_slots(slots);
    worker.set_seen_ms(seen.time_since_epoch().count());
    if (!tag.empty()) worker.add_tags(tag);
    ASSERT_TRUE(store->table().put(kWorkers, {id, worker.SerializeAsString(), kAnyVersion}).ok());
  }

  const WallTime now = WallTime(seconds(1'800'000'000));
  const std::unique_ptr<RequestStore> store = memory_store(posix_clock());
  model::Spec spec;
};

TEST_F(Partitions, AreAsManyAsSlotsCanRunThem) {
  EXPECT_FALSE(set_iterations({.iterations = 100, .partitions = 2}, spec).value());
  EXPECT_TRUE(set_iterations({.iterations = 100}, spec).value());
  EXPECT_EQ(spec.retries(), 3U);
  ASSERT_TRUE(fit_to_slots(store->table(), now, spec).ok());
  EXPECT_EQ(spec.tasks(), 1U) << "there is no worker yet";
  set_worker("a", 8, now, "gpu");
  set_worker("b", 8, now, "gpu");
  set_worker("plain", 100, now);
  set_worker("gone", 100, now - hours(1), "gpu");
  spec.mutable_requires_()->add_tags("gpu");
  spec.mutable_requires_()->set_cpus(2);
  ASSERT_TRUE(fit_to_slots(store->table(), now, spec).ok());
  EXPECT_EQ(spec.tasks(), 8U);
  EXPECT_EQ(spec.iterations().partitions(), 8U);
}

TEST_F(Partitions, AreAddedForADeadline) {
  spec.set_finish_by_ms(1);
  EXPECT_FALSE(set_iterations({.iterations = 100}, spec).value()) << "they are known";
  EXPECT_EQ(spec.tasks(), 100U);
  EXPECT_EQ(spec.iterations().partitions(), 1U);
  ASSERT_TRUE(set_iterations({.iterations = 100, .partitions = 200}, spec).ok());
  EXPECT_EQ(spec.tasks(), 200U);
  ASSERT_TRUE(set_iterations({.iterations = 100, .partitions_max = 7}, spec).ok());
  EXPECT_EQ(spec.tasks(), 7U);
}

TEST_F(Partitions, AreRefusedWithoutIterationsAndBesideOtherInputs) {
  const auto why = [this](const IterationOptions& options) {
    const auto set = set_iterations(options, spec);
    return set.ok() ? std::string() : set.error().what;
  };
  EXPECT_EQ(why({}), "");
  EXPECT_FALSE(spec.has_iterations());
  EXPECT_EQ(why({.partitions = 1}), "partitions is for jobs with iterations");
  EXPECT_EQ(why({.partitions_max = 1}), "partitions_max is for jobs with iterations");
  EXPECT_EQ(why({.span = Millis(1)}), "span is for jobs with iterations");
  spec.mutable_inputs()->set_single(false);
  EXPECT_NE(why({.iterations = 1}).find("no array"), std::string::npos);
}

TEST_F(Partitions, AndDeadlinesMakeNoOtherJobUnderTheSameKey) {
  const auto submit_at = [this](WallTime time, const std::string& id, WallTime finish_by) {
    spec.set_created_us(to_us(time));
    spec.set_finish_by_ms(finish_by.time_since_epoch().count());
    return submit(*store, spec, {.id = id, .key = "deadline"});
  };
  spec.set_finish_by_ms(1);  // There is one.
  ASSERT_TRUE(set_iterations({.iterations = 100}, spec).ok());
  const WallTime by = now + minutes(25);
  const auto again = [&](WallTime time, WallTime finish_by) {
    const auto submitted = submit_at(time, "other", finish_by);
    return submitted.ok() && submitted.value().existed;
  };
  ASSERT_TRUE(submit_at(now, "one", by).ok());
  EXPECT_TRUE(again(now + seconds(5), by + seconds(5))) << "25m after each";
  EXPECT_TRUE(again(now + seconds(5), by)) << "the same time of day";
  EXPECT_FALSE(again(now + seconds(5), by + minutes(5)));

  spec.clear_finish_by_ms();
  set_worker("a", 2, now);
  ASSERT_TRUE(set_iterations({.iterations = 100}, spec).ok());
  ASSERT_TRUE(fit_to_slots(store->table(), now, spec).ok());
  ASSERT_TRUE(submit(*store, spec, {.id = "two", .key = "slots"}).ok());
  set_worker("b", 3, now);
  ASSERT_TRUE(fit_to_slots(store->table(), now, spec).ok());
  EXPECT_EQ(spec.tasks(), 5U);
  const auto second = submit(*store, spec, {.id = "three", .key = "slots"});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second.value().existed);
  spec.mutable_iterations()->set_total(101);
  EXPECT_FALSE(submit(*store, spec, {.id = "three", .key = "slots"}).ok());
}

TEST(Iterations, MoreThanEveryJsonReaderCanCountAreRefused) {
  model::Spec spec;
  spec.mutable_inputs()->set_single(true);
  EXPECT_TRUE(set_iterations({.iterations = 9007199254740991}, spec).ok());
  const auto refused = set_iterations({.iterations = 9007199254740992}, spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("at most 9007199254740991"), std::string::npos);
}

}  // namespace
}  // namespace dunlin
