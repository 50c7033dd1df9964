#include "model/jobs/steer.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "model/jobs/release.h"
#include "model/jobs/results.h"
#include "model/jobs/submit.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/rows.h"
#include "store/compare_and_set.h"

namespace dunlin {
namespace {

Error too_busy(const std::string& job) {
  return {Code::conflict, fmt::format("job {} keeps changing: try again", job)};
}

Error retried_by_others(const std::string& job) {
  return {Code::conflict,
          fmt::format("another client has just retried job {}: look at it with `dunlin status {}`",
                      job, job)};
}

// One page, from reading to commit.
class PageRetry {
 public:
  // `job` is as it will be, `end` the version of its end; 0: it has none.
  PageRetry(Store& store, const Stored<model::Job>& job, uint64_t end, uint64_t number,
            int64_t now_us)
      : store_(store),
        stored_(job),
        job_(job.record),
        end_(end),
        number_(number),
        now_us_(now_us) {}

  uint64_t tasks() const { return tasks_; }  // That the commit queues again.
  // It was retried in this round before: what has failed since then is left to another retry.
  bool is_done() const { return is_done_; }

  // Returns the version of the job's row; 0: there was nothing to do.
  Result<uint64_t> commit() {
    std::vector<Write> writes = TRY(this->writes());
    if (writes.empty()) return uint64_t{0};
    writes.insert(writes.begin(), same_again(stored_));
    if (end_ != 0) writes.emplace_back(put_route(job_));
    return store_.commit(writes);
  }

 private:
  // Nothing to write if no task of it failed. `conflict` if it changes while we read.
  Result<std::vector<Write>> writes() {
    Table& table = store_.table();
    const std::string key = page_key(job_.id(), number_);
    const auto page = TRY(read_record<model::Page>(table, kPages, key));
    is_done_ = page.record.round() == job_.round();
    if (is_done_) return std::vector<Write>();
    Push push = requeue(TRY(results_of(number_, page.record)), page.record);
    if (push.messages.empty()) return std::vector<Write>();
    const bool full = is_full(page.record, number_, job_.spec().tasks());
    std::vector<Write> writes = {Put{
        std::string(kPages), key, without_failed(page.record).SerializeAsString(), page.version}};
    if (full) TRY(cut_tree(counts_of(page.record), writes));
    // As it was read: workers may have ended the job meanwhile (version 0: it must not be there).
    writes.emplace_back(Erase{std::string(kEnds), job_.id(), end_});
    writes.emplace_back(std::move(push));
    return writes;
  }

  model::Page without_failed(const model::Page& page) const {
    model::Page kept = page;
    std::string failed;
    for (const model::Outcome& outcome : page.outcomes()) {
      if (outcome.state() != model::STATE_OK) set_bit(failed, outcome.offset());
    }
    const auto is_failed = [&](const auto& one) { return has_bit(failed, one.offset()); };
    auto& outcomes = *kept.mutable_outcomes();
    outcomes.erase(std::remove_if(outcomes.begin(), outcomes.end(), is_failed), outcomes.end());
    auto& claims = *kept.mutable_claims();
    claims.erase(std::remove_if(claims.begin(), claims.end(), is_failed), claims.end());
    for (uint32_t bit = 0; bit < kPageTasks; ++bit) {
      if (has_bit(failed, bit)) clear_bit(*kept.mutable_moved(), bit);
    }
    kept.set_round(job_.round());
    kept.set_begun(begun_);
    return kept;
  }

  // Takes the page's bit away, and those of the nodes above that were full because of it. The job
  // has ended with this page, so the bits are there, unless others retry it as well.
  Result<void> cut_tree(Counts below, std::vector<Write>& writes) {
    const uint64_t tasks = job_.spec().tasks();
    uint64_t child = number_;
    for (uint32_t level = 1; level <= root_level(tasks); ++level) {
      const uint64_t number = parent_of(child);
      const std::string key = node_key(job_.id(), level, number);
      const auto stored = TRY(read_record<model::Node>(store_.table(), kNodes, key));
      model::Node node = stored.record;
      if (!remove_child(node, child_of(child), below)) {
        return Error{Code::conflict, fmt::format("node {} has changed: read it again", key)};
      }
      node.set_round(job_.round());
      writes.emplace_back(Put{std::string(kNodes), key, node.SerializeAsString(), stored.version});
      if (!is_full(stored.record, level, number, tasks)) return {};
      below = counts_of(stored.record);
      child = number;
    }
    return {};
  }

