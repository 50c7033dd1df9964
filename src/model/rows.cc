#include "model/rows.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/log.h"
#include "model/counts.h"
#include "model/keys.h"

namespace dunlin {

Result<Row> get_row(Table& table, std::string_view name, const std::string& key) {
  std::vector<Row> rows = TRY(table.get(name, std::span(&key, 1)));
  CHECK(rows.size() == 1);
  return std::move(rows.front());
}

Result<std::vector<Row>> get_rows(Table& table, std::string_view name,
                                  const std::vector<std::string>& keys) {
  constexpr size_t kKeysPerCall = 32;  // So that the largest rows fit into one answer.
  std::vector<Row> all;
  for (size_t at = 0; at < keys.size(); at += kKeysPerCall) {
    const size_t count = std::min(kKeysPerCall, keys.size() - at);
    for (Row& row : TRY(table.get(name, std::span(keys).subspan(at, count)))) {
      all.push_back(std::move(row));
    }
  }
  return all;
}

Result<Stored<model::Job>> parse_job(const Row& row) {
  auto stored = TRY(parse_row<model::Job>(kJobs, row));
  const model::Job& job = stored.record;
  if (job.gone_us() != 0) return stored;
  if (job.id() != row.key) {
    return Error{Code::corrupt, fmt::format("row {} of table jobs is of job {}: look at it with "
                                            "`dunlin store get jobs {}`",
                                            row.key, job.id(), row.key)};
  }
  if (const Result<void> good = check_counts(job.spec()); !good.ok()) {
    return Error{Code::corrupt, fmt::format("job {} is malformed: {}", row.key, good.error().what)};
  }
  return stored;
}

bool is_passed_over(const Error& error) {
  if (error.code != Code::corrupt) return false;
  log::warning("skipped: {}", error.what);
  return true;
}

Result<Stored<model::Job>> read_job(Table& table, const std::string& id) {
  const Row row = TRY(get_row(table, kJobs, id));
  const Error none{Code::not_found,
                   fmt::format("there is no job {}: `dunlin list` shows the jobs that exist", id)};
  if (row.version == 0) return none;
  auto stored = TRY(parse_job(row));
  if (stored.record.gone_us() != 0) return none;
  return stored;
}

Put same_again(const Stored<model::Job>& job) {
  return {std::string(kJobs), job.record.id(), job.record.SerializeAsString(), job.version};
}

Result<uint64_t> number_in_key(std::string_view name, std::string_view key) {
  const std::string_view digits = key.substr(key.rfind('/') + 1);
  uint64_t number = 0;
  const auto [rest, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (failed == std::errc() && rest == digits.data() + digits.size()) return number;
  return Error{Code::corrupt,
               fmt::format("table {} has the malformed key {}: look at it with `dunlin store get`",
                           name, key)};
}

std::string after_key(std::string_view other, std::string_view job) {
  return fmt::format("{}/{}", other, job);
}

}  // namespace dunlin
