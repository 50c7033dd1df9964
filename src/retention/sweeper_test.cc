#include "retention/sweeper.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <functional>
#include <utility>

#include "base/names.h"
#include "model/iterations/ledgers.h"
#include "model/sound.h"
#include "testing/retention.h"

namespace dunlin::retention {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr uint64_t kHourMs = 3600 * 1000;

// Jobs here are submitted and end at now_us(), with ids of that time.
class Sweeping : public TestRetention {
 protected:
  static SweeperOptions sole() { return {.sole = true, .not_before = WallTime()}; }

  std::string made(const std::string& end, const How& how = {}, uint64_t tasks = 1) {
    const std::string id = job_id_prefix(wall_of(now_us())) + end;
    ended_job(id, tasks, how);
    return id;
  }

  void set_rule(uint64_t keep_ms, uint64_t keep_failed_ms) {
    model::Retention rule;
    rule.set_keep_ms(keep_ms);
    rule.set_keep_failed_ms(keep_failed_ms);
    ASSERT_TRUE(write_rule(store->table(), rule, false).ok());
  }

  // So long after the start of the world, by a clock that is right.
  static SweepNow at(Millis time) { return {Instant(time), wall_of(now_us()) + time}; }

  // A look each minute from `from` to `until`.
  void sweep(Sweeper& sweeper, Millis from, Millis until) {
    for (Millis time = from; time <= until; time += minutes(1)) {
      Millis next(0);
      while (next == Millis(0)) {
        const auto swept = sweeper.sweep(*store, at(time));
        ASSERT_TRUE(swept.ok()) << swept.error().what;
        next = swept.value();
      }
    }
  }

  bool there(const std::string& id) { return read_job(store->table(), id).ok(); }
  size_t rows(std::string_view table) {
    return store->table().scan(table, "", "", kBatchMax).value().size();
  }
};

TEST_F(Sweeping, RemovesJobsWhenTheirTimeHasCome) {
  set_rule(2 * kHourMs, 5 * kHourMs);
  const std::string well = made("aaaa");
  const std::string failed = made("bbbb", {.failed = 1});
  const std::string cancelled = made("cccc", {.kind = model::End::CANCELLED});
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(2) - minutes(1));
  EXPECT_TRUE(there(well));
  sweep(sweeper, hours(2), hours(2) + minutes(1));
  EXPECT_FALSE(there(well));
  EXPECT_TRUE(there(failed) && there(cancelled));
  sweep(sweeper, hours(2) + minutes(2), hours(5) + minutes(1));
  EXPECT_EQ(left_of(well) + left_of(failed) + left_of(cancelled), "");
  EXPECT_EQ(sweeper.removed(), 3);
  EXPECT_EQ(rows(kExpiry), 0);
}

TEST_F(Sweeping, KeepsAJobAsLongAsItSays) {
  set_rule(2 * kHourMs, 2 * kHourMs);
  const std::string shorter = made("aaaa", {.keep_ms = kHourMs});
  const std::string longer = made("bbbb", {.keep_ms = 9 * kHourMs});
  const std::string ever = made("cccc", {.keep_ms = kKeepForever});
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(1) - minutes(1));
  EXPECT_TRUE(there(shorter));
  sweep(sweeper, hours(1), hours(1) + minutes(1));
  EXPECT_FALSE(there(shorter));
  sweep(sweeper, hours(1) + minutes(2), hours(9) - minutes(1));
  EXPECT_TRUE(there(longer));
  sweep(sweeper, hours(9), hours(30));
  EXPECT_EQ(left_of(longer), "");
  EXPECT_TRUE(there(ever));
  EXPECT_EQ(rows(kExpiry), 0);
}

TEST_F(Sweeping, RemovesByTheJobsOwnWordWhereNoRuleIs) {
  const std::string one = made("aaaa", {.keep_ms = kHourMs});
  const std::string other = made("bbbb");
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(3));
  EXPECT_EQ(left_of(one), "");
  EXPECT_TRUE(there(other));
}

