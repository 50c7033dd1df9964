// The outcomes of a job as its pages hold them: in the order of the tasks, or as they come. Both
// keep only a few pages in memory, however large the job. Calls block as the store does; one thread
// at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

struct TaskResult {
  uint64_t task = 0;
  model::Outcome outcome = {};
  std::string worker = {};
  int64_t committed_us = 0;

  int64_t started_us() const { return outcome.received_us() + outcome.waited_us(); }
  int64_t ended_us() const { return started_us() + static_cast<int64_t>(outcome.ran_us()); }
};

// The page's outcomes by task. `corrupt` if one does not belong there.
Result<std::vector<TaskResult>> results_of(uint64_t number, const model::Page& page);

// Reads those pages that exist and of which `skip` is false, in order, some at a time, jumping over
// the others. `take` may return false to stop.
using SkipPage = std::function<bool(uint64_t number)>;
using TakePage = std::function<Result<bool>(uint64_t number, const model::Page& page)>;
Result<void> read_pages(Table& table, std::string_view job, uint64_t first, uint64_t last,
                        const SkipPage& skip, const TakePage& take);

// Outcomes of [first, last) that are there now, in the order of the tasks.
class ResultReader {
 public:
  ResultReader(Table& table, std::string job, uint64_t first, uint64_t last)
      : table_(table), job_(std::move(job)), next_(first), last_(last) {}

  Result<std::optional<TaskResult>> next();  // None at the end.

 private:
  Result<void> read_more();

  Table& table_;
  const std::string job_;
  uint64_t next_;  // The first task that was not read yet.
  const uint64_t last_;
  std::deque<TaskResult> ready_;
};

// Each outcome once, as it comes: from replies, and from looking at the pages that are not
// complete. Remembers a bit for each page, and one for each task of those that are not complete.
class ResultFollower {
 public:
  using Take = std::function<Result<void>(const TaskResult&)>;

  ResultFollower(std::string job, uint64_t tasks);

  Result<void> add(uint64_t number, const model::Page& page, const Take& take);
  Result<void> add(const model::Reply& reply, const Take& take);  // Nothing of another job's.
  Result<void> look(Table& table, const Take& take);

  uint64_t taken() const { return taken_; }
  bool complete() const { return taken_ == tasks_; }

 private:
  const std::string job_;
  const uint64_t tasks_;
  uint64_t taken_ = 0;
  std::vector<bool> complete_;               // Of pages.
  std::map<uint64_t, std::string> partial_;  // Bits of the tasks that were taken.
};

// What a task wrote, in parts of at most 1 MiB, in order. `which` is "out" or "err".
using TakeBytes = std::function<Result<void>(std::string_view part)>;
Result<void> read_output(Store& store, std::string_view job, uint64_t task,
                         const model::Outcome& outcome, std::string_view which,
                         const TakeBytes& take);
// All of it.
Result<std::string> whole_output(Store& store, std::string_view job, uint64_t task,
                                 const model::Outcome& outcome, std::string_view which);

// ok failed crashed timeout lost refused; waiting if there is no outcome.
std::string_view state_word(model::State state);
// The reason for people; never empty if the state is not ok.
std::string why_of(const model::Outcome& outcome);

}  // namespace dunlin
