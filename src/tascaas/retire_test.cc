#include "tascaas/retire.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tascaas/dispatcher.h"
#include "tascaas/ending.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/overview.h"
#include "tascaas/tenants.h"
#include "tascaas/turns.h"
#include "testing/retention.h"

namespace dunlin::tascaas {
namespace {

using std::chrono::hours;

constexpr Millis kKeep = hours(10);
constexpr Millis kKeepFailed = hours(100);

// Remembers all that it was given.
class TestCache final : public JobCache {
 public:
  std::optional<Stored<Job>> find(const std::string& id) override {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& id, Stored<Job> job) override { jobs_[id] = std::move(job); }

 private:
  std::map<std::string, Stored<Job>> jobs_;
};

class Retire : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(add_tenant(*store_, "t", {.timeout = hours(1)}, now_).ok());
    tenant_ = read_tenant(store_->table(), "t").value();
    put("input/data", "x");
    rule_.set_keep_ms(static_cast<uint64_t>(kKeep.count()));
    rule_.set_keep_failed_ms(static_cast<uint64_t>(kKeepFailed.count()));
    before_ = left();
  }

  void put(const std::string& key, const std::string& text) {
    ASSERT_TRUE(put_text(*store_, "t", key, text, now_).ok());
  }
  std::string drop(const std::string& name) {
    put("input/" + name, R"({"iterations":1000,"time":600,"inputFile":"data"})");
    return take_in(*store_, tenant_, now_).value().at(0).job;
  }
  balance::Share say(const std::string& job, Word word, Millis elapsed) {
    return next_iterations(*store_, job, {word, 0, 1000, elapsed}, now_, &cache_).value();
  }
  void begin(const std::string& job) {
    const std::string infra = register_infrastructure(*store_, tenant_, 1, 1, now_).value();
    ASSERT_EQ(hand_out(*store_, tenant_, infra, 1, now_).value().size(), 1U);
    say(job, Word::start, Millis(0));
    ASSERT_TRUE(disconnect(*store_, tenant_, infra, now_).ok());
  }
  std::string end_one(const std::string& name) {
    const std::string job = drop(name);
    begin(job);
    now_ += std::chrono::seconds(60);
    EXPECT_EQ(say(job, Word::finish, std::chrono::seconds(60)).code, balance::Code::ok);
    put(result_key(job, "0", "results.dat"), "results");
    EXPECT_TRUE(results_came(*store_, "t", job, 0, now_).ok());
    return job;
  }
  void retire_at(WallTime now) { ASSERT_TRUE(retire(*store_, rule_, now).ok()); }

  // All rows but those of the job files themselves, and how many blobs no row names.
  std::vector<std::string> left() {
    std::vector<std::string> all;
    size_t files = 0;
    const std::vector<Row> rows = store_->table().scan(kTable, "", "", kBatchMax).value();
    for (const Row& row : rows) {
      files += row.key.starts_with("file/") ? 1 : 0;
      if (!row.key.ends_with(".config") && !row.key.starts_with("dispatch/"))
        all.push_back(row.key);
      if (row.key.starts_with("job/") || row.key.starts_with("intake/")) all.push_back(row.key);
    }
    const size_t blobs = store_->blobs().list("", "", kBatchMax).value().size();
    all.push_back(fmt::format("{} blobs without a row", blobs - files));
    return all;
  }