TEST_F(Sweeping, LooksAgainAtJobsThatGoOn) {
  set_rule(kHourMs, kHourMs);
  const std::string id = job_id_prefix(wall_of(now_us())) + "aaaa";
  submit_job(id, 1);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(7));
  EXPECT_TRUE(there(id));
  run_tasks(id, 1, 0, 1);
  model::End end;
  end.set_ended_us(now_us() + int64_t{7} * 3600 * 1'000'000);
  put(kEnds, id, end.SerializeAsString());
  sweep(sweeper, hours(7), hours(8) - minutes(1));
  EXPECT_TRUE(there(id));
  sweep(sweeper, hours(8), hours(9) + minutes(30));
  EXPECT_EQ(left_of(id), "");
}

TEST_F(Sweeping, ReadsAJobOnceAndNotAgainBeforeItsTime) {
  set_rule(2 * kHourMs, 50 * kHourMs);
  for (int i = 0; i < 5000; ++i) {
    const std::string id = job_id_prefix(wall_of(now_us())) + fmt::format("{:04}", i);
    model::Job job;
    job.set_id(id);
    put(kJobs, id, job.SerializeAsString());
    end_job(id, model::End::CANCELLED, 0, 0);
  }
  Counting counting(*store);
  Sweeper sweeper(sole());
  size_t looks = 0;
  for (Millis time(0); time < hours(20); time += minutes(1)) {
    ASSERT_TRUE(sweeper.sweep(counting, at(time)).ok());
    if (time < hours(2)) ++looks;  // Each sees that the first is not due.
  }
  EXPECT_LE(counting.rows_read, 5001 + looks);
  EXPECT_EQ(rows(kExpiry), 5000);
}

TEST_F(Sweeping, AJobThatIsFiledTwiceGoesOnce) {
  const std::string ended = made("aaaa", {.keep_ms = kHourMs});
  const std::string open = job_id_prefix(wall_of(now_us())) + "bbbb";
  model::Spec spec = spec_of(1);
  spec.set_keep_ms(kHourMs);
  submit_job(open, spec);
  for (const std::string& id : {ended, open}) {
    put(kExpiry, expiry_key(now_us() + int64_t{3600} * 1'000'000 + 1'000'000, id), "");
    put(kExpiry, expiry_key(now_us() + int64_t{3599} * 1'000'000, id), "");
  }
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(2));
  EXPECT_EQ(left_of(ended), "");
  EXPECT_TRUE(there(open));
  EXPECT_EQ(rows(kExpiry), 1);
  EXPECT_EQ(history_of_day().jobs(), 1);
}

TEST_F(Sweeping, AJobWhoseClientWasFarBehindIsKeptFromWhenItIsSeen) {
  set_rule(24 * kHourMs, 24 * kHourMs);
  Sweeper sweeper(sole());
  made("aaaa");
  sweep(sweeper, Millis(0), hours(49));  // The ids of the first day were looked at.
  // Submitted and ended by machines whose clocks are two days behind.
  const std::string late = made("bbbb");
  sweep(sweeper, hours(49), hours(73));
  EXPECT_TRUE(there(late));
  sweep(sweeper, hours(73), hours(98));
  EXPECT_FALSE(there(late));
  sweep(sweeper, hours(98), hours(122));
  EXPECT_EQ(left_of(late), "");
}

TEST_F(Sweeping, ANewRuleHoldsForJobsThatWereLookedAt) {
  set_rule(2 * kHourMs, 50 * kHourMs);
  const std::string id = made("aaaa", {.failed = 1});
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(4));
  EXPECT_TRUE(there(id));
  set_rule(2 * kHourMs, 3 * kHourMs);
  sweep(sweeper, hours(4), hours(4) + minutes(1));
  EXPECT_FALSE(there(id));
  // Its row in `expiry` goes when its time comes.
  sweep(sweeper, hours(50), hours(50) + minutes(1));
  EXPECT_EQ(left_of(id), "");
}

TEST_F(Sweeping, AClockThatJumpsRemovesNothingBeforeItsTime) {
  set_rule(48 * kHourMs, 48 * kHourMs);
  const std::string id = made("aaaa");
  Sweeper sweeper(sole());
  ASSERT_TRUE(sweeper.sweep(*store, at(Millis(0))).ok());
  for (Millis time = minutes(1); time < hours(3); time += minutes(1)) {
    SweepNow now = at(time);
    now.wall += hours(24 * 365);
    ASSERT_TRUE(sweeper.sweep(*store, now).ok());
  }
  EXPECT_TRUE(there(id));
  // A new process, whose clock is wrong as well.
  Sweeper next(sole());
  for (Millis time = hours(3); time < hours(6); time += minutes(1)) {
    SweepNow now = at(time);
    now.wall += hours(24 * 365);
    ASSERT_TRUE(next.sweep(*store, now).ok());
  }
  EXPECT_TRUE(there(id));
  sweep(next, hours(6), hours(49));
  EXPECT_FALSE(there(id));
}

