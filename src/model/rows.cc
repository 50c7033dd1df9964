#include "model/rows.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

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

Result<Stored<model::Job>> read_job(Table& table, const std::string& id) {
  auto stored = TRY(read_record<model::Job>(table, kJobs, id));
  if (stored.version == 0 || stored.record.gone_us() != 0) {
    return Error{Code::not_found,
                 fmt::format("there is no job {}: `dunlin list` shows those there are", id)};
  }
  const uint64_t tasks = stored.record.spec().tasks();
  if (tasks == 0 || tasks > kTasksMax) {
    return Error{Code::corrupt, fmt::format("job {} has {} tasks, which cannot be", id, tasks)};
  }
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
               fmt::format("table {} has the key {}, which is not ours: look at it with `dunlin "
                           "store get`",
                           name, key)};
}

std::string after_key(std::string_view other, std::string_view job) {
  return fmt::format("{}/{}", other, job);
}

}  // namespace dunlin
