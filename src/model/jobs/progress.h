// How far a job is, read from its rows. Costs what is open, not what is done: full pages are
// counted by the completion tree. Calls block as the store does; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/tree.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

enum class JobState {
  waiting,  // For the jobs that it comes after.
  open,     // Workers may run its tasks.
  done,
  failed,  // It ended, and not all went well.
  cancelled,
  skipped,
};
std::string_view state_word(JobState state);
inline bool has_ended(JobState state) { return state > JobState::open; }

struct Standing {
  JobState state = JobState::open;
  model::End end = {};  // If it has ended.
};
// Of several jobs at once, in the same order.
Result<std::vector<Standing>> read_standings(Table& table, const std::vector<std::string>& jobs);
// None for a job whose end is damaged.
Result<std::vector<std::optional<Standing>>> readable_standings(
    Table& table, const std::vector<std::string>& jobs);

struct Failure {
  std::string why;
  uint64_t count = 0;
};

struct Progress {
  model::Job job = {};
  Standing standing = {};
  Counts counts = {};
  uint64_t claimed = 0;  // Started and without an outcome; only known of at-most-once jobs.
  uint64_t moved = 0;    // Without an outcome, in a message of their own.
  double rate = 0;       // Tasks that ended in a second, lately; of an ended job, in all.
  std::optional<double> eta_s = {};
  std::vector<Failure> failures = {};  // The most frequent reasons first, at most kFailuresMax.
  uint64_t failures_left = 0;          // Failed tasks whose reason is not among them.

  uint64_t left() const { return job.spec().tasks() - counts.ok - counts.failed; }
};

inline constexpr size_t kFailuresMax = 10;

// `not_found` if there is no such job.
Result<Progress> read_progress(Store& store, const std::string& job, WallTime now);

// The counts alone, for lists.
Result<Counts> read_counts(Table& table, const model::Job& job, const Standing& standing);

}  // namespace dunlin
