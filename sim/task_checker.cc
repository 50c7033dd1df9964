#include "sim/task_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "model/iterations/ledgers.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin {

const SimJob& TaskChecker::job(const std::string& id) const {
  return *std::ranges::find(jobs_, id, &SimJob::id);
}

// No number is used twice, and an at-most-once task starts once in a round.
void TaskChecker::started(const std::string& id, uint64_t task, uint32_t attempt) {
  if (std::getenv("TRACE") != nullptr) {
    fmt::print(stderr, "{} starts task {}, attempt {}\n", id, task, attempt);
  }
  const bool first = starts_[std::pair(id, task)].insert(attempt).second;
  EXPECT_TRUE(first) << "attempt " << attempt << " of task " << task << " of " << id
                     << " was started twice";
  const bool once = job(id).spec.delivery() == model::DELIVERY_AT_MOST_ONCE;
  EXPECT_FALSE((peace_ || once) && outcomes_.contains({id, task}))
      << "task " << task << " of " << id << " was started although it has an outcome";
  if (!once) return;
  // Behind a network nobody sees when a round begins.
  const uint32_t most = watches_losses_ ? 1 : 1 + retries_[id];
  EXPECT_LE(++this_round_[std::pair(id, task)], most) << "task " << task << " of " << id;
}

void TaskChecker::check_begun(RequestStore& store, const std::string& id, uint64_t task,
                              uint32_t attempt) const {
  const std::vector<std::string> keys{page_key(id, page_of(task))};
  const Row row = store.table().get(kPages, keys).value()[0];
  model::Page page;
  if (is_gone(store, job(id)) || !page.ParseFromString(row.value)) return;  // Damaged, or removed.
  const bool claimed = std::ranges::any_of(page.claims(), [&](const model::Claim& claim) {
    return claim.offset() == offset_of(task) && claim.attempt() >= attempt;
  });
  EXPECT_TRUE(claimed || page.begun() >= attempt)
      << "attempt " << attempt << " of task " << task << " of " << id << " is not on record";
}

uint64_t TaskChecker::starts(const std::string& id, uint64_t task) const {
  const auto found = starts_.find({id, task});
  return found == starts_.end() ? 0 : found->second.size();
}

void TaskChecker::redelivered(const Delivery& delivery) {
  model::Range range;
  model::Note note;
  if (!range.ParseFromString(delivery.body) || !note.ParseFromString(delivery.note)) return;
  const uint64_t last = note.has_last() ? note.last() : range.last();
  const uint32_t before = std::max(range.attempt(), 1U) + delivery.attempt - 2;
  for (uint64_t task = range.first(); task < last; ++task) {
    const Task which{range.job(), task};
    if (!outcomes_.contains(which)) returned_[which].insert(before);
  }
}

void TaskChecker::iterated(const std::string& id, uint64_t task, uint32_t attempt,
                           const balance::Span& span) {
  spans_[{id, task, attempt}].push_back(span);
}

