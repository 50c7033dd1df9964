#include "client/jobs/find_job.h"

#include <fmt/format.h>

#include "base/names.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/views/list_jobs.h"

namespace dunlin::client {
namespace {

constexpr size_t kScan = 16;

Error no_job(const std::string& text) {
  return {Code::not_found,
          fmt::format("there is no job {}: `dunlin list` shows the jobs that exist", quote(text))};
}

// The first two that begin so; not of jobs that are being removed.
Result<std::vector<std::string>> ids_with(Table& table, const std::string& prefix) {
  std::vector<std::string> ids;
  std::string after;
  while (ids.size() < 2) {
    const std::vector<Row> rows = TRY(table.scan(kJobs, prefix, after, kScan));
    if (rows.empty()) break;
    after = rows.back().key;
    for (const Row& row : rows) {
      model::Job job;
      if (job.ParseFromString(row.value) && job.gone_us() == 0) ids.push_back(row.key);
    }
  }
  return ids;
}

}  // namespace

Result<model::Job> find_job(Table& table, const std::string& text, WallTime now) {
  const auto full = [&](const std::string& id) -> Result<model::Job> {
    return TRY(read_job(table, id)).record;
  };
  if (text == "last") {
    const auto newest = TRY(newest_jobs(table, now, 1, [](const Listed&) { return true; }));
    if (newest.empty())
      return Error{Code::not_found, "there are no jobs yet: submit one with `dunlin submit`"};
    return full(newest.front().job.id());
  }
  if (!is_name(text)) return no_job(text);
  const auto exact = read_job(table, text);
  if (exact.ok()) return exact.value().record;
  if (exact.error().code != Code::not_found) return exact.error();
  const std::vector<std::string> ids = TRY(ids_with(table, text));
  if (ids.size() == 1) return full(ids.front());
  const auto named = TRY(
      newest_jobs(table, now, 1, [&](const Listed& one) { return one.job.spec().name() == text; }));
  if (!named.empty()) return full(named.front().job.id());
  if (ids.empty()) return no_job(text);
  return Error{Code::invalid,
               fmt::format("several job ids begin with {}, such as {} and {}: give more of the id",
                           text, ids[0], ids[1])};
}

Result<std::vector<model::Job>> find_jobs(Table& table, const std::vector<std::string>& texts,
                                          WallTime now) {
  std::vector<model::Job> jobs;
  jobs.reserve(texts.size());
  for (const std::string& text : texts) jobs.push_back(TRY(find_job(table, text, now)));
  return jobs;
}

}  // namespace dunlin::client