  SimClock clock_;
  std::unique_ptr<RequestStore> store_ = memory_store(clock_);
  WallTime now_{std::chrono::seconds(1'700'000'000)};
  model::Retention rule_;
  Tenant tenant_;
  TestCache cache_;
  std::vector<std::string> before_;
};

TEST_F(Retire, AJobGoesWithItsResultsWhenItsTimeHasCome) {
  const std::string job = end_one("a.config");
  const std::vector<std::string> all = left();
  EXPECT_EQ(all.size(), before_.size() + 4) << "job, job file, results and report";
  retire_at(now_ + kKeep - Millis(1));
  EXPECT_EQ(left(), all);
  retire_at(now_ + kKeep);
  EXPECT_EQ(left(), before_);
  EXPECT_TRUE(find_file(store_->table(), "t", "input/a.config").ok());
  EXPECT_TRUE(list_jobs(store_->table(), tenant_, now_).value().empty());
}

TEST_F(Retire, AJobThatWasGivenUpIsKeptAsFailedOnesAre) {
  begin(drop("a.config"));
  const WallTime given_up = now_ + hours(1);
  retire_at(given_up + kKeepFailed - Millis(1));
  EXPECT_EQ(list_jobs(store_->table(), tenant_, now_).value().size(), 1U);
  retire_at(given_up + kKeepFailed);
  EXPECT_EQ(left(), before_);
}

TEST_F(Retire, AJobThatIsHeardOfStays) {
  const std::string job = drop("a.config");
  begin(job);
  now_ += kKeepFailed;
  say(job, Word::report, kKeepFailed);
  retire_at(now_ + hours(2));
  EXPECT_TRUE(read_tascaas_job(store_->table(), job).ok());
}

TEST_F(Retire, WhatIsRefusedIsForgottenAsFailedJobsAre) {
  put("input/a.config", "nonsense");
  ASSERT_EQ(take_in(*store_, tenant_, now_).value().size(), 1U);
  retire_at(now_ + kKeepFailed - Millis(1));
  EXPECT_EQ(list_jobs(store_->table(), tenant_, now_).value().size(), 1U);
  retire_at(now_ + kKeepFailed);
  EXPECT_TRUE(list_jobs(store_->table(), tenant_, now_).value().empty());
  EXPECT_TRUE(find_file(store_->table(), "t", "input/refused/a.config").ok());
}

TEST_F(Retire, ForeverIsForever) {
  end_one("a.config");
  begin(drop("b.config"));
  const std::vector<std::string> all = left();
  rule_.Clear();
  retire_at(now_ + 100 * kKeepFailed);
  EXPECT_EQ(left(), all);
  rule_.set_keep_failed_ms(static_cast<uint64_t>(kKeepFailed.count()));
  retire_at(now_ + 100 * kKeepFailed);
  EXPECT_EQ(list_jobs(store_->table(), tenant_, now_).value().size(), 1U);
}

TEST_F(Retire, AFileThatIsPutAgainBecomesANewJob) {
  const std::string job = end_one("a.config");
  retire_at(now_ + kKeep);
  now_ += kKeep;
  const std::string again = drop("a.config");
  EXPECT_NE(again, job);
  begin(again);
  retire_at(now_ + kKeep);
  EXPECT_EQ(read_tascaas_job(store_->table(), again).value().record.ended_ms(), 0);
}

TEST_F(Retire, WhoSpeaksOfAJobThatIsGoneSpeaksOfAnUnknownOne) {
  const std::string job = end_one("a.config");
  retire_at(now_ + kKeep);
  for (const Word word : {Word::start, Word::report, Word::finish}) {
    for (JobCache* cache : {static_cast<JobCache*>(&cache_), static_cast<JobCache*>(nullptr)}) {
      const auto share = next_iterations(*store_, job, {word, 0, 1000, hours(1)}, now_, cache);
      EXPECT_EQ(share.error().code, Code::not_found);
    }
  }
}

TEST_F(Retire, ResultsThatComeLateGoToo) {
  const std::string job = end_one("a.config");
  retire_at(now_ + kKeep);
  now_ += kKeep;
  put(result_key(job, "0", "results.dat"), "late");
  retire_at(now_);
  EXPECT_EQ(left().size(), before_.size() + 1);
  retire_at(now_ + kKeep);
  EXPECT_EQ(left(), before_);
}

// Whoever retires a job dies after so many requests; the next one goes on.
TEST_F(Retire, ARemovalThatIsCutOffIsFinishedLater) {
  bool whole = false;
  for (int requests = 1; !whole && requests < 40; ++requests) {
    const std::string job = end_one("a.config");
    Dying dying(*store_, requests);
    whole = retire(dying, rule_, now_ + kKeep).ok();
    // Each of the files that are left has its bytes, unless it is of a job that is gone.
    if (read_tascaas_job(store_->table(), job).ok()) {
      const std::vector<FileInfo> files = list_files(store_->table(), "t", "").value();
      for (const FileInfo& info : files) {
        EXPECT_TRUE(read_file(*store_, info.file, 1000).ok()) << requests << " " << info.key;
      }
    }
    retire_at(now_ + kKeep);
    EXPECT_EQ(left(), before_) << requests;
    now_ += hours(1);
  }
  EXPECT_TRUE(whole);
}

TEST_F(Retire, ManyAreGoneThroughInSeveralLooks) {
  Intake intake;
  intake.set_refused("nonsense");
  intake.set_at_ms(to_ms(now_));
  std::vector<Write> writes;
  for (size_t i = 0; i < 2 * kRetireRows + 1; ++i) {
    writes.emplace_back(Put{std::string(kTable), intake_row("t", fmt::format("{:06}", i)),
                            intake.SerializeAsString(), 0});
  }
  ASSERT_TRUE(store_->commit(writes).ok());
  for (const size_t more : {kRetireRows + 1, size_t{1}, size_t{0}}) {
    retire_at(now_ + kKeepFailed);
    EXPECT_EQ(store_->table().scan(kTable, "intake/", "", kBatchMax).value().size(), more);
  }
}

TEST_F(Retire, WhoIsNotDueIsLookedAtAgainAfterAllOthers) {
  std::vector<Write> writes;
  Intake intake;
  intake.set_refused("nonsense");
  for (size_t i = 0; i < kRetireRows + 1; ++i) {
    intake.set_at_ms(to_ms(now_) + (i == 0 ? 1000 : 0));
    writes.emplace_back(Put{std::string(kTable), intake_row("t", fmt::format("{:06}", i)),
                            intake.SerializeAsString(), 0});
  }
  ASSERT_TRUE(store_->commit(writes).ok());
  for (int look = 0; look < 2; ++look) retire_at(now_ + kKeepFailed);
  EXPECT_EQ(store_->table().scan(kTable, "intake/", "", kBatchMax).value().size(), 1U);
  retire_at(now_ + kKeepFailed + Millis(1000));
  EXPECT_TRUE(store_->table().scan(kTable, "intake/", "", kBatchMax).value().empty());
}

// Of a store that may stop half-way: the job is gone, and that of its file is left.
TEST_F(Retire, AJobFileWhoseJobIsGoneGoesToo) {
  const std::string job = end_one("a.config");
  ASSERT_TRUE(store_->table().erase(kTable, job_row(job), kAnyVersion).ok());
  retire_at(now_ + kKeep);
  EXPECT_EQ(left(), before_);
}

TEST_F(Retire, TheSweeperDoesIt) {
  end_one("a.config");
  ASSERT_TRUE(retention::write_rule(store_->table(), rule_, false).ok());
  retention::Sweeper sweeper({.sole = true, .not_before = WallTime(), .chores = {retire}});
  ASSERT_TRUE(sweeper.sweep(*store_, {Instant(), now_}).ok());
  EXPECT_NE(left(), before_);
  for (Millis passed(0); passed <= kKeep; passed += hours(1)) {
    ASSERT_TRUE(sweeper.sweep(*store_, {Instant(passed), now_ + passed}).ok());
  }
  EXPECT_EQ(left(), before_);
}

}  // namespace
}  // namespace dunlin::tascaas