// Those that ended well have done no iteration twice; and all of them, if nobody failed.
void TaskChecker::check_iterations(const SimJob& one,
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

// An outcome that was visible once stays, unless it is a failure and the job is retried.
void TaskChecker::page_written(RequestStore& store, const std::string& key,
                               const std::string& value) {
  const std::string id = key.substr(0, key.find('/'));
  if (is_gone(store, job(id))) return;
  const uint64_t number = std::stoull(key.substr(id.size() + 1), nullptr, 16);
  model::Page page;
  ASSERT_TRUE(page.ParseFromString(value));
  for (const model::Claim& claim : page.claims()) {
    claims_[{id, number * kPageTasks + claim.offset()}].insert(claim.attempt());
  }
  std::set<uint32_t> offsets;
  const bool relaxed = job(id).spec.delivery() == model::DELIVERY_RELAXED;
  for (const model::Outcome& outcome : page.outcomes()) {
    EXPECT_TRUE(offsets.insert(outcome.offset()).second) << "two outcomes for one task";
    EXPECT_LT(outcome.worker(), static_cast<uint32_t>(page.workers_size()));
    const auto [place, fresh] =
        outcomes_.try_emplace({id, number * kPageTasks + outcome.offset()},
                              Won{outcome.attempt(), outcome.state() == model::STATE_OK});
    EXPECT_TRUE(fresh || place->second.attempt == outcome.attempt() || relaxed)
        << "the outcome of task " << place->first.second << " of " << id << " changed";
    if (!fresh) continue;
    const auto before = taken_out_.find(place->first);
    EXPECT_TRUE(before == taken_out_.end() || before->second < outcome.attempt())
        << "the outcome of task " << place->first.second << " of " << id
        << " came back after it was taken out";
    check_outcome(job(id), place->first.second, page, outcome);
  }
  auto old = outcomes_.lower_bound({id, number * kPageTasks});
  while (old != outcomes_.end() && old->first < Task(id, (number + 1) * kPageTasks)) {
    if (offsets.contains(offset_of(old->first.second))) {
      ++old;
      continue;
    }
    EXPECT_TRUE(job(id).retried > 0 && !old->second.ok)
        << "the outcome of task " << old->first.second << " of " << id << " is gone";
    taken_out_[old->first] = old->second.attempt;
    this_round_.erase(old->first);
    claims_.erase(old->first);
    returned_.erase(old->first);
    old = outcomes_.erase(old);
  }
}

// Each outcome is told in one message, and what is told is true.
void TaskChecker::replied(RequestStore* store, const std::string& message,
                          const std::string& body) {
  model::Reply reply;
  ASSERT_TRUE(reply.ParseFromString(body));
  for (const model::Reply::Part& part : reply.parts()) {
    for (const model::Outcome& outcome : part.outcomes().outcomes()) {
      const uint64_t task = part.page() * kPageTasks + outcome.offset();
      const auto [place, fresh] =
          replies_.try_emplace({reply.job(), task, outcome.attempt()}, message);
      // What comes late for a page that went with its job is told anew.
      const SimJob& one = job(reply.job());
      const bool gone = store == nullptr ? one.goes() : is_gone(*store, one);
      EXPECT_TRUE(place->second == message || gone)
          << "task " << task << " of " << reply.job() << " is told in two messages";
      const auto won = outcomes_.find({reply.job(), task});
      if (!watches_losses_ || won == outcomes_.end()) continue;
      const bool retried = job(reply.job()).retried > 0 && won->second.attempt > outcome.attempt();
      EXPECT_TRUE(won->second.attempt == outcome.attempt() || retried)
          << "task " << task << " of " << reply.job() << " was told another outcome";
    }
  }
}

bool TaskChecker::is_gone(RequestStore& store, const SimJob& job) {
  if (!job.goes()) return false;
  const std::vector<std::string> keys{job.id};
  const Row row = store.table().get(kJobs, keys).value()[0];
  model::Job record;
  EXPECT_TRUE(record.ParseFromString(row.value));
  return row.version == 0 || record.gone_us() != 0;
}

void TaskChecker::has_ended_before(const std::string& id, uint64_t number,
                                   const model::Page& page) {
  ended_.insert(id);
  for (const model::Outcome& outcome : page.outcomes()) {
    const Task task{id, number * kPageTasks + outcome.offset()};
    starts_[task].insert(outcome.attempt());
    outcomes_[task] = {outcome.attempt(), outcome.state() == model::STATE_OK};
  }
}

// A job that is done has all its outcomes at that moment.
void TaskChecker::job_ended(RequestStore& store, const std::string& id, const std::string& value) {
  model::End end;
  ASSERT_TRUE(end.ParseFromString(value));
  if (is_gone(store, job(id))) return;
  ended_.insert(id);
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

void TaskChecker::check(RequestStore& store) {
  for (const SimJob& one : jobs_) check_job(store, one);
  check_nothing_left(store);
  check_removed(store);
}

// A job that was removed has ended before, leaves nothing, and is counted once.
void TaskChecker::check_removed(RequestStore& store) const {
  uint64_t removed = 0;
  for (const SimJob& one : jobs_) {
    if (!is_gone(store, one)) continue;
    ++removed;
    EXPECT_TRUE(ended_.contains(one.id) || !watches_losses_) << one.id << " never ended";
    for (const std::string_view table : {kJobs, kEnds}) {
      const std::vector<std::string> keys{one.id};
      EXPECT_EQ(store.table().get(table, keys).value()[0].version, 0) << table << " " << one.id;
    }
    for (const std::string_view table : {kPages, kNodes, kOutputs}) {
      const auto rows = store.table().scan(table, one.id + "/", "", 1).value();
      EXPECT_TRUE(rows.empty()) << rows[0].key << " is left in " << table;
    }
    // Behind a network an upload may come to its end long after its worker has died, and a
    // partition that comes back begins a ledger again. Sweepers look for such things once a day.
    const auto blobs = store.blobs().list("jobs/" + one.id + "/", "", 1).value();
    EXPECT_TRUE(blobs.empty() || !watches_losses_) << blobs[0].name << " is left";
  }
  uint64_t counted = 0;
  const auto days = store.table().scan(kHistory, "", "", 1000).value();
  for (const Row& row : days) {
    model::History history;
    EXPECT_TRUE(history.ParseFromString(row.value));
    counted += history.jobs();
  }
  EXPECT_EQ(counted, removed) << "jobs are in the history";
}

void TaskChecker::check_nothing_left(RequestStore& store) const {
  const auto rows = [&](std::string_view table) {
    return store.table().scan(table, "", "", 10).value();
  };
  EXPECT_TRUE(rows(kWaits).empty()) << "job " << rows(kWaits)[0].key << " still waits";
  EXPECT_TRUE(rows(kAfter).empty()) << rows(kAfter)[0].key << " is left in after";
  const Info info = store.info().value();
  const std::set<std::string> known = {"jobs",   "ends",    "pages",   "nodes",   "outputs",
                                       "routes", "workers", "ledgers", "history", "retention"};
  for (const Info::TableInfo& table : info.tables) {
    EXPECT_TRUE(known.contains(table.name)) << "rows are left in " << table.name;
  }
  for (const Info::QueueInfo& queue : info.queues) {
    EXPECT_TRUE(queue.name.starts_with("reply.")) << "messages are left in " << queue.name;
  }
}

void TaskChecker::check_lost(const SimJob& one, uint64_t task, const model::Page& page,
                             const model::Outcome& outcome) const {
  const auto claimed = std::ranges::find(page.claims(), outcome.offset(), &model::Claim::offset);
  EXPECT_NE(claimed, page.claims().end())
      << "task " << task << " of " << one.id << " is lost (" << outcome.why()
      << "), but nobody claims to have started it: attempt " << outcome.attempt();
  if (!watches_losses_) return;
  const Task which{one.id, task};
  const auto attempts = [&](const std::map<Task, std::set<uint32_t>>& all) {
    const auto found = all.find(which);
    return found == all.end() ? std::set<uint32_t>() : found->second;
  };
  const std::set<uint32_t> returned = attempts(returned_);
  if (one.spec.delivery() == model::DELIVERY_AT_MOST_ONCE) {
    EXPECT_TRUE(!returned.empty() || (stops_ && outcome.why() == "its worker was stopped"))
        << "task " << task << " of " << one.id << " is lost, but no worker was: attempt "
        << outcome.attempt() << ", " << outcome.why();
    return;
  }
  // Each loss is a lease that ended; and all but one are on record. (A claim whose worker died
  // before it could start the task counts as well: nobody can tell.)
  const std::set<uint32_t> starts = attempts(starts_);
  const std::set<uint32_t> claims = attempts(claims_);
  const auto losses = std::ranges::count_if(returned, [&](uint32_t attempt) {
    return starts.contains(attempt) || claims.contains(attempt);
  });
  EXPECT_TRUE(losses + 1 >= losses_max(one.spec) && returned.size() >= losses_max(one.spec))
      << "task " << task << " of " << one.id << " is lost after " << losses << " losses and "
      << returned.size() << " returns: " << outcome.why();
}

void TaskChecker::check_job(RequestStore& store, const SimJob& one) {
  const std::vector<std::string> keys{one.id};
  if (is_gone(store, one)) return;
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
      if (outcome.state() == model::STATE_OK) well.emplace(task, outcome.attempt());
      check_outcome(one, task, record, outcome);
      if (outcome.state() != model::STATE_LOST) check_output(store, one, task, outcome);
    }
  }
  if (one.spec.has_iterations()) check_iterations(one, well);
  EXPECT_EQ(found, one.spec.tasks()) << one.id;
  EXPECT_EQ(end.ok(), counts.ok) << one.id;
  EXPECT_EQ(end.failed(), counts.failed) << one.id;
}