TEST_F(Sweeping, AClockThatWasAheadAtFirstIsForgottenWhenItIsRight) {
  set_rule(24 * kHourMs, 24 * kHourMs);
  SweepNow ahead = at(Millis(0));
  ahead.wall += hours(24 * 730);
  ASSERT_TRUE(Sweeper(sole()).sweep(*store, ahead).ok());
  const std::string id = made("aaaa");
  Sweeper sweeper(sole());
  sweep(sweeper, minutes(1), hours(23));
  EXPECT_TRUE(there(id));
  sweep(sweeper, hours(23), hours(49));
  EXPECT_EQ(left_of(id), "");
}

TEST_F(Sweeping, AJobThatRunsForLongerThanItIsKeptGoesSoonAfterItsEnd) {
  set_rule(5000, 5000);
  const std::string id = job_id_prefix(wall_of(now_us())) + "aaaa";
  submit_job(id, 1);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), minutes(5));
  EXPECT_TRUE(there(id));
  end_job(id, model::End::DONE, 1, 0);
  sweep(sweeper, minutes(5), minutes(8));
  EXPECT_FALSE(there(id));
}

TEST_F(Sweeping, AClockThatWasNotSetRemovesNothing) {
  set_rule(kHourMs, kHourMs);
  const std::string id = made("aaaa");
  Sweeper sweeper({.sole = true});
  sweep(sweeper, Millis(0), hours(9));
  EXPECT_TRUE(there(id));
  EXPECT_EQ(store->table().get(kRetention, std::vector<std::string>{"sweep"}).value()[0].version,
            0);
}

TEST_F(Sweeping, OneSweepsUntilItFallsSilent) {
  set_rule(kHourMs, kHourMs);
  SweeperOptions options = sole();
  options.sole = false;
  Sweeper one(options);
  Sweeper other(options);
  Counting counting(*store);
  for (Millis time(0); time < hours(1); time += minutes(1)) {
    ASSERT_TRUE(one.sweep(*store, at(time)).ok());
    ASSERT_TRUE(other.sweep(counting, at(time)).ok());
  }
  EXPECT_EQ(counting.commits, 0);
  const std::string id = made("aaaa");
  for (Millis time = hours(1); time < hours(3); time += minutes(1)) {
    ASSERT_TRUE(other.sweep(counting, at(time)).ok());
  }
  EXPECT_GT(counting.commits, 0);
  EXPECT_EQ(left_of(id), "");
  // The first one comes back, and sees that another one sweeps.
  Counting late(*store);
  ASSERT_TRUE(one.sweep(late, at(hours(3))).ok());
  EXPECT_EQ(late.commits, 0);
}

TEST_F(Sweeping, OneThatLeavesIsFollowedAtOnce) {
  set_rule(kHourMs, kHourMs);
  SweeperOptions options = sole();
  options.sole = false;
  Sweeper one(options);
  ASSERT_TRUE(one.sweep(*store, at(Millis(0))).ok());
  ASSERT_TRUE(one.leave(*store).ok());
  Counting counting(*store);
  Sweeper other(options);
  ASSERT_TRUE(other.sweep(counting, at(minutes(1))).ok());
  EXPECT_GT(counting.commits, 0);
  // The first sweeper left; that does not let a third one take over from the second.
  Counting third(*store);
  ASSERT_TRUE(Sweeper(options).sweep(third, at(minutes(2))).ok());
  EXPECT_EQ(third.commits, 0);
}

// Whoever ended it has a clock that is hours behind.
TEST_F(Sweeping, OnlyAnEndThatTheSweeperHasKnownForLongNeedsNoStone) {
  set_rule(kHourMs, kHourMs);
  const std::string known = made("aaaa");
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(1) + minutes(1));
  EXPECT_EQ(left_of(known), "");
  const std::string late = job_id_prefix(wall_of(now_us()) + hours(1)) + "bbbb";
  ended_job(late, 1, {});
  sweep(sweeper, hours(2) + minutes(1), hours(2) + minutes(2));
  EXPECT_FALSE(there(late));
  EXPECT_NE(left_of(late), "");
  sweep(sweeper, hours(2) + minutes(3), hours(2) + minutes(14));
  EXPECT_EQ(left_of(late), "");
}

