#include "model/jobs/cascade.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/names.h"
#include "model/jobs/release.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/sound.h"

namespace dunlin {
namespace {

constexpr uint64_t kRowsPerScan = 1000;
constexpr uint32_t kConflictsMax = 100;  // Of one job, in a row.

// As much of a job as is needed to forget that it waited.
model::Job short_of(const std::string& id, const std::vector<std::string>& after) {
  model::Job job;
  job.set_id(id);
  for (const std::string& other : after) job.mutable_spec()->add_after(other);
  return job;
}

// A store refuses requests that name what cannot be, and a token those for queues of others. Then
// whoever releases the job would try again for ever, or end.
Result<void> check_names(const model::Job& job) {
  const auto& after = job.spec().after();
  if (is_name(job.id()) && is_work_queue(job.queue()) && after.size() <= kAfterMax &&
      is_after(after)) {
    return {};
  }
  return Error{
      Code::corrupt,
      fmt::format("row {} of table jobs is malformed: look at it with `dunlin store get jobs {}`",
                  job.id(), job.id())};
}

}  // namespace

Cascade Cascade::after(std::string ended) {
  Cascade cascade;
  cascade.inside_.insert(ended);
  cascade.levels_.push_back({.ended = std::move(ended), .after = {}});
  return cascade;
}

Cascade Cascade::of(std::string job) {
  Cascade cascade;
  cascade.id_ = std::move(job);
  cascade.step_ = Step::job;
  return cascade;
}

Request Cascade::next(int64_t now_us) {
  switch (step_) {
    case Step::job:
      return Get{std::string(kJobs), {id_}};
    case Step::waits:
      return Get{std::string(kWaits), {id_}};
    case Step::ends: {
      const auto& after = job_.record.spec().after();
      Get get{std::string(kEnds), {}};
      for (int i = static_cast<int>(ends_.size()); i < after.size(); ++i) {
        get.keys.push_back(after.Get(i));
      }
      get.keys.push_back(id_);
      return get;
    }
    case Step::write:
      return Commit{0, skip_ ? skip_writes(job_, *skip_, now_us) : go_writes(job_, now_us)};
    case Step::forget:
      return Commit{0, skipped_writes(short_of(levels_.back().ended, levels_.back().after))};
    case Step::look:
      break;
  }
  CHECK(!levels_.empty());
  const std::string prefix = after_key(levels_.back().ended, "");
  // The mark has the shortest key; it stands for none of them.
  return Scan{std::string(kAfter), prefix, std::max(prefix, levels_.back().read_to), kRowsPerScan};
}

Result<void> Cascade::take(Answer&& answer) {
  if (const auto* error = std::get_if<Error>(&answer)) {
    if (error->code != Code::conflict || step_ == Step::forget) return *error;
    step_ = Step::job;  // Somebody else did something about it.
    if (++conflicts_ == kConflictsMax) pass_over(*error);
    return {};
  }
  if (std::holds_alternative<Committed>(answer)) {
    if (step_ == Step::forget) {
      leave_level();
    } else if (skip_) {
      descend();
      return {};
    }
    settle();
    return {};
  }
  auto* rows = std::get_if<Rows>(&answer);
  if (rows == nullptr) {
    return Error{Code::unavailable, "the store gave an answer of another kind than the request"};
  }
  if (step_ == Step::look) {
    scanned(std::move(rows->rows));
    return {};
  }
  const Row* row = rows->rows.empty() ? nullptr : rows->rows.data();
  const Result<void> taken = step_ == Step::ends ? take_ends(std::move(rows->rows)) : take_row(row);
  if (!taken.ok()) pass_over(taken.error());
  return {};
}

// Damage of one job must not stand in the way of the others.
void Cascade::pass_over(const Error& error) {
  trouble_ = error;
  settle();
}

Result<void> Cascade::take_row(const Row* row) {
  if (row == nullptr || row->version == 0) {  // It was removed, or it waits no more.
    settle();
  } else if (step_ == Step::job) {
    job_ = TRY(parse_job(*row));
    if (job_.record.gone_us() != 0) {
      settle();
      return {};
    }
    TRY(check_names(job_.record));
    step_ = Step::waits;
  } else {
    ends_.clear();
    step_ = Step::ends;
  }
  return {};
}

void Cascade::scanned(std::vector<Row>&& rows) {
  Level& level = levels_.back();
  const size_t start = after_key(level.ended, "").size();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    level.jobs.push_back(row->key.substr(start));
  }
  if (rows.empty()) {
    level.all_read = true;
  } else {
    level.read_to = std::move(rows.back().key);
  }
  settle();
}

// An answer may hold only the first rows.
Result<void> Cascade::take_ends(std::vector<Row>&& rows) {
  for (Row& row : rows) ends_.push_back(std::move(row));
  const auto wanted = static_cast<size_t>(job_.record.spec().after_size()) + 1;
  if (rows.empty() || ends_.size() > wanted) {
    return Error{Code::corrupt, fmt::format("the store gave {} rows for {} keys of table {}",
                                            ends_.size(), wanted, kEnds)};
  }
  if (ends_.size() < wanted) return {};
  const Row own = std::move(ends_.back());
  ends_.pop_back();
  if (own.version != 0) {
    // One that is done waits no more, whatever we saw before. It may be opened again, so the mark
    // of those that come after it is left to whoever ended it.
    const model::End end = TRY(parse_row<model::End>(kEnds, own)).record;
    end.kind() == model::End::DONE ? settle() : descend();
    return {};
  }
  const Decision decision = TRY(decide_release(job_.record.spec(), ends_));
  if (decision.what == Release::wait) {
    settle();
    return {};
  }
  skip_.reset();
  if (decision.what == Release::skip) skip_ = decision.why;
  step_ = Step::write;
  return {};
}

void Cascade::descend() {
  // In a ring: what comes after it is being looked at already.
  if (!inside_.insert(id_).second) return settle();
  const auto& after = job_.record.spec().after();
  levels_.push_back({.ended = id_, .was_skipped = true, .after = {after.begin(), after.end()}});
  settle();
}

void Cascade::settle() {
  step_ = Step::look;
  conflicts_ = 0;
  job_ = {};
  skip_.reset();
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (!level.jobs.empty()) {
      id_ = std::move(level.jobs.back());
      level.jobs.pop_back();
      step_ = Step::job;
      return;
    }
    if (!level.all_read) return;
    if (level.was_skipped) {
      step_ = Step::forget;
      return;
    }
    leave_level();
  }
}

void Cascade::leave_level() {
  inside_.erase(levels_.back().ended);
  levels_.pop_back();
}

}  // namespace dunlin
