#include "model/jobs/progress.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "base/enum_table.h"
#include "model/jobs/results.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr int64_t kWindowUs = 10'000'000;
constexpr uint64_t kPagesForRate = 128;      // Read to know how fast it goes.
constexpr uint64_t kPagesForReasons = 1024;  // Read to know why tasks failed.
constexpr size_t kReasonsMax = 1000;         // Different ones that are told apart.

// Which pages the tree knows to be full, and the counts of them.
struct Full {
  std::vector<bool> pages;
  Counts counts;
};

Result<Full> read_full(Table& table, const model::Job& job) {
  const uint64_t tasks = job.spec().tasks();
  Full full{.pages = std::vector<bool>(level_size(0, tasks), false), .counts = {}};
  const std::string prefix = fmt::format("{}/1/", job.id());
  std::string after;
  while (root_level(tasks) > 0) {
    const std::vector<Row> rows = TRY(table.scan(kNodes, prefix, after, 1000));
    if (rows.empty()) break;
    for (const Row& row : rows) {
      const auto node = TRY(parse_row<model::Node>(kNodes, row)).record;
      const uint64_t number = TRY(number_in_key(kNodes, row.key));
      for (uint32_t bit = 0; bit < kFanOut; ++bit) {
        const uint64_t page = number * kFanOut + bit;
        if (page < full.pages.size() && has_bit(node.full(), bit)) full.pages[page] = true;
      }
      full.counts.ok += node.ok();
      full.counts.failed += node.failed();
    }
    after = rows.back().key;
  }
  return full;
}

Result<void> count_open(Table& table, Progress& progress) {
  const Full full = TRY(read_full(table, progress.job));
  progress.counts = full.counts;
  return read_pages(
      table, progress.job.id(), 0, full.pages.size(),
      [&](uint64_t number) { return full.pages[number]; },
      [&](uint64_t, const model::Page& page) -> Result<bool> {
        const Counts counts = counts_of(page);
        progress.counts.ok += counts.ok;
        progress.counts.failed += counts.failed;
        std::string ended;
        for (const model::Outcome& outcome : page.outcomes()) {
          if (outcome.offset() < kPageTasks) set_bit(ended, outcome.offset());
        }
        for (const model::Claim& claim : page.claims()) {
          if (!has_bit(ended, claim.offset())) ++progress.claimed;
        }
        for (uint32_t bit = 0; bit < kPageTasks; ++bit) {
          if (has_bit(page.moved(), bit) && !has_bit(ended, bit)) ++progress.moved;
        }
        return true;
      });
}

// What only the outcomes themselves tell: when they came, and why some failed.
class Survey {
 public:
  explicit Survey(int64_t now_us) : now_us_(now_us) {}

  void add(uint64_t number, const model::Page& page) {
    const Result<std::vector<TaskResult>> results = results_of(number, page);
    if (!results.ok()) return;  // Whoever reads the results will hear of it.
    for (const TaskResult& result : results.value()) {
      ++seen_;
      if (first_us_ == 0 || result.outcome.received_us() < first_us_) {
        first_us_ = result.outcome.received_us();
      }
      if (result.ended_us() > now_us_ - kWindowUs) ++recent_;
      if (result.outcome.state() == model::STATE_OK) continue;
      const std::string why = why_of(result.outcome);
      if (reasons_.size() < kReasonsMax || reasons_.contains(why)) ++reasons_[why];
    }
  }

  void conclude(Progress& progress) const {
    std::vector<Failure> all;
    for (const auto& [why, count] : reasons_) all.push_back({why, count});
    std::ranges::stable_sort(all, std::ranges::greater{}, &Failure::count);
    if (all.size() > kFailuresMax) all.resize(kFailuresMax);
    uint64_t named = 0;
    for (const Failure& failure : all) named += failure.count;
    progress.failures = std::move(all);
    progress.failures_left = progress.counts.failed - std::min(named, progress.counts.failed);

    const uint64_t done = progress.counts.ok + progress.counts.failed;
    if (seen_ == 0) return;
    const bool ended = has_ended(progress.standing.state);
    const int64_t until = ended ? progress.standing.end.ended_us() : now_us_;
    // With all outcomes seen we know what happened lately; else it is the average since the start.
    const bool lately = !ended && seen_ >= done;
    const int64_t from = lately ? std::max(first_us_, until - kWindowUs) : first_us_;
    const double seconds = static_cast<double>(std::max<int64_t>(until - from, 1000)) / 1e6;
    progress.rate = static_cast<double>(lately ? recent_ : done) / seconds;
    if (progress.standing.state == JobState::open && progress.rate > 0) {
      progress.eta_s = static_cast<double>(progress.left()) / progress.rate;
    }
  }