// Versions of rows say nothing there: each machine makes them by its own clock.
TEST_F(Sweeping, WhereThereIsNoHubEachJobHasAStone) {
  set_rule(kHourMs, kHourMs);
  const std::string id = made("aaaa");
  Sweeper sweeper({.not_before = WallTime()});
  sweep(sweeper, Millis(0), hours(1) + minutes(1));
  EXPECT_FALSE(there(id));
  EXPECT_NE(left_of(id), "");
  sweep(sweeper, hours(1) + minutes(2), hours(1) + minutes(14));
  EXPECT_EQ(left_of(id), "");
}

// Small jobs, which go at once; or larger ones as well. The other one has heard of the first before
// it takes the time for its own.
TEST_F(Sweeping, TwoAtOnceCountEachJobOnceAndLeaveNothing) {
  for (const bool large : {false, true}) {
    bool whole = false;
    for (int request = 1; !whole && request < 200; ++request) {
      store = memory_store(clock);
      set_rule(2 * kHourMs, 2 * kHourMs);
      const std::vector<std::string> ids = {made("aaaa"), made("bbbb", {.key = "k"}),
                                            made("cccc", {.keep_ms = kHourMs}),
                                            made("dddd", {}, large ? 300 : 1)};
      if (large) put_blob(blob_name(ids[0], 0, 1, "out"));
      Sweeper one(sole());
      Sweeper other(sole());
      sweep(other, Millis(0), minutes(40));
      sweep(one, Millis(0), minutes(40));
      const auto sweeps = [&] { sweep(other, hours(2), hours(3)); };
      Between slow(*store, Between::Before::request, {{request, sweeps}});
      const auto swept = one.sweep(slow, at(hours(3)));
      EXPECT_TRUE(swept.ok()) << swept.error().what;
      whole = slow.asked < request;
      sweep(one, hours(3) + minutes(1), hours(4));
      for (const std::string& id : ids) EXPECT_EQ(left_of(id), "") << request;
      EXPECT_EQ(history_of_day().jobs(), 4) << request;
      EXPECT_EQ(rows(kExpiry), 0) << request;
    }
    EXPECT_TRUE(whole);
  }
}

// It is removed by a client whose clock is behind, while a sweeper thinks that it goes on.
TEST_F(Sweeping, AStoneIsFoundThoughItIsFiledUnderATimeThatHasPassed) {
  const std::string id = job_id_prefix(wall_of(now_us())) + "aaaa";
  bool whole = false;
  for (int at = 1; !whole && at < 100; ++at) {
    store = memory_store(clock);
    model::Spec spec = spec_of(1);
    spec.set_keep_ms(kHourMs);
    submit_job(id, spec);
    drain(read_job(store->table(), id).value().record.queue());
    const auto removed = [&] {
      end_job(id, model::End::DONE, 1, 0);
      Remover remover(*store, {});
      std::vector<Candidate> jobs = remover.read({id}).value();
      const WallTime behind = wall_of(now_us()) + hours(1) - RemoverOptions().stone_kept;
      EXPECT_EQ(remover.remove(jobs, behind).value().front(), Verdict::removed);
    };
    Sweeper sweeper(sole());
    Between slow(*store, Between::Before::request, {{at, removed}});
    ASSERT_TRUE(sweeper.sweep(slow, this->at(hours(1) + minutes(1))).ok());
    whole = slow.asked < at;
    if (whole) removed();
    sweep(sweeper, hours(1) + minutes(2), hours(4));
    EXPECT_EQ(left_of(id), "") << at;
  }
  EXPECT_TRUE(whole);
}

TEST_F(Sweeping, AStoneThatIsNotFiledIsFoundByItsId) {
  set_rule(kHourMs, kHourMs);
  const std::string id = made("aaaa");
  Remover remover(*store, {});
  std::vector<Candidate> jobs = remover.read({id}).value();
  ASSERT_EQ(remover.remove(jobs, wall_of(now_us())).value().front(), Verdict::removed);
  ASSERT_GT(store->table().erase_all(kExpiry, "0").value(), 0);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(2));
  EXPECT_EQ(left_of(id), "");
}

