// Records as rows of a table: read one, know its version, write it back. One thread at a time, as
// the store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

template <typename Record>
struct Stored {
  Record record = {};
  uint64_t version = 0;  // 0: there is none, and the record is empty.
};

// One row; version 0 if it does not exist.
Result<Row> get_row(Table& table, std::string_view name, const std::string& key);

// Any number of rows, in as many calls as it takes.
Result<std::vector<Row>> get_rows(Table& table, std::string_view name,
                                  const std::vector<std::string>& keys);

// `corrupt` names the row whose bytes are not such a record.
template <typename Record>
Result<Stored<Record>> parse_row(std::string_view name, const Row& row) {
  Stored<Record> stored{.record = {}, .version = row.version};
  if (!stored.record.ParseFromString(row.value)) {
    return Error{Code::corrupt, "row " + row.key + " of table " + std::string(name) +
                                    " is not what we wrote: look at it with `dunlin store get`"};
  }
  return stored;
}

template <typename Record>
Result<Stored<Record>> read_record(Table& table, std::string_view name, const std::string& key) {
  return parse_row<Record>(name, TRY(get_row(table, name, key)));
}

// A row of "jobs" that is there. `corrupt` also if the job has another id than its row, or counts
// that no job can have: whoever may submit wrote it, with any client.
Result<Stored<model::Job>> parse_job(const Row& row);

// Whether the error is damage of one row, which is logged then: it must not hide the others.
bool is_passed_over(const Error& error);

// `not_found` if there is no such job.
Result<Stored<model::Job>> read_job(Table& table, const std::string& id);

// Its row as it is: a commit with it conflicts if the job has changed since it was read, or is
// gone.
Put same_again(const Stored<model::Job>& job);

// The page or node that a key of "pages" or "nodes" ends with.
Result<uint64_t> number_in_key(std::string_view name, std::string_view key);

// Of the table "after": `job` comes after `other`.
std::string after_key(std::string_view other, std::string_view job);

}  // namespace dunlin
