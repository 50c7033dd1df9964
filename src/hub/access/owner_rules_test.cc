#include "hub/access/owner_rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "hub/access/owner_view.h"
#include "hub/access/rights.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/owned.h"
#include "store/memory.h"

namespace dunlin::hub {
namespace {

const std::string kAnns = "1m7fmn20pnfpf.ann";
const std::string kBobs = "1m7fmn20pnfpg.bob";
const std::string kPlain = "1m7fmn20pnfph";

model::Job job_of(const std::string& id, const std::string& owner) {
  model::Job job;
  job.set_id(id);
  job.mutable_spec()->set_owner(owner);
  job.mutable_spec()->mutable_command()->add_argv("true");
  job.mutable_spec()->set_tasks(1);
  job.set_queue(queue_of(route_of(job.spec())));
  return job;
}

Put row_of(const model::Job& job) {
  return {std::string(kJobs), job.id(), job.SerializeAsString(), 0};
}

// A submission as our own client sends it, which a test may change.
struct Submission {
  model::Job job = job_of(kAnns, "ann");
  std::vector<Write> more = {};
  std::function<void(Push&)> change = [](Push&) {};

  Request request() const {
    Push push{job.queue(), first_messages(job, 1)};
    change(push);
    Commit commit{1, {push, row_of(job), put_route(job)}};
    for (const Write& write : more) commit.writes.push_back(write);
    return commit;
  }
};

bool ann_may(const Request& request) {
  const Result<void> allowed = check_owner("ann", request);
  if (!allowed.ok()) {
    EXPECT_EQ(allowed.error().code, Code::denied);
  }
  return allowed.ok();
}

TEST(OwnerRules, RowsOfJobsAreJudgedByTheirKeys) {
  for (const auto* table : {"jobs", "ends", "waits", "pages", "nodes", "outputs", "ledgers"}) {
    for (const auto& [job, own] :
         {std::pair(kAnns, true), std::pair(kBobs, false), std::pair(kPlain, false),
          std::pair(kAnns + ".bob", false), std::pair(std::string("x.ann"), false)}) {
      const std::string row = job + "/00000000";
      const bool blanked = std::string_view(table) == "jobs";
      EXPECT_EQ(ann_may(Get{table, {kAnns, job}}), own || blanked) << table << job;
      EXPECT_EQ(ann_may(Get{table, {row}}), own || blanked) << table << job;
      EXPECT_EQ(ann_may(Commit{1, {Erase{table, row, 0}}}), own) << table << job;
      EXPECT_EQ(ann_may(EraseAll{table, job + "/"}), own) << table << job;
      EXPECT_FALSE(ann_may(EraseAll{table, job})) << table << job;
      if (std::string_view(table) == "jobs") continue;
      EXPECT_EQ(ann_may(Commit{1, {Put{table, row, "", 0}}}), own) << table << job;
      EXPECT_EQ(ann_may(Scan{table, job + "/", "", 1}), own) << table << job;
      EXPECT_FALSE(ann_may(Scan{table, job, "", 1})) << table << job;
    }
    if (std::string_view(table) != "jobs") {
      EXPECT_FALSE(ann_may(Scan{table, "", kAnns, 1}));
    }
  }
}

TEST(OwnerRules, TheOtherTablesAreJudgedEachInItsWay) {
  for (const auto& [key, own] :
       {std::pair(kAnns + "/", true), std::pair(kAnns + "/" + kAnns, true),
        std::pair(kAnns + "/" + kBobs, false), std::pair(kBobs + "/" + kAnns, false)}) {
    EXPECT_EQ(ann_may(Commit{1, {Put{"after", key, "", 0}}}), own) << key;
  }
  EXPECT_TRUE(ann_may(Commit{1, {Put{"keys", "ann/k", kAnns, 0}}}));
  EXPECT_FALSE(ann_may(Commit{1, {Put{"keys", "ann/k", kBobs, 0}}}));
  for (const auto* key : {"k", "bob/k", "ann", "annx/k"}) {
    EXPECT_FALSE(ann_may(Commit{1, {Put{"keys", key, kAnns, 0}}})) << key;
    EXPECT_FALSE(ann_may(Get{"keys", {key}})) << key;
  }
  EXPECT_TRUE(ann_may(Scan{"keys", "ann/", "", 1}));
  EXPECT_FALSE(ann_may(Scan{"keys", "", "", 1}));
  EXPECT_TRUE(ann_may(Commit{1, {Put{"expiry", "00000000001/" + kAnns, "", 0}}}));
  EXPECT_FALSE(ann_may(Commit{1, {Put{"expiry", "00000000001/" + kBobs, "", 0}}}));
  EXPECT_FALSE(ann_may(Scan{"expiry", "", "", 1}));
  EXPECT_TRUE(ann_may(Commit{1, {Put{"history", "2026-01-01/ann", "", 0}}}));
  EXPECT_FALSE(ann_may(Commit{1, {Put{"history", "2026-01-01/bob", "", 0}}}));
  EXPECT_FALSE(ann_may(Commit{1, {Put{"history", "2026-01-01/ann", "x", 0}}}));
  EXPECT_FALSE(ann_may(Commit{1, {Put{"ends", kAnns, "x", 0}}}));
  for (const auto* table :
       {"tascaas", "retention", "_owned", "_messages", "aws.sqs", "s3.b", "settings"}) {
    EXPECT_FALSE(ann_may(Get{table, {"k"}})) << table;
    EXPECT_FALSE(ann_may(Scan{table, "", "", 1})) << table;
    EXPECT_FALSE(ann_may(Scan{table, kAnns + "/", "", 1})) << table;
    EXPECT_FALSE(ann_may(Commit{1, {Put{table, kAnns, "", 0}}})) << table;
  }
  EXPECT_TRUE(ann_may(Scan{"workers", "", "", 1}));
  EXPECT_FALSE(ann_may(Scan{"routes", "", "", 1}));
  EXPECT_FALSE(ann_may(AskInfo{}));
}

TEST(OwnerRules, BlobsAreThoseOfHerJobsAndUnderHerName) {
  for (const auto& [name, own] :
       {std::pair("jobs/" + kAnns + "/input/0", true),
        std::pair("jobs/" + kBobs + "/input/0", false), std::pair("jobs/" + kAnns, false),
        std::pair("jobs/" + kPlain + "/input/0", false),
        std::pair(std::string("owners/ann/data"), true),
        std::pair(std::string("owners/ann/"), true), std::pair(std::string("owners/ann"), false),
        std::pair(std::string("owners/annx/data"), false),
        std::pair(std::string("owners/bob/data"), false), std::pair(std::string("data"), false),
        std::pair(std::string("tascaas/physics/1"), false)}) {
    EXPECT_EQ(ann_may(BlobGet{name, 0, 1}), own) << name;
    EXPECT_EQ(ann_may(BlobEnd{1, name, 1}), own) << name;
    EXPECT_EQ(ann_may(BlobErase{name}), own) << name;
    EXPECT_EQ(ann_may(BlobList{name, "", 1}), own) << name;
  }
  EXPECT_FALSE(ann_may(BlobList{"", "", 1}));
  EXPECT_FALSE(ann_may(BlobList{"jobs/", "", 1}));
}

TEST(OwnerRules, QueuesAreHerReplies) {
  for (const auto& [queue, own] :
       {std::pair("reply." + kAnns, true), std::pair("reply." + kBobs, false),
        std::pair("reply." + kPlain, false), std::pair(std::string("work.5.0"), false)}) {
    EXPECT_EQ(ann_may(Pull{queue, 1, Millis(1), Millis(0)}), own) << queue;
    EXPECT_EQ(ann_may(Renew{queue, {{"1", 1}}, Millis(1)}), own) << queue;
    EXPECT_EQ(ann_may(Commit{1, {Finish{queue, {{"1", 1}}}}}), own) << queue;
    EXPECT_EQ(ann_may(Commit{1, {Keep{queue, {"1", 1}, 0, ""}}}), own) << queue;
    EXPECT_FALSE(ann_may(Commit{1, {Push{queue, {{"1", ""}}}}})) << queue;
    EXPECT_FALSE(ann_may(Commit{1, {Push{queue, {}}}})) << queue;
  }
}

TEST(OwnerRules, ASubmissionAsOurClientSendsItIsFine) {
  EXPECT_TRUE(ann_may(Submission().request()));
  Submission large;
  large.job.mutable_spec()->mutable_stdin_blob()->assign("jobs/" + kAnns + "/input/stdin");
  large.job.mutable_spec()->set_reply("reply." + kAnns);
  large.job.mutable_spec()->add_after("1m7fmn20pnfpa.ann");
  large.job.set_key("ann/k");
  EXPECT_TRUE(ann_may(large.request()));
}

// Whatever a worker or a sweeper would do for the job with its own rights.
TEST(OwnerRules, AJobNamesNothingOfOthers) {
  const std::vector<std::function<void(model::Job&)>> wrongs = {
      [](model::Job& job) { job.set_id(kBobs); },
      [](model::Job& job) { job.mutable_spec()->set_owner("bob"); },
      [](model::Job& job) { job.mutable_spec()->set_owner(""); },
      [](model::Job& job) { job.mutable_spec()->set_reply("reply." + kBobs); },
      [](model::Job& job) { job.mutable_spec()->set_reply("work.5.0"); },
      [](model::Job& job) { job.mutable_spec()->add_after(kBobs); },
      [](model::Job& job) { job.mutable_spec()->add_after(kPlain); },
      [](model::Job& job) { job.mutable_spec()->set_stdin_blob("jobs/" + kBobs + "/input/stdin"); },
      [](model::Job& job) { job.mutable_spec()->set_stdin_blob("tascaas/physics/1"); },
      [](model::Job& job) {
        job.mutable_spec()->mutable_inputs()->add_sources()->set_blob("jobs/" + kBobs + "/input/0");
      },
      [](model::Job& job) { job.mutable_spec()->set_tasks(uint64_t{1} << 63U); },
      [](model::Job& job) { job.mutable_spec()->set_tasks(0); },
      [](model::Job& job) {
        job.mutable_spec()->mutable_iterations()->set_total((uint64_t{1} << 63U) + 5);
        job.mutable_spec()->mutable_iterations()->set_partitions(1);
      },
      [](model::Job& job) {
        job.mutable_spec()->mutable_iterations()->set_total(1000);
        job.mutable_spec()->mutable_iterations()->set_partitions(4'000'000'000);
      },
      [](model::Job& job) { job.set_key("bob/k"); },
      [](model::Job& job) { job.set_key("k"); },
      [](model::Job& job) { job.set_key("ann/x y"); },
      [](model::Job& job) {
        for (int i = 0; i < 2; ++i) job.mutable_spec()->add_after("1m7fmn20pnfpa.ann");
      },
      [](model::Job& job) { job.mutable_spec()->mutable_inputs()->add_sources()->set_count(0); },
      [](model::Job& job) { job.mutable_spec()->mutable_inputs()->add_sources()->set_count(2); },
      [](model::Job& job) {
        job.mutable_spec()->mutable_requires_()->add_tags("b");
        job.mutable_spec()->mutable_requires_()->add_tags("a");
        job.set_queue(queue_of(route_of(job.spec())));
      },
      [](model::Job& job) {
        job.mutable_spec()->mutable_requires_()->add_tags("a\nb");
        job.set_queue(queue_of(route_of(job.spec())));
      },
      [](model::Job& job) {
        job.mutable_spec()->set_priority(10);
        job.set_queue(queue_of(route_of(job.spec())));
      },
      [](model::Job& job) { job.set_queue("work.9.0000000000000000"); },
      [](model::Job& job) { job.set_queue(job_of(kBobs, "bob").queue()); },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    model::Job job = job_of(kAnns, "ann");
    wrongs[i](job);
    EXPECT_FALSE(ann_may(Commit{1, {Put{"jobs", kAnns, job.SerializeAsString(), 0}}})) << i;
    EXPECT_FALSE(ann_may(Commit{1, {Put{"jobs", kAnns, job.SerializeAsString(), 5}}})) << i;
  }
  EXPECT_FALSE(ann_may(Commit{1, {Put{"jobs", kAnns, "\xff\xff", 0}}}));
  for (const int64_t gone : {INT64_MIN, int64_t{-1}, INT64_MAX}) {
    model::Job stone = job_of(kAnns, "ann");
    stone.set_gone_us(gone);
    EXPECT_FALSE(ann_may(Commit{1, {row_of(stone)}})) << gone;
  }
  EXPECT_FALSE(ann_may(Commit{1, {row_of(job_of(kBobs, "bob"))}}));
}

TEST(OwnerRules, MessagesAreThoseOfTheJobBesideThem) {
  const std::string bobs = job_of(kBobs, "bob").queue();
  const std::vector<std::function<void(Push&)>> wrongs = {
      [&](Push& push) { push.queue = bobs; },
      [](Push& push) { push.queue = "reply." + kAnns; },
      [](Push& push) { push.messages.front().id = "other"; },
      [](Push& push) { push.messages.front().body = "\xff\xff"; },
      [](Push& push) {  // A range of somebody else's job.
        push.messages = first_messages(job_of(kBobs, "bob"), 1);
      },
      [](Push& push) {  // Her own job, that is to read another one's blob.
        model::Job job = job_of(kAnns, "ann");
        job.mutable_spec()->set_stdin_blob("jobs/" + kBobs + "/input/stdin");
        push.messages = first_messages(job, 1);
      },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    Submission submission;
    submission.change = wrongs[i];
    EXPECT_FALSE(ann_may(submission.request())) << i;
  }
  const model::Job job = job_of(kAnns, "ann");
  EXPECT_FALSE(ann_may(Commit{1, {Push{job.queue(), first_messages(job, 1)}}})) << "alone";
  model::Job stone = job;
  stone.set_gone_us(1);
  EXPECT_TRUE(ann_may(Commit{1, {row_of(stone)}}));
  EXPECT_FALSE(ann_may(Commit{1, {row_of(stone), Push{job.queue(), first_messages(job, 1)}}}));
}

TEST(OwnerRules, AMessageIsOfTasksThatTheJobHas) {
  const auto may_push = [](bool iterates, const std::function<void(model::Range&)>& change) {
    Submission submission;
    model::Spec& spec = *submission.job.mutable_spec();
    spec.set_tasks(10);
    if (iterates) {
      spec.mutable_iterations()->set_total(100);
      spec.mutable_iterations()->set_partitions(4);
    }
    submission.change = [&](Push& push) {
      model::Range range;
      EXPECT_TRUE(range.ParseFromString(push.messages.back().body));
      change(range);
      push.messages.back() = {range_id(range), range.SerializeAsString()};
    };
    return ann_may(submission.request());
  };
  EXPECT_TRUE(may_push(false, [](model::Range&) {}));
  EXPECT_TRUE(may_push(true, [](model::Range&) {}));
  EXPECT_TRUE(may_push(false, [](model::Range& range) { range.set_first(9); }));
  EXPECT_FALSE(may_push(false, [](model::Range& range) { range.set_last(11); }));
  EXPECT_FALSE(may_push(false, [](model::Range& range) { range.set_last(0); }));
  EXPECT_FALSE(may_push(false, [](model::Range& range) { range.set_first(10); }));
  EXPECT_FALSE(may_push(false, [](model::Range& range) { range.set_reserve(true); }));
  EXPECT_FALSE(may_push(true, [](model::Range& range) { range.set_first(0); })) << "in reserve";
  EXPECT_FALSE(may_push(true, [](model::Range& range) { range.set_first(5); })) << "in reserve";
}

TEST(OwnerRules, APageIsUnderTheKeyOfAPage) {
  EXPECT_TRUE(ann_may(Commit{1, {Put{"pages", page_key(kAnns, 1), "", 0}}}));
  EXPECT_TRUE(ann_may(Commit{1, {Put{"pages", page_key(kAnns, 3'906'249), "", 0}}}));
  for (const auto* rest : {"", "/", "/1", "/0000000g", "/0000000A", "/000000001", "/00000000/1",
                           "/ffffffff", "/ffffffffffffffff"}) {
    EXPECT_FALSE(ann_may(Commit{1, {Put{"pages", kAnns + rest, "", 0}}})) << rest;
    EXPECT_TRUE(ann_may(Commit{1, {Erase{"pages", kAnns + rest, 0}}})) << rest;
  }
}

// This tag gives her route the queue of his by the hash of earlier releases.
TEST(OwnerRules, NobodyHasTheQueueOfAnother) {
  const model::Job bobs = job_of(kBobs, "bob");
  model::Route route = route_of(job_of(kAnns, "ann").spec());
  route.set_priority(5);
  model::Route his = route_of(bobs.spec());
  his.set_priority(5);
  route.mutable_requires_()->add_tags(
      "616mts56\x0f\x1e\x1b\x01\x01\x06\x06>\x03"
      "9\x06\x07\x01\x04\x01\x07");
  EXPECT_NE(queue_of(route), queue_of(his));
  EXPECT_FALSE(
      ann_may(Commit{1, {Put{"routes", queue_of(route), route.SerializeAsString(), kAnyVersion}}}));
  route.mutable_requires_()->set_tags(0, "gpu");
  const auto may_put = [&] {
    return ann_may(
        Commit{1, {Put{"routes", queue_of(route), route.SerializeAsString(), kAnyVersion}}});
  };
  EXPECT_TRUE(may_put());
  route.mutable_requires_()->add_tags("gpu");
  EXPECT_FALSE(may_put()) << "twice";
  route.mutable_requires_()->set_tags(1, "a");
  EXPECT_FALSE(may_put()) << "not in order";
  route.mutable_requires_()->clear_tags();
  route.set_priority(10);
  EXPECT_FALSE(may_put()) << "priority";
}

TEST(OwnerRules, ARouteIsThatOfItsOwner) {
  const model::Job bobs = job_of(kBobs, "bob");
  EXPECT_FALSE(ann_may(Commit{1, {put_route(bobs)}}));
  model::Route route = route_of(job_of(kAnns, "ann").spec());
  EXPECT_FALSE(
      ann_may(Commit{1, {Put{"routes", bobs.queue(), route.SerializeAsString(), kAnyVersion}}}));
}

class OwnerViewTest : public testing::Test {
 protected:
  OwnerViewTest() : core(memory_core()) {
    for (const auto& [id, owner] :
         {std::pair(kAnns, "ann"), std::pair(kBobs, "bob"), std::pair(kPlain, "ann"),
          std::pair(std::string("1m7fmn20pnfpz.ann"), "ann")}) {
      const model::Job job = job_of(id, owner);
      Commit commit{++nonce, {row_of(job), put_route(job)}};
      EXPECT_EQ(note_owned(commit), id != kPlain);
      EXPECT_TRUE(std::holds_alternative<Committed>(core->handle(std::move(commit), now)));
    }
  }

  std::vector<std::string> scan(const std::string& table, std::string after = "", uint64_t max = 1,
                                const std::string& prefix = "") {
    std::vector<std::string> keys;
    while (true) {
      Answer answer = handle_as("ann", *core, Scan{table, prefix, after, max}, now);
      const auto& rows = std::get<Rows>(answer).rows;
      if (rows.empty()) return keys;
      for (const Row& row : rows) keys.push_back(row.key);
      after = keys.back();
    }
  }

  const Instant now = Instant(std::chrono::seconds(1));
  uint64_t nonce = 0;
  std::unique_ptr<Core> core;
};

TEST_F(OwnerViewTest, HerJobsAreListedPageByPageAndNoOthers) {
  const std::vector<std::string> hers = {kAnns, "1m7fmn20pnfpz.ann"};
  EXPECT_EQ(scan("jobs"), hers);
  EXPECT_EQ(scan("jobs", "", 100), hers);
  EXPECT_EQ(scan("jobs", "1m7fmn20pnfpg"), std::vector<std::string>{hers.back()});
  EXPECT_EQ(scan("jobs", "", 1, "1m7fmn20pnfpz"), std::vector<std::string>{hers.back()});
  EXPECT_EQ(scan("jobs", "", 1, "../bob/"), std::vector<std::string>{});
  EXPECT_EQ(scan("jobs", "", 1, std::string(512, 'a')), std::vector<std::string>{});
  EXPECT_EQ(scan("jobs", std::string(512, '0'), 100), hers);
}

TEST_F(OwnerViewTest, JobsOfOthersAreAsGoodAsAbsent) {
  Answer answer = handle_as("ann", *core, Get{"jobs", {kBobs, kAnns, kPlain, "bob"}}, now);
  const auto& rows = std::get<Rows>(answer).rows;
  ASSERT_EQ(rows.size(), 4U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.version != 0, row.key == kAnns) << row.key;
    EXPECT_EQ(row.value.empty(), row.key != kAnns) << row.key;
  }
}

// A whole answer has 8 MiB.
TEST_F(OwnerViewTest, TheSizesOfOthersRowsDoNotShow) {
  Get get{"jobs", {}};
  for (int i = 0; i < 40; ++i) {
    get.keys.push_back("1m7fmn20pnf" + std::to_string(10 + i) + ".bob");
    core->handle(Commit{++nonce, {Put{"jobs", get.keys.back(), std::string(kValueMax, 'x'), 0}}},
                 now);
  }
  get.keys.push_back(kAnns);
  EXPECT_LT(std::get<Rows>(core->handle(Get(get), now)).rows.size(), 41U);
  Answer answer = handle_as("ann", *core, std::move(get), now);
  const auto& rows = std::get<Rows>(answer).rows;
  ASSERT_EQ(rows.size(), 41U);
  EXPECT_NE(rows.back().version, 0U);
}

TEST_F(OwnerViewTest, AJobThatGoesLeavesTheList) {
  Commit commit{++nonce, {Erase{"jobs", kAnns, kAnyVersion}}};
  EXPECT_TRUE(note_owned(commit));
  core->handle(std::move(commit), now);
  EXPECT_EQ(scan("jobs"), std::vector<std::string>{"1m7fmn20pnfpz.ann"});
  EXPECT_EQ(std::get<Rows>(core->handle(Get{"_owned", {"ann/" + kAnns}}, now)).rows.front().version,
            0U);
}

TEST_F(OwnerViewTest, RoutesAndDepthsAreThoseOfTheOwner) {
  const std::string hers = job_of(kAnns, "ann").queue();
  const std::string his = job_of(kBobs, "bob").queue();
  Answer routes = handle_as("ann", *core, Get{"routes", {hers, his}}, now);
  EXPECT_NE(std::get<Rows>(routes).rows[0].version, 0U);
  EXPECT_EQ(std::get<Rows>(routes).rows[1].version, 0U);
  EXPECT_EQ(std::get<Rows>(routes).rows[1].value, "");
  EXPECT_TRUE(std::holds_alternative<Depth>(handle_as("ann", *core, AskDepth{hers}, now)));
  EXPECT_EQ(std::get<Error>(handle_as("ann", *core, AskDepth{his}, now)).code, Code::denied);
  EXPECT_EQ(std::get<Error>(handle_as("ann", *core, AskDepth{"work.9.0"}, now)).code, Code::denied);
}

TEST_F(OwnerViewTest, HistoryIsThatOfTheOwner) {
  Commit commit{++nonce, {}};
  for (int day = 10; day < 30; ++day) {
    for (const auto* owner : {"ann", "bob", "joann"}) {
      commit.writes.emplace_back(
          Put{"history", "2026-01-" + std::to_string(day) + "/" + owner, "", 0});
    }
  }
  core->handle(std::move(commit), now);
  const std::vector<std::string> keys = scan("history", "", 3);
  ASSERT_EQ(keys.size(), 20U);
  for (const std::string& key : keys) EXPECT_TRUE(key.ends_with("/ann")) << key;
}

TEST_F(OwnerViewTest, ListsOfBlobsLeaveOutTheFilesOfTenants) {
  uint64_t upload = 0;
  for (const auto* name : {"a", "tascaas/physics/1", "tascaas/physics/2", "tascaasx", "z"}) {
    core->handle(BlobPart{++upload, 0, "x"}, now);
    core->handle(BlobEnd{upload, name, 1}, now);
  }
  std::vector<std::string> names;
  std::string after;
  while (true) {
    Answer answer = list_public(*core, BlobList{"", after, 1}, now);
    const auto& blobs = std::get<BlobNames>(answer).blobs;
    if (blobs.empty()) break;
    for (const BlobInfo& blob : blobs) names.push_back(blob.name);
    after = names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "tascaasx", "z"}));
}

}  // namespace
}  // namespace dunlin::hub
