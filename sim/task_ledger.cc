#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>

#include "model/keys.h"
#include "model/tree.h"
#include "sim/task_world.h"

namespace dunlin {

const SimJob& TaskLedger::job(const std::string& id) const {
  return *std::ranges::find(jobs_, id, &SimJob::id);
}

// In one round no number is used twice, and an at-most-once task has only one.
void TaskLedger::started(const std::string& id, uint64_t task, uint32_t attempt) {
  auto& attempts = starts_[{id, task}];
  const bool relaxed = job(id).spec.delivery() == model::DELIVERY_RELAXED;
  EXPECT_TRUE(attempts.insert(attempt).second || relaxed)
      << "attempt " << attempt << " of task " << task << " of " << id << " was started twice";
  if (job(id).spec.delivery() == model::DELIVERY_AT_MOST_ONCE) {
    EXPECT_EQ(attempts.size(), 1U) << "task " << task << " of " << id;
  }
}

uint64_t TaskLedger::starts(const std::string& id, uint64_t task) const {
  const auto found = starts_.find({id, task});
  return found == starts_.end() ? 0 : found->second.size();
}

void TaskLedger::iterated(const std::string& id, uint64_t task, uint32_t attempt,
                          const balance::Span& span) {
  spans_[{id, task, attempt}].push_back(span);
}

// Those that ended well have done no iteration twice; and all of them, if nobody failed.
void TaskLedger::check_iterations(const SimJob& one,
                                  const std::map<uint64_t, uint32_t>& well) const {
  std::vector<balance::Span> spans;
  for (const auto& [task, attempt] : well) {
    const auto found = spans_.find({one.id, task, attempt});
    if (found == spans_.end()) continue;
    spans.insert(spans.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(spans, {}, &balance::Span::first);
  uint64_t at = 0;
  uint64_t sum = 0;
  for (const balance::Span& span : spans) {
    EXPECT_GE(span.first, at) << one.id << ": an iteration counts twice";
    at = span.last;
    sum += span.size();
  }
  EXPECT_LE(at, one.spec.iterations().total());
  if (well.size() == one.spec.tasks()) {
    EXPECT_EQ(sum, one.spec.iterations().total()) << one.id << ": iterations are missing";
  }
}

// An outcome that was visible once stays.
void TaskLedger::page_written(const std::string& key, const std::string& value) {
  const std::string id = key.substr(0, key.find('/'));
  const uint64_t number = std::stoull(key.substr(id.size() + 1), nullptr, 16);
  model::Page page;
  ASSERT_TRUE(page.ParseFromString(value));
  std::set<uint32_t> offsets;
  const bool relaxed = job(id).spec.delivery() == model::DELIVERY_RELAXED;
  for (const model::Outcome& outcome : page.outcomes()) {
    EXPECT_TRUE(offsets.insert(outcome.offset()).second) << "two outcomes for one task";
    const auto [place, fresh] =
        outcomes_.try_emplace({id, number * kPageTasks + outcome.offset()},
                              Won{outcome.attempt(), outcome.state() == model::STATE_OK});
    EXPECT_TRUE(fresh || place->second.attempt == outcome.attempt() || relaxed)
        << "the outcome of task " << place->first.second << " of " << id << " changed";
  }
}

// A job that is done has all its outcomes at that moment.
void TaskLedger::job_ended(CallStore& store, const std::string& id, const std::string& value) {
  model::End end;
  ASSERT_TRUE(end.ParseFromString(value));
  if (end.kind() != model::End::DONE) return;
  Counts counts;
  const uint64_t tasks = job(id).spec.tasks();
  for (uint64_t page = 0; page * kPageTasks < tasks; ++page) {
    const std::vector<std::string> name{page_key(id, page)};
    model::Page record;
    ASSERT_TRUE(record.ParseFromString(store.table().get(kPages, name).value()[0].value));
    EXPECT_TRUE(is_full(record, page, tasks)) << id << " ended without page " << page;
    counts.ok += counts_of(record).ok;
    counts.failed += counts_of(record).failed;
  }
  EXPECT_EQ(end.ok(), counts.ok) << id;
  EXPECT_EQ(end.failed(), counts.failed) << id;
}

void TaskLedger::retried(const std::string& id) {
  for (auto it = outcomes_.begin(); it != outcomes_.end();) {
    if (it->first.first != id || it->second.ok) {
      ++it;
      continue;
    }
    starts_.erase(it->first);
    it = outcomes_.erase(it);
  }
}

void TaskLedger::check(CallStore& store) {
  for (const SimJob& one : jobs_) check_job(store, one);
  EXPECT_TRUE(store.table().scan(kWaits, "", "", 10).value().empty()) << "somebody still waits";
  // Of messages that had several holders the row stays.
  const auto splits = store.table().scan(kSplits, "", "", 1000).value();
  for (const Row& row : splits) {
    EXPECT_TRUE(redelivered_.contains(row.key)) << row.key << " = " << row.value << " was left";
  }
}

void TaskLedger::check_lost(const SimJob& one, const model::Page& page,
                            const model::Outcome& outcome) const {
  EXPECT_TRUE(std::ranges::any_of(
      page.claims(), [&](const model::Claim& claim) { return claim.offset() == outcome.offset(); }))
      << "task " << outcome.offset() << " of a page of " << one.id << " is lost (" << outcome.why()
      << "), but nobody claims to have started it: attempt " << outcome.attempt();
  const bool once = one.spec.delivery() == model::DELIVERY_AT_MOST_ONCE;
  EXPECT_TRUE(losses_ || once) << one.id << ": lost, but no worker was";
}

void TaskLedger::check_job(CallStore& store, const SimJob& one) {
  const std::vector<std::string> keys{one.id};
  model::End end;
  ASSERT_TRUE(end.ParseFromString(store.table().get(kEnds, keys).value()[0].value));
  if (end.kind() != model::End::DONE) {
    EXPECT_TRUE(one.cancelled || one.spec.after_size() > 0) << one.id;
    return;
  }
  Counts counts;
  uint64_t found = 0;
  std::map<uint64_t, uint32_t> well;
  for (uint64_t page = 0; page * kPageTasks < one.spec.tasks(); ++page) {
    const std::vector<std::string> name{page_key(one.id, page)};
    model::Page record;
    ASSERT_TRUE(record.ParseFromString(store.table().get(kPages, name).value()[0].value));
    EXPECT_TRUE(is_full(record, page, one.spec.tasks())) << one.id << " page " << page;
    counts.ok += counts_of(record).ok;
    counts.failed += counts_of(record).failed;
    for (const model::Outcome& outcome : record.outcomes()) {
      ++found;
      const uint64_t task = page * kPageTasks + outcome.offset();
      const Conduct& conduct = one.tasks[task];
      if (outcome.state() == model::STATE_LOST) {
        check_lost(one, record, outcome);
        continue;
      }
      if (outcome.state() == model::STATE_OK) well.emplace(task, outcome.attempt());
      const auto& attempts = starts_[std::pair(one.id, task)];
      EXPECT_TRUE(attempts.contains(outcome.attempt()))
          << "task " << task << " of " << one.id << " has an outcome of attempt "
          << outcome.attempt() << ", which was never started";
      EXPECT_FALSE(conduct.kills_worker);
      EXPECT_TRUE(conduct.fails > 0 || outcome.state() == model::STATE_OK);
      if (outcome.out().where() == model::Output::ROW) {
        const std::vector<std::string> row{output_key(one.id, task, outcome.attempt(), "out")};
        EXPECT_EQ(store.table().get(kOutputs, row).value()[0].value, std::string(2000, 'x'));
      } else {
        EXPECT_FALSE(conduct.large_output && outcome.state() == model::STATE_OK);
      }
    }
  }
  if (one.spec.has_iterations()) check_iterations(one, well);
  EXPECT_EQ(found, one.spec.tasks()) << one.id;
  EXPECT_EQ(end.ok(), counts.ok) << one.id;
  EXPECT_EQ(end.failed(), counts.failed) << one.id;
}

}  // namespace dunlin