 private:
  const int64_t now_us_;
  uint64_t seen_ = 0;
  uint64_t recent_ = 0;
  int64_t first_us_ = 0;  // When the first task was received.
  std::map<std::string, uint64_t> reasons_;
};

// By model::End::Kind. A job that was done to its end has failed all the same if a task did.
constexpr std::array<JobState, 3> kEndStates = {JobState::done, JobState::cancelled,
                                                JobState::skipped};
static_assert(kEndStates.size() == model::End::Kind_ARRAYSIZE);

Standing standing_of(const Row& end_row, const model::End& end, const Row& wait_row) {
  if (end_row.version == 0) {
    return {wait_row.version == 0 ? JobState::open : JobState::waiting, {}};
  }
  const JobState kind = entry_of(kEndStates, end.kind());
  return {kind == JobState::done && end.failed() != 0 ? JobState::failed : kind, end};
}

}  // namespace

std::string_view state_word(JobState state) {
  switch (state) {
    case JobState::waiting:
      return "waiting";
    case JobState::open:
      return "open";
    case JobState::done:
      return "done";
    case JobState::failed:
      return "failed";
    case JobState::cancelled:
      return "cancelled";
    case JobState::skipped:
      return "skipped";
  }
  CHECK(false);
  return "";
}

namespace {

Result<std::vector<Result<Standing>>> each_standing(Table& table,
                                                    const std::vector<std::string>& jobs) {
  const std::vector<Row> waits = TRY(get_rows(table, kWaits, jobs));
  const std::vector<Row> ends = TRY(get_rows(table, kEnds, jobs));
  std::vector<Result<Standing>> standings;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto end = parse_row<model::End>(kEnds, ends[i]);
    if (end.ok()) {
      standings.emplace_back(standing_of(ends[i], end.value().record, waits[i]));
    } else {
      standings.emplace_back(end.error());
    }
  }
  return standings;
}

}  // namespace

Result<std::vector<Standing>> read_standings(Table& table, const std::vector<std::string>& jobs) {
  std::vector<Standing> standings;
  for (Result<Standing>& one : TRY(each_standing(table, jobs))) {
    standings.push_back(TRY(std::move(one)));
  }
  return standings;
}

Result<std::vector<std::optional<Standing>>> readable_standings(
    Table& table, const std::vector<std::string>& jobs) {
  std::vector<std::optional<Standing>> standings;
  for (Result<Standing>& one : TRY(each_standing(table, jobs))) {
    if (!one.ok() && !is_passed_over(one.error())) return one.error();
    standings.push_back(one.ok() ? std::optional(std::move(one).value()) : std::nullopt);
  }
  return standings;
}

Result<Counts> read_counts(Table& table, const model::Job& job, const Standing& standing) {
  if (standing.state == JobState::done || standing.state == JobState::failed) {
    return Counts{standing.end.ok(), standing.end.failed()};
  }
  Progress progress{.job = job, .standing = standing};
  TRY(count_open(table, progress));
  return progress.counts;
}

Result<Progress> read_progress(Store& store, const std::string& job, WallTime now) {
  Table& table = store.table();
  Progress progress{.job = TRY(read_job(table, job)).record};
  progress.standing = TRY(read_standings(table, {job})).front();
  const JobState state = progress.standing.state;
  if (state == JobState::done || state == JobState::failed) {
    progress.counts = {progress.standing.end.ok(), progress.standing.end.failed()};
  } else {
    TRY(count_open(table, progress));
  }
  if (progress.counts == Counts{}) return progress;
  Survey survey(to_us(now));
  uint64_t left = progress.counts.failed > 0 ? kPagesForReasons : kPagesForRate;
  TRY(read_pages(
      table, job, 0, level_size(0, progress.job.spec().tasks()), [](uint64_t) { return false; },
      [&](uint64_t number, const model::Page& page) -> Result<bool> {
        survey.add(number, page);
        return --left > 0;
      }));
  survey.conclude(progress);
  return progress;
}

}  // namespace dunlin