  // The outcome may be that of an attempt which was taken for lost when a later one had begun.
  static uint32_t last_attempt(const model::Page& page, const model::Outcome& outcome) {
    uint32_t last = std::max(outcome.attempt(), page.begun());
    for (const model::Claim& claim : page.claims()) {
      if (claim.offset() == outcome.offset()) last = std::max(last, claim.attempt());
    }
    return last;
  }

  // From the first failed task to the last, in one range: workers look at the page, and leave out
  // those that have an outcome. Tasks without one are in a message already, and not in the range.
  // (A range for each run of failed tasks would be more rows than some stores take at once.)
  Push requeue(const std::vector<TaskResult>& results, const model::Page& page) {
    std::vector<model::Range> ranges;
    tasks_ = 0;
    begun_ = page.begun();
    uint64_t next = 0;  // After the last one of those that lie side by side.
    bool joined = false;
    for (const TaskResult& result : results) {
      joined = joined && result.task == next;
      next = result.task + 1;
      if (result.outcome.state() == model::STATE_OK) continue;
      ++tasks_;
      if (!std::exchange(joined, true)) {
        model::Range& range = ranges.emplace_back();
        range.set_job(job_.id());
        range.set_first(result.task);
        range.set_seen(true);
        range.set_round(job_.round());
        range.set_sent_us(now_us_);
        embed_spec(range, job_.spec());
      }
      model::Range& range = ranges.back();
      range.set_last(result.task + 1);
      range.set_attempt(std::max(range.attempt(), last_attempt(page, result.outcome) + 1));
      begun_ = std::max(begun_, range.attempt());
    }
    Push push{.queue = job_.queue(), .messages = {}};
    for (const model::Range& range : ranges) {
      push.messages.push_back({range_id(range), range.SerializeAsString()});
    }
    return push;
  }

