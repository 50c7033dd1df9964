#include "client/find_job.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

#include "base/names.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/submit.h"

namespace dunlin {
namespace {

constexpr size_t kRowsPerScan = 64;

// The jobs whose ids lie between, the last `max` of them that are wanted.
Result<std::deque<Listed>> read_window(Table& table, std::string after, const std::string& until,
                                       size_t max, const Wanted& wanted) {
  std::deque<Listed> found;
  while (true) {
    const std::vector<Row> rows = TRY(table.scan(kJobs, "", after, kRowsPerScan));
    if (rows.empty()) return found;
    after = rows.back().key;
    std::vector<std::string> ids;
    ids.reserve(rows.size());
    for (const Row& row : rows) ids.push_back(row.key);
    std::vector<Standing> standings = TRY(read_standings(table, ids));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!until.empty() && rows[i].key >= until) return found;
      Listed one{TRY(parse_row<model::Job>(kJobs, rows[i])).record, std::move(standings[i])};
      one.job.mutable_spec()->clear_inputs();
      if (!wanted(one)) continue;
      found.push_back(std::move(one));
      if (found.size() > max) found.pop_front();
    }
  }
}

Error no_job(const std::string& text) {
  return {Code::not_found,
          fmt::format("there is no job {}: `dunlin list` shows those there are", quote(text))};
}

}  // namespace

Result<std::vector<Listed>> newest_jobs(Table& table, WallTime now, size_t max,
                                        const Wanted& wanted) {
  using std::chrono::hours;
  const std::vector<Millis> ages = {
      std::chrono::minutes(1), std::chrono::minutes(15), hours(2), hours(24), hours(24 * 7),
      hours(24 * 60)};
  std::vector<Listed> found;
  std::string until;
  for (size_t i = 0; i <= ages.size() && found.size() < max; ++i) {
    const std::string after = i < ages.size() ? job_id_prefix(now - ages[i]) : "";
    auto window = TRY(read_window(table, after, until, max - found.size(), wanted));
    for (size_t at = window.size(); at-- > 0;) found.push_back(std::move(window[at]));
    until = after;
  }
  return found;
}

Result<model::Job> find_job(Table& table, const std::string& text, WallTime now) {
  const auto full = [&](const std::string& id) -> Result<model::Job> {
    return TRY(read_job(table, id)).record;
  };
  if (text == "last") {
    const auto newest = TRY(newest_jobs(table, now, 1, [](const Listed&) { return true; }));
    if (newest.empty()) return Error{Code::not_found, "there are no jobs yet: `dunlin submit` one"};
    return full(newest.front().job.id());
  }
  if (!is_name(text)) return no_job(text);
  const std::vector<Row> rows = TRY(table.scan(kJobs, text, "", 2));
  const auto exact = TRY(get_row(table, kJobs, text));
  if (exact.version != 0) return full(text);
  if (rows.size() == 1) return full(rows.front().key);
  const auto named = TRY(
      newest_jobs(table, now, 1, [&](const Listed& one) { return one.job.spec().name() == text; }));
  if (!named.empty()) return full(named.front().job.id());
  if (rows.empty()) return no_job(text);
  return Error{Code::invalid, fmt::format("the ids of several jobs begin with {}, such as {} and "
                                          "{}: write more of it",
                                          text, rows[0].key, rows[1].key)};
}

}  // namespace dunlin