TEST_F(Sweeping, RowsOfWorkersGoOnceTheyWereSilentLongEnough) {
  const auto heartbeat = [&](const std::string& id, Millis time, Millis off) {
    model::WorkerInfo info;
    info.set_id(id);
    info.set_seen_ms((now_us() / 1000) + (time + off).count());
    put(kWorkers, id, info.SerializeAsString());
  };
  heartbeat("dead", Millis(0), Millis(0));
  Sweeper sweeper(sole());
  for (Millis time(0); time < hours(24); time += minutes(10)) {
    heartbeat("alive", time, Millis(0));
    heartbeat("behind", time, -hours(24 * 30));  // Its clock is wrong.
    sweep(sweeper, time, time);
  }
  EXPECT_EQ(rows(kWorkers), 3);
  for (Millis time = hours(24); time < hours(26); time += minutes(10)) {
    heartbeat("alive", time, Millis(0));
    heartbeat("behind", time, -hours(24 * 30));
    sweep(sweeper, time, time);
  }
  EXPECT_EQ(rows(kWorkers), 2);
}

TEST_F(Sweeping, TheRowOfADeadWorkerGoesThoughItsClockWasAhead) {
  model::WorkerInfo info;
  info.set_id("ahead");
  info.set_seen_ms(now_us() / 1000 + Millis(hours(24 * 365)).count());
  put(kWorkers, "ahead", info.SerializeAsString());
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(23));
  EXPECT_EQ(rows(kWorkers), 1);
  sweep(sweeper, hours(23), hours(25));
  EXPECT_EQ(rows(kWorkers), 0);
}

TEST_F(Sweeping, AJobFromADistantPastIsFoundWithinAWeek) {
  set_rule(24 * kHourMs, 24 * kHourMs);
  Sweeper sweeper(sole());
  sweep(sweeper, hours(24 * 40), hours(24 * 40));
  const std::string late = made("bbbb");
  for (Millis time = hours(24 * 40); time < hours(24 * 50); time += hours(6)) {
    sweep(sweeper, time, time);
  }
  EXPECT_EQ(left_of(late), "");
}