void TaskChecker::check_outcome(const SimJob& one, uint64_t task, const model::Page& page,
                                const model::Outcome& outcome) {
  if (outcome.state() == model::STATE_LOST) return check_lost(one, task, page, outcome);
  const Conduct& conduct = one.conduct(task);
  EXPECT_TRUE(starts_[std::pair(one.id, task)].contains(outcome.attempt()))
      << "task " << task << " of " << one.id << " has an outcome of attempt " << outcome.attempt()
      << ", which was never started: " << outcome.why();
  EXPECT_NE(outcome.state(), model::STATE_REFUSED)
      << "task " << task << " of " << one.id << ": " << outcome.why();
  EXPECT_NE(conduct.kills, Conduct::kAlways);
  EXPECT_TRUE(conduct.fails > 0 || outcome.state() == model::STATE_OK);
}

void TaskChecker::check_output(RequestStore& store, const SimJob& one, uint64_t task,
                               const model::Outcome& outcome) const {
  const model::Output& out = outcome.out();
  if (one.spec.has_iterations()) return;
  switch (one.conduct(task).output) {
    case Conduct::Output::none:
      EXPECT_EQ(out.ByteSizeLong(), 0U);
      return;
    case Conduct::Output::row: {
      EXPECT_EQ(out.where(), model::Output::ROW);
      const std::vector<std::string> row{output_key(one.id, task, outcome.attempt(), "out")};
      EXPECT_EQ(store.table().get(kOutputs, row).value()[0].value, std::string(kRowOutput, 'x'));
      return;
    }
    case Conduct::Output::blob: {
      EXPECT_EQ(out.where(), model::Output::BLOB);
      const std::string name = blob_name(one.id, task, outcome.attempt(), "out");
      const auto bytes = store.blobs().get(name, 0, 1000);
      EXPECT_TRUE(bytes.ok() && bytes.value() == blob_output(one.id, task, outcome.attempt()))
          << "the output of task " << task << " of " << one.id << " is not there";
      return;
    }
  }
}

}  // namespace dunlin
