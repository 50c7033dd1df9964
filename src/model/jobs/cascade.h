// What follows from the end of a job: those that come after it are started if all that they wait
// for went well, and skipped if one did not; then the same for what comes after a skipped one.
//
// A state machine without I/O: the owner carries next() out and hands the answer to take(), until
// it is done(). A worker's mind does that request by request, release.h for callers that block.
// Dying at any step is safe: whoever begins again finds the rest. How many jobs come after one
// another, or after the same one, is not bounded; a step keeps a few words for each job that it is
// inside of. Rows that no program of ours writes stop nobody: jobs that come after each other in a
// ring are gone through once, those that name what cannot be are passed over. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "model/rows.h"
#include "store/request.h"

namespace dunlin {

class Cascade {
 public:
  static Cascade after(std::string ended);  // All that come after this one.
  static Cascade of(std::string job);       // This one, which may be ready.

  bool done() const { return levels_.empty() && step_ == Step::look; }

  // A Get, a Scan, or a Commit without a nonce. REQUIRES: !done()
  Request next(int64_t now_us);

  // The answer to it. If it is an error that says nothing about a job, it is returned, and next()
  // is the same again.
  Result<void> take(Answer&& answer);

  // A job that was passed over, because its rows are damaged.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  enum class Step { look, job, waits, ends, write, forget };

  struct Level {
    std::string ended;               // What these come after.
    bool was_skipped = false;        // Its own rows are forgotten in the end.
    std::vector<std::string> after;  // Of a skipped one: what it came after.
    std::string read_to = {};
    std::vector<std::string> jobs = {};  // Read, and not looked at yet; the last one is next.
    bool all_read = false;
  };

  void settle();  // Goes to the next job, or up.
  void pass_over(const Error& error);
  Result<void> take_row(const Row* row);
  void scanned(std::vector<Row>&& rows);
  Result<void> take_ends(std::vector<Row>&& rows);
  void descend();  // The job has ended without a start.
  void leave_level();

  std::vector<Level> levels_;
  std::set<std::string, std::less<>> inside_;  // Their `ended`.
  Step step_ = Step::look;
  std::string id_;  // The job that is looked at.
  Stored<model::Job> job_;
  std::vector<Row> ends_;  // Of those that it comes after, and last its own, as far as read.
  std::optional<std::string> skip_;  // Why.
  uint32_t conflicts_ = 0;
  std::optional<Error> trouble_;
};

}  // namespace dunlin
