#include "model/list_jobs.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include "model/keys.h"
#include "model/rows.h"
#include "model/submit.h"

namespace dunlin {
namespace {

constexpr size_t kRowsPerScan = 64;

// Of at most `max` rows; none is the end. Some may be removed already.
Result<std::vector<Listed>> read_some(Table& table, const std::string& after, size_t max) {
  const std::vector<Row> rows = TRY(table.scan(kJobs, "", after, std::min(max, kRowsPerScan)));
  std::vector<std::string> ids;
  ids.reserve(rows.size());
  for (const Row& row : rows) ids.push_back(row.key);
  std::vector<Standing> standings = TRY(read_standings(table, ids));
  std::vector<Listed> some;
  for (size_t i = 0; i < rows.size(); ++i) {
    some.push_back({TRY(parse_row<model::Job>(kJobs, rows[i])).record, std::move(standings[i])});
    some.back().job.mutable_spec()->clear_inputs();
  }
  return some;
}

// The jobs whose ids lie between, the last `max` of them that are wanted.
Result<std::deque<Listed>> read_window(Table& table, std::string after, const std::string& until,
                                       size_t max, const Wanted& wanted) {
  std::deque<Listed> found;
  while (true) {
    std::vector<Listed> some = TRY(read_some(table, after, kRowsPerScan));
    if (some.empty()) return found;
    after = some.back().job.id();
    for (Listed& one : some) {
      if (!until.empty() && one.job.id() >= until) return found;
      if (one.job.gone_us() != 0 || !wanted(one)) continue;
      found.push_back(std::move(one));
      if (found.size() > max) found.pop_front();
    }
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
    std::vector<Listed> some = TRY(read_some(table, after, max - found.size()));
    if (some.empty()) break;
    after = some.back().job.id();
    std::ranges::copy_if(std::move(some), std::back_inserter(found),
                         [](const Listed& one) { return one.job.gone_us() == 0; });
  }
  return found;
}

}  // namespace dunlin
