#include "model/views/list_jobs.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr size_t kRowsPerScan = 64;

struct Some {
  std::vector<Listed> jobs;  // Without what is removed or damaged.
  std::string last;          // The last row; empty: there was none.
};

// Of a thousand jobs the rows may take 256 MB.
void forget_large(model::Spec& spec) {
  spec.clear_command();
  spec.clear_inputs();
  spec.clear_env();
  spec.clear_cwd();
  spec.clear_stdin();
  spec.clear_cleanup();
}

// Of at most `max` rows.
Result<Some> read_some(Table& table, const std::string& after, size_t max) {
  const std::vector<Row> rows = TRY(table.scan(kJobs, "", after, std::min(max, kRowsPerScan)));
  Some some;
  std::vector<std::string> ids;
  for (const Row& row : rows) {
    some.last = row.key;
    auto job = parse_job(row);
    if (!job.ok() && !is_passed_over(job.error())) return job.error();
    if (!job.ok() || job.value().record.gone_us() != 0) continue;
    ids.push_back(row.key);
    some.jobs.push_back({std::move(job.value().record), {}});
    forget_large(*some.jobs.back().job.mutable_spec());
  }
  std::vector<std::optional<Standing>> standings = TRY(readable_standings(table, ids));
  size_t kept = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!standings[i]) continue;
    some.jobs[i].standing = std::move(*standings[i]);
    if (kept != i) some.jobs[kept] = std::move(some.jobs[i]);
    ++kept;
  }
  some.jobs.resize(kept);
  return some;
}

// The jobs whose ids lie between, the last `max` of them that are wanted.
Result<std::deque<Listed>> read_window(Table& table, std::string after, const std::string& until,
                                       size_t max, const Wanted& wanted) {
  std::deque<Listed> found;
  while (true) {
    Some some = TRY(read_some(table, after, kRowsPerScan));
    for (Listed& one : some.jobs) {
      if (!until.empty() && one.job.id() >= until) return found;
      if (!wanted(one)) continue;
      found.push_back(std::move(one));
      if (found.size() > max) found.pop_front();
    }
    if (some.last.empty() || (!until.empty() && some.last >= until)) return found;
    after = std::move(some.last);
  }
}

}  // namespace

bool is_job_state(std::string_view text) {
  constexpr std::array kStates = {JobState::waiting, JobState::open,      JobState::done,
                                  JobState::failed,  JobState::cancelled, JobState::skipped};
  return std::ranges::any_of(kStates, [&](JobState state) { return state_word(state) == text; });
}

Result<std::vector<Listed>> newest_jobs(Table& table, WallTime now, size_t max,
                                        const Wanted& wanted, std::string before) {
  using std::chrono::hours;
  const std::vector<Millis> ages = {
      std::chrono::minutes(1), std::chrono::minutes(15), hours(2), hours(24), hours(24 * 7),
      hours(24 * 60)};
  std::vector<Listed> found;
  std::string until = std::move(before);
  for (size_t i = 0; i <= ages.size() && found.size() < max; ++i) {
    const std::string after = i < ages.size() ? job_id_prefix(now - ages[i]) : "";
    if (!until.empty() && after >= until) continue;
    auto window = TRY(read_window(table, after, until, max - found.size(), wanted));
    for (size_t at = window.size(); at-- > 0;) found.push_back(std::move(window[at]));
    until = after;
  }
  return found;
}

Result<std::vector<Listed>> jobs_after(Table& table, std::string after, size_t max) {
  std::vector<Listed> found;
  while (found.size() < max) {
    Some some = TRY(read_some(table, after, max - found.size()));
    std::ranges::move(some.jobs, std::back_inserter(found));
    if (some.last.empty()) break;
    after = std::move(some.last);
  }
  return found;
}

}  // namespace dunlin