// What whoever may submit can write with a client of his own. The sweep goes on for all others.
TEST_F(Sweeping, ARowThatCannotBeStopsNobodyElse) {
  const std::string time = job_id_prefix(wall_of(now_us()));
  const auto put_job = [&](const std::string& id, const std::function<void(model::Job&)>& change) {
    model::Job job;
    job.set_id(id);
    *job.mutable_spec() = spec_of(1);
    change(job);
    put(kJobs, id, job.SerializeAsString());
    end_job(id, model::End::DONE, 1, 0);
    put(kExpiry, expiry_key(0, id), "");
  };
  const std::vector<std::function<void(const std::string&)>> wrongs = {
      [&](const std::string&) { put(kExpiry, "0/", ""); },
      [&](const std::string&) { put(kExpiry, "/", ""); },
      [&](const std::string&) { put(kExpiry, "00000000000/a/b", ""); },
      [&](const std::string&) { put(kExpiry, "00000000000/" + std::string(400, 'x'), ""); },
      [&](const std::string& id) {
        put_job(id, [](model::Job& job) { job.mutable_spec()->set_owner("a b"); });
      },
      [&](const std::string& id) {
        put_job(id, [](model::Job& job) { job.mutable_spec()->add_after("a b"); });
      },
      [&](const std::string& id) { put_job(id, [](model::Job& job) { job.set_key("ann/x y"); }); },
      [&](const std::string& id) {
        put_job(id, [](model::Job& job) {
          job.set_key("ann/x y");
          job.set_gone_us(1);
        });
      },
      [&](const std::string& id) {
        put_job(id, [](model::Job& job) {
          job.mutable_spec()->add_after("");
          job.set_gone_us(1);
        });
      },
      [&](const std::string& id) {
        put_job(id, [](model::Job& job) {
          for (int twice = 0; twice < 2; ++twice) job.mutable_spec()->add_after("a");
          job.set_gone_us(1);
        });
      },
      [&](const std::string& id) {
        const std::string other = id + std::string(kNameMax - id.size(), 'x');
        put_job(other, [&](model::Job& job) {
          job.mutable_spec()->set_reply(own_reply_queue(other));
          job.set_gone_us(1);
        });
      },
      [&](const std::string&) {
        put_job(time + "/input", [](model::Job&) {});
        put_blob("jobs/" + time + "/input/x");
        put_blob("jobs//x");
        put(kOutputs, "/x", "");
      },
      [&](const std::string&) { put(kRoutes, "a/b", ""); },
      [&](const std::string&) { put(kRoutes, "tascaas.x", ""); },
      [&](const std::string&) {
        model::Reply reply;
        reply.set_job("a b");
        const Message message{"r", reply.SerializeAsString()};
        ASSERT_TRUE(store->queue().push("reply.x", std::span(&message, 1)).ok());
      },
      [&](const std::string& id) { put(kEnds, id, "\xff"); },
      [&](const std::string& id) { put(kJobs, id, "\xff"); },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    store = memory_store(clock);
    set_rule(kHourMs, kHourMs);
    wrongs[i](fmt::format("{}b{:03}", time, i));
    const std::string well = made("zzzz");
    put_blob(input_blob_name(well, "0"));
    Dying limited(*store, 20'000);
    Sweeper sweeper(sole());
    for (Millis passed(0); passed <= hours(26); passed += minutes(10)) {
      const auto swept = sweeper.sweep(limited, at(passed));
      ASSERT_TRUE(swept.ok()) << i << ": " << swept.error().what;
    }
    EXPECT_EQ(left_of(well), "") << i;
    EXPECT_EQ(rows(kExpiry), 0) << i;
  }
}

// Each look has room for so many jobs, and the first ones must not take it for ever.
TEST_F(Sweeping, StonesOfATimeThatCannotBeGo) {
  set_rule(kHourMs, kHourMs);
  const std::string time = job_id_prefix(wall_of(now_us()));
  for (int i = 0; i < 2700; ++i) {
    model::Job stone;
    stone.set_id(fmt::format("{}{:04}", time, i));
    stone.set_gone_us(i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? -1 : INT64_MAX);
    put(kJobs, stone.id(), stone.SerializeAsString());
    put(kExpiry, expiry_key(0, stone.id()), "");
  }
  const std::string well = made("zzzz");
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(2));
  EXPECT_EQ(left_of(well), "");
  EXPECT_EQ(rows(kJobs), 0);
  EXPECT_EQ(rows(kExpiry), 0);
}

TEST_F(Sweeping, TimesThatCannotBeDoNotOverflow) {
  const model::Retention rule = default_rule();
  for (const int64_t time : {INT64_MIN, int64_t{-1}, int64_t{0}, kTimeMostUs, INT64_MAX}) {
    model::Job job;
    job.mutable_spec()->set_created_us(time);
    model::End end;
    end.set_ended_us(time);
    const auto due = due_us(job, end, rule);
    ASSERT_TRUE(due.has_value()) << time;
    EXPECT_GE(*due, static_cast<int64_t>(kKeepDefaultMs) * 1000) << time;
    EXPECT_TRUE(is_visible(history_key(time, "ann"), kKeyMax)) << time;
    EXPECT_FALSE(history_key(time, "ann").starts_with('-')) << time;
  }
}

TEST_F(Sweeping, ARouteGoesADayAfterItsLastMessage) {
  const std::string queue = [&] {
    const std::string id = made("aaaa");
    return read_job(store->table(), id).value().record.queue();
  }();
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(23));
  EXPECT_EQ(rows(kRoutes), 1);
  submit_job("waits-in-the-queue", 1);  // It is used again.
  sweep(sweeper, hours(23), hours(60));
  EXPECT_EQ(rows(kRoutes), 1);
  drain(queue);
  sweep(sweeper, hours(60), hours(83));
  EXPECT_EQ(rows(kRoutes), 1);
  sweep(sweeper, hours(84), hours(85));
  EXPECT_EQ(rows(kRoutes), 0);
  submit_job("another", 1);
  EXPECT_EQ(rows(kRoutes), 1);
}