  Store& store_;
  const Stored<model::Job>& stored_;
  const model::Job& job_;
  const uint64_t end_;
  const uint64_t number_;
  const int64_t now_us_;
  uint64_t tasks_ = 0;
  uint32_t begun_ = 0;  // The largest attempt that it queues, or that was queued before.
  bool is_done_ = false;
};

Result<void> check_kind(const std::string& job, model::End::Kind kind) {
  if (kind == model::End::DONE) return {};
  return Error{Code::invalid, fmt::format("job {} was {}: submit it again instead", job,
                                          kind == model::End::CANCELLED ? "cancelled" : "skipped")};
}

// Repeats until the commit is not in anybody's way. Returns how many tasks were queued.
//
// Workers may be through with the pages before this one, so that the job has ended again: then it
// is opened again, too, in another round. What belongs to a round that has ended is dropped by
// them. Each commit writes the job's row: a round is that of the one retry which opened it, and who
// is late finds the job in another round, or gone.
Result<uint64_t> retry_page(Store& store, Stored<model::Job>& job, bool& first, uint64_t number,
                            int64_t now_us) {
  const std::string id = job.record.id();
  uint64_t sent = 0;  // Tasks of the last commit. It may have been made although it was refused.
  return compare_and_set(too_busy(id), [&]() -> Round<uint64_t> {
    const auto end = TRY(read_record<model::End>(store.table(), kEnds, id));
    const bool opens = end.version != 0;
    if (opens) TRY(check_kind(id, end.record.kind()));
    if (first && !opens) return retried_by_others(id);  // We had found it ended.
    Stored<model::Job> next = job;
    if (opens) next.record.set_round(job.record.round() + 1);
    PageRetry retry(store, next, end.version, number, now_us);
    const Result<uint64_t> committed = retry.commit();
    if (committed.ok() && committed.value() == 0) {
      return std::optional(retry.is_done() ? sent : uint64_t{0});
    }
    if (committed.ok()) {
      first = false;
      job = Stored<model::Job>{std::move(next.record), committed.value()};
      return std::optional(retry.tasks());
    }
    if (committed.error().code != Code::conflict) return committed.error();
    Stored<model::Job> now = TRY(read_job(store.table(), id));
    if (now.record.round() != job.record.round()) return retried_by_others(id);
    job = std::move(now);
    sent = retry.tasks();
    return std::optional<uint64_t>();
  });
}

}  // namespace

Result<std::optional<Standing>> cancel_job(Store& store, const std::string& job, int64_t now_us) {
  Table& table = store.table();
  using Before = std::optional<Standing>;  // None: it was this call that cancelled it.
  return compare_and_set(too_busy(job), [&]() -> Round<Before> {
    const Stored<model::Job> stored = TRY(read_job(table, job));
    const model::Job& record = stored.record;
    const Standing standing = TRY(read_standings(table, {job})).front();
    if (has_ended(standing.state)) {
      // Who cancelled it may have died before it told those that come after.
      TRY(release_dependants(store, job, now_us));
      return std::optional<Before>(standing);
    }
    const auto counted = read_counts(table, record, standing);
    // A damaged page must not keep the job going for ever.
    if (!counted.ok() && !is_passed_over(counted.error())) return counted.error();
    const Counts counts = counted.ok() ? counted.value() : Counts{};
    model::End end;
    end.set_kind(model::End::CANCELLED);
    end.set_ok(counts.ok);
    end.set_failed(counts.failed);
    end.set_ended_us(now_us);
    // The job is as we found it: it was not removed since, nor started if it waits.
    std::vector<Write> writes = {same_again(stored),
                                 Put{std::string(kEnds), job, end.SerializeAsString(), 0}};
    // One that waits has no message yet. With this one a worker finds the end and looks after those
    // that come after it, should we die on the next line.
    if (standing.state == JobState::waiting) {
      writes.emplace_back(put_route(record));
      writes.emplace_back(Push{record.queue(), first_messages(record, 0)});
    }
    if (!TRY(unless_conflict(store.commit(writes)))) return std::optional<Before>();
    TRY(release_if_ready(store, job, now_us));  // Forgets that it waited.
    TRY(release_dependants(store, job, now_us));
    return std::optional<Before>(std::in_place);
  });
}

Result<Retried> retry_failed(Store& store, const std::string& job, int64_t now_us) {
  Table& table = store.table();
  Stored<model::Job> stored = TRY(read_job(table, job));
  const Standing standing = TRY(read_standings(table, {job})).front();
  if (!has_ended(standing.state)) {
    return Error{Code::conflict,
                 fmt::format("job {} has not ended: `dunlin wait {}` first", job, job)};
  }
  TRY(check_kind(job, standing.end.kind()));
  Retried retried{.tasks = 0, .round = stored.record.round() + 1};
  uint64_t left = standing.end.failed();
  bool first = true;
  const auto take = [&](uint64_t number, const model::Page& page) -> Result<bool> {
    if (counts_of(page).failed == 0) return true;
    const uint64_t tasks = TRY(retry_page(store, stored, first, number, now_us));
    retried.tasks += tasks;
    retried.round = stored.record.round();
    left -= std::min(left, tasks);
    return left > 0;
  };
  if (left > 0) {
    TRY(read_pages(
        table, job, 0, level_size(0, stored.record.spec().tasks()), [](uint64_t) { return false; },
        take));
    // The failures that the end speaks of are gone: the job was removed, or opened by others.
    if (retried.tasks == 0) TRY(read_job(table, job));
    if (retried.tasks == 0) return retried_by_others(job);
  }
  return retried;
}

}  // namespace dunlin
