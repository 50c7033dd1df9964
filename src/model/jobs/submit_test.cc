#include "model/jobs/submit.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/names.h"
#include "model/jobs/inputs.h"
#include "testing/jobs.h"

namespace dunlin {
namespace {

class Submit : public TestJobs {};

// Counts what goes to the store below.
class CountingStore final : public Store {
 public:
  explicit CountingStore(Store& store) : store_(store) {}

  Queue& queue() override { return store_.queue(); }
  Table& table() override {
    ++reads;
    return store_.table();
  }
  Blobs& blobs() override { return store_.blobs(); }
  Result<uint64_t> commit(std::span<const Write> writes) override {
    ++commits;
    return store_.commit(writes);
  }

  int reads = 0;
  int commits = 0;

 private:
  Store& store_;
};

TEST_F(Submit, TheOwnMessageOfATaskIsNotThatOfARange) {
  model::Range range;
  range.set_job("j");
  range.set_first(12);
  range.set_last(13);
  range.set_attempt(4);
  const std::string id = range_id(range);
  range.set_alone(true);
  EXPECT_NE(range_id(range), id);
}

TEST_F(Submit, AnArrayOfAnySizeIsOneMessage) {
  submit_job("j1", 10'000'000);
  const auto ranges = queued("j1");
  ASSERT_EQ(ranges.size(), 1);
  EXPECT_EQ(ranges[0].first(), 0);
  EXPECT_EQ(ranges[0].last(), 10'000'000);
  EXPECT_EQ(ranges[0].attempt(), 1);
  EXPECT_EQ(ranges[0].spec().command().argv(0), "true");
}

TEST_F(Submit, ALargeSpecIsNotCopiedIntoTheMessage) {
  model::Spec spec = spec_of(1);
  spec.mutable_command()->add_argv(std::string(kSpecInRangeMax, 'x'));
  submit_job("j1", spec);
  EXPECT_FALSE(queued("j1").at(0).has_spec());
}

TEST_F(Submit, ItsQueueIsListedAmongTheRoutes) {
  model::Spec spec = spec_of(1);
  for (const char* tag : {"gpu", "a", "gpu"}) spec.mutable_requires_()->add_tags(tag);
  submit_job("j1", spec);
  submit_job("j2", spec);
  const auto rows = store->table().scan(kRoutes, "", "", 10).value();
  ASSERT_EQ(rows.size(), 1);
  model::Route route;
  ASSERT_TRUE(route.ParseFromString(rows[0].value));
  ASSERT_EQ(route.requires_().tags_size(), 2);
  EXPECT_EQ(route.requires_().tags(0), "a");
  EXPECT_EQ(route.owner(), "ann");
}

// Workers trust these.
TEST_F(Submit, InputsAreAsManyAsTasksAndNothingOfOthers) {
  const auto source_of = [](model::Spec& spec, uint64_t values) {
    SourceWriter writer;
    for (uint64_t i = 0; i < values; ++i) EXPECT_TRUE(writer.add("v").ok());
    model::Source* source = spec.mutable_inputs()->add_sources();
    *source = std::move(writer).finish("", false).source;
    return source;
  };
  model::Spec spec = spec_of(6);
  source_of(spec, 2);
  model::Source* last = source_of(spec, 3);
  EXPECT_TRUE(validate_spec(spec).ok());
  const std::vector<std::function<void()>> wrongs = {
      [&] { spec.set_tasks(7); },           [&] { last->set_count(0); },
      [&] { last->set_count(4); },          [&] { last->set_linked(true); },
      [&] { last->set_blob("data/x"); },    [&] { last->set_blob("tascaas/physics/1"); },
      [&] { last->set_blob("jobs/ x"); },   [&] { spec.set_stdin_blob("tascaas/physics/1"); },
      [&] { spec.set_reply("tascaas.x"); }, [&] { spec.set_reply("work.5.0"); },
  };
  const model::Spec good = spec;
  for (size_t i = 0; i < wrongs.size(); ++i) {
    spec = good;
    last = spec.mutable_inputs()->mutable_sources(1);
    wrongs[i]();
    const auto judged = validate_spec(spec);
    ASSERT_FALSE(judged.ok()) << i;
    EXPECT_EQ(judged.error().code, Code::invalid) << i;
  }
}

TEST_F(Submit, TheSameIdTwiceIsOneJob) {
  submit_job("j1", 5);
  const auto again = submit(*store, spec_of(5), {.id = "j1"});
  EXPECT_TRUE(again.value().existed);
  EXPECT_EQ(queued("j1").size(), 1);
  EXPECT_EQ(submit(*store, spec_of(6), {.id = "j1"}).error().code, Code::conflict);
}

TEST_F(Submit, TheSameKeyNamesTheSameJob) {
  EXPECT_EQ(submit(*store, spec_of(5), {.id = "j1", .key = "k"}).value().id, "j1");
  model::Spec later = spec_of(5);
  later.set_created_us(now_us() + 5);
  later.set_reply("reply.2");
  const auto again = submit(*store, later, {.id = "j2", .key = "k"});
  EXPECT_EQ(again.value().id, "j1");
  EXPECT_TRUE(again.value().existed);
  EXPECT_EQ(store->table().scan(kJobs, "", "", 10).value().size(), 1);
}

TEST_F(Submit, AKeyOfADifferentJobIsNamed) {
  (void)submit(*store, spec_of(5), {.id = "j1", .key = "nightly"}).value();
  const auto other = submit(*store, spec_of(6), {.id = "j2", .key = "nightly"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::conflict);
  EXPECT_NE(other.error().what.find("nightly"), std::string::npos);
  EXPECT_NE(other.error().what.find("j1"), std::string::npos);
}

TEST_F(Submit, AKeyOfAJobThatIsGoneIsFree) {
  (void)submit(*store, spec_of(5), {.id = "j1", .key = "k"}).value();
  ASSERT_TRUE(store->table().erase(kJobs, "j1", kAnyVersion).ok());
  EXPECT_EQ(submit(*store, spec_of(6), {.id = "j2", .key = "k"}).value().id, "j2");
  EXPECT_EQ(submit(*store, spec_of(6), {.id = "j3", .key = "k"}).value().id, "j2");
}

TEST_F(Submit, AFreshIdAndAKnownRouteCostOneRequest) {
  submit_job("j1", 1);
  CountingStore counting(*store);
  const SubmitOptions options{.id = "j2", .fresh = true, .route_known = true};
  EXPECT_FALSE(submit(counting, spec_of(1), options).value().existed);
  EXPECT_EQ(counting.commits, 1);
  EXPECT_EQ(counting.reads, 0);
  EXPECT_EQ(queued("j2").size(), 1);
}

TEST_F(Submit, AFreshIdThatIsTakenIsAConflictUnlessTheJobIsOurs) {
  const SubmitOptions options{.id = "j1", .fresh = true, .route_known = true};
  model::Spec spec = spec_of(1);
  spec.set_reply("reply.ours");
  EXPECT_FALSE(submit(*store, spec, options).value().existed);
  EXPECT_TRUE(submit(*store, spec, options).value().existed);
  spec.set_reply("reply.theirs");
  EXPECT_EQ(submit(*store, spec, options).error().code, Code::conflict);
  EXPECT_EQ(queued("j1").size(), 1);
}

TEST_F(Submit, AFreshIdStillFindsItsKey) {
  EXPECT_EQ(submit(*store, spec_of(5), {.id = "j1", .key = "k", .fresh = true}).value().id, "j1");
  EXPECT_EQ(submit(*store, spec_of(5), {.id = "j2", .key = "k", .fresh = true}).value().id, "j1");
}

TEST_F(Submit, AKeyComparesTheInputsToo) {
  const auto with_input = [&](const std::string& id, const std::string& bytes) {
    model::Spec spec = spec_of(5);
    spec.set_stdin_blob(input_blob_name(id, "stdin"));
    return submit(*store, spec,
                  {.id = id, .key = "k", .blobs = {blob_of_bytes(spec.stdin_blob(), bytes)}});
  };
  EXPECT_EQ(with_input("j1", "one").value().id, "j1");
  EXPECT_EQ(with_input("j2", "one").value().id, "j1");
  EXPECT_EQ(with_input("j3", "two").error().code, Code::conflict);
  EXPECT_EQ(with_input("j4", "on").error().code, Code::conflict);
  EXPECT_EQ(store->blobs().get("jobs/j1/input/stdin", 0, 10).value(), "one");
  EXPECT_EQ(store->blobs().list("", "", 10).value().size(), 1);
}

// Whoever submitted it may have kept the standard input in the job, or the variables in another
// order.
TEST_F(Submit, AKeyComparesWhatIsMeant) {
  const std::string bytes(3000, 'x');
  const auto inside = [&](const std::string& id, const std::string& key, const std::string& input) {
    model::Spec spec = spec_of(5);
    spec.set_stdin(input);
    return submit(*store, spec, {.id = id, .key = key});
  };
  const auto blob = [&](const std::string& id, const std::string& key, const std::string& input) {
    model::Spec spec = spec_of(5);
    spec.set_stdin_blob(input_blob_name(id, "stdin"));
    return submit(*store, spec,
                  {.id = id, .key = key, .blobs = {blob_of_bytes(spec.stdin_blob(), input)}});
  };
  EXPECT_EQ(inside("j1", "a", bytes).value().id, "j1");
  EXPECT_EQ(blob("j2", "a", bytes).value().id, "j1");
  EXPECT_EQ(blob("j3", "a", std::string(3000, 'y')).error().code, Code::conflict);
  EXPECT_EQ(blob("j3", "a", bytes + "x").error().code, Code::conflict);
  EXPECT_EQ(blob("k1", "b", bytes).value().id, "k1");
  EXPECT_EQ(inside("k2", "b", bytes).value().id, "k1");
  EXPECT_EQ(inside("k3", "b", "").error().code, Code::conflict);

  const auto with = [&](const std::string& id, std::vector<std::string> names,
                        std::vector<uint32_t> codes) {
    model::Spec spec = spec_of(5);
    for (const std::string& name : names) spec.add_env()->set_name(name);
    for (const uint32_t code : codes) spec.add_retry_on(code);
    return submit(*store, spec, {.id = id, .key = "c"});
  };
  EXPECT_EQ(with("l1", {"B", "A"}, {3, 2, 2}).value().id, "l1");
  EXPECT_EQ(with("l2", {"A", "B"}, {2, 3}).value().id, "l1");
  EXPECT_EQ(with("l3", {"A"}, {2, 3}).error().code, Code::conflict);
}

// The other one is removed while the inputs are stored; it has ended before that, or since.
TEST_F(Submit, ASubmissionAfterAJobThatGoesAwayLeavesNothing) {
  for (const bool ended : {true, false}) {
    submit_job("a", 1);
    if (ended) end_job("a", model::End::DONE, 1, 0);
    const auto goes = [this] {
      for (const std::string_view table : {kEnds, kJobs}) {
        ASSERT_TRUE(store->table().erase(table, "a", kAnyVersion).ok());
      }
    };
    model::Spec spec = spec_of(1);
    spec.add_after("a");
    spec.set_stdin_blob(input_blob_name("j", "stdin"));
    Between slow(*store, Between::Before::commit, {{1, goes}});
    const auto refused =
        submit(slow, spec, {.id = "j", .blobs = {blob_of_bytes(spec.stdin_blob(), "much")}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::not_found);
    EXPECT_NE(refused.error().what.find("job a"), std::string::npos) << refused.error().what;
    EXPECT_TRUE(store->blobs().list("", "", 1).value().empty());
    for (const std::string_view table : {kJobs, kWaits, kAfter}) {
      EXPECT_TRUE(store->table().scan(table, "", "", 1).value().empty()) << table;
    }
  }
}

TEST_F(Submit, TheInputsOfAJobThatAnotherClientSubmittedStay) {
  submit_job("a", 1);
  end_job("a", model::End::DONE, 1, 0);
  model::Spec spec = spec_of(1);
  spec.add_after("a");
  spec.set_stdin_blob(input_blob_name("j", "stdin"));
  const SubmitOptions options{.id = "j", .blobs = {blob_of_bytes(spec.stdin_blob(), "much")}};
  // The same submission, as it was made after this one has looked for its job.
  const auto other = [&] {
    ASSERT_TRUE(submit(*store, spec, options).ok());
    for (const std::string_view table : {kEnds, kJobs}) {
      ASSERT_TRUE(store->table().erase(table, "a", kAnyVersion).ok());
    }
  };
  bool whole = false;
  for (int at = 1; !whole && at < 100; ++at) {
    Between slow(*store, Between::Before::request, {{at, other}});
    (void)submit(slow, spec, options).ok();
    whole = slow.asked < at;
    EXPECT_EQ(store->blobs().get(spec.stdin_blob(), 0, 10).value(), "much") << at;
    store = memory_store(clock);
    submit_job("a", 1);
    end_job("a", model::End::DONE, 1, 0);
  }
  EXPECT_TRUE(whole);
}

TEST_F(Submit, WhatCannotBeIsRefusedWithItsName) {
  struct Case {
    std::function<void(model::Spec&)> spoil;
    std::string says;
  };
  const std::vector<Case> cases = {
      {[](auto& s) { s.clear_command(); }, "no command"},
      {[](auto& s) { s.mutable_command()->set_line("x"); }, "more than one kind"},
      {[](auto& s) { s.mutable_command()->set_argv(0, ""); }, "first word is empty"},
      {[](auto& s) { s.set_tasks(0); }, "no tasks"},
      {[](auto& s) { s.set_tasks(1'000'000'000'000); }, "1000000000000 tasks"},
      {[](auto& s) { s.set_name("a/b"); }, "name \"a/b\""},
      {[](auto& s) { s.set_owner(""); }, "owner"},
      {[](auto& s) { s.mutable_requires_()->add_tags("a b"); }, "tag \"a b\""},
      {[](auto& s) { s.set_priority(10); }, "priority 10"},
      {[](auto& s) { s.add_env()->set_name("A=B"); }, "variable"},
      {[](auto& s) { s.set_cwd("here"); }, "absolute"},
      {[](auto& s) { s.set_stdin(std::string(kSpecMax, 'x')); }, "bytes"},
      {[](auto& s) { s.set_losses(1); }, "losses of 1 are not possible"},
      {[](auto& s) { s.set_losses(kLossesMost + 1); }, "losses of 1000001"},
  };
  for (const Case& one : cases) {
    model::Spec spec = spec_of(1);
    one.spoil(spec);
    const auto refused = submit(*store, spec, {.id = "j1"});
    ASSERT_FALSE(refused.ok()) << one.says;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_NE(refused.error().what.find(one.says), std::string::npos) << refused.error().what;
  }
  EXPECT_TRUE(store->table().scan(kJobs, "", "", 1).value().empty());
}

TEST_F(Submit, AStandardInputThatNoWorkerWouldTakeIsRefusedBeforeItIsStored) {
  model::Spec spec = spec_of(1);
  spec.set_stdin_blob(input_blob_name("j1", "stdin"));
  bool read = false;
  const auto source = [&](uint64_t, size_t) -> Result<std::string> {
    read = true;
    return std::string();
  };
  const auto refused =
      submit(*store, spec, {.id = "j1", .blobs = {{spec.stdin_blob(), kStdinMax + 1, source}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_NE(refused.error().what.find("64 MiB"), std::string::npos) << refused.error().what;
  EXPECT_FALSE(read);
  EXPECT_TRUE(store->blobs().list("", "", 1).value().empty());
}

TEST(Losses, AreANumberOrUnlimited) {
  EXPECT_EQ(parse_losses("2").value(), 2U);
  EXPECT_EQ(parse_losses("100").value(), 100U);
  EXPECT_EQ(parse_losses("unlimited").value(), kLossesUnlimited);
  for (const std::string_view text : {"", "0", "1", "-3", "1000001", "many"}) {
    EXPECT_FALSE(parse_losses(text).ok()) << text;
  }
  model::Spec spec;
  EXPECT_EQ(losses_max(spec), 3U);
  spec.set_losses(7);
  EXPECT_EQ(losses_max(spec), 7U);
}

TEST(JobId, SortsByTimeAndIsAName) {
  Random random(1);
  const WallTime now{Millis(1'800'000'000'000)};
  const std::string first = make_job_id(random, now);
  const std::string second = make_job_id(random, now + Millis(1));
  EXPECT_EQ(first.size(), 13);
  EXPECT_TRUE(is_name(first));
  EXPECT_LT(first, second);
  EXPECT_LE(job_id_prefix(now), first);
  EXPECT_LT(first, job_id_prefix(now + Millis(1)));
  EXPECT_NE(first, make_job_id(random, now));
}

}  // namespace
}  // namespace dunlin