TEST_F(Sweeping, AJobThatHasWaitedForLongFindsItsRouteAgain) {
  submit_job("a", 1);
  model::Spec spec = spec_of(1);
  spec.set_priority(7);
  spec.add_after("a");
  submit_job("b", spec);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(26));
  EXPECT_EQ(rows(kRoutes), 1);  // That of `a`, which is in its queue.
  end_job("a", model::End::DONE, 1, 0);
  ASSERT_TRUE(release_dependants(*store, "a", now_us()).ok());
  EXPECT_EQ(rows(kRoutes), 2);
}

TEST_F(Sweeping, WhatHasNoJobGoesAfterAWhile) {
  set_rule(24 * kHourMs, 24 * kHourMs);
  const std::string kept = made("aaaa", {.keep_ms = kKeepForever});
  put_blob(input_blob_name(kept, "0"));
  const std::string never = job_id_prefix(wall_of(now_us())) + "bbbb";
  put_blob(input_blob_name(never, "0"));
  put_blob(blob_name(never, 3, 1, "out"));
  put(kOutputs, output_key(never, 3, 1, "out"), "much");
  put_page(never, 0, {});
  put_page(never, 1, {});
  put(kNodes, node_key(never, 1, 0), "");
  put(kLedgers, never, "");
  const std::string damaged = made("cccc", {.keep_ms = kKeepForever});
  put(kJobs, damaged, "\xff no job");
  put_blob("jobs/zz-not-an-id/x");
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(24 * 2));
  EXPECT_NE(left_of(never), "");
  sweep(sweeper, hours(24 * 2), hours(24 * 5));
  EXPECT_EQ(left_of(never), "");
  EXPECT_TRUE(there(kept));
  EXPECT_EQ(store->blobs().list("jobs/", "", 10).value().size(), 2);
  EXPECT_NE(left_of(damaged).find("pages"), std::string::npos);
}

TEST_F(Sweeping, RepliesOfADeadClientGoAfterADay) {
  const std::string id = made("aaaa");
  push_reply("reply.client", id);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(23));
  EXPECT_EQ(store->queue().depth("reply.client").value().ready, 1);
  sweep(sweeper, hours(23), hours(49));
  EXPECT_EQ(store->queue().depth("reply.client").value(), Depth());
}

TEST_F(Sweeping, TheHistoryIsKeptForAYear) {
  set_rule(kHourMs, kHourMs);
  made("aaaa", {.failed = 1}, 3);
  Sweeper sweeper(sole());
  sweep(sweeper, Millis(0), hours(3));
  EXPECT_EQ(history_of_day().jobs(), 1);
  EXPECT_EQ(history_of_day().ok(), 2);
  EXPECT_EQ(history_of_day().failed(), 1);
  for (Millis time = hours(3); time < hours(24 * 399); time += hours(24))
    sweep(sweeper, time, time);
  EXPECT_EQ(rows(kHistory), 1);
  for (Millis time = hours(24 * 399); time < hours(24 * 403); time += hours(24)) {
    sweep(sweeper, time, time);
  }
  EXPECT_EQ(rows(kHistory), 0);
}

TEST(TrustedTime, GoesOnFromWhereItWasUntilItIsTheClocks) {
  EXPECT_EQ(trusted_us(100, Millis(0), 1'000'000'000), 100);
  EXPECT_EQ(trusted_us(0, Millis(1), 1'000'000'000), 4000);
  EXPECT_EQ(trusted_us(0, Millis(1), 3000), 3000);
  EXPECT_EQ(trusted_us(1'000'000, Millis(1), 0), 0);  // A clock that was ahead, and is right now.
}

TEST(Rules, AreDurationsOrForEver) {
  EXPECT_EQ(parse_rule("30d").value(), uint64_t{30} * 24 * kHourMs);
  EXPECT_EQ(parse_rule("forever").value(), 0);
  for (const char* bad : {"", "0", "0s", "-1d", "never", "1000000d"}) {
    EXPECT_EQ(parse_rule(bad).error().code, Code::invalid) << bad;
  }
  EXPECT_EQ(rule_text(0), "forever");
  EXPECT_EQ(rule_text(30 * 24 * kHourMs), "for 30d");
  EXPECT_EQ(rule_text(36 * kHourMs), "for 36h");
  EXPECT_EQ(rule_text(1), "for 1ms");
}

}  // namespace
}  // namespace dunlin::retention
