// Jobs that come after others: when they start, and when they never will. Used by whoever submits
// such a job, by whoever ends one that it waits for, and by those who look. Repeating it is safe.
// Functions that take a Store block as it does; one thread at a time. The others are pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "model/rows.h"
#include "store/store.h"

namespace dunlin {

enum class Release {
  wait,
  go,    // All that it comes after went well.
  skip,  // One of them did not.
};
struct Decision {
  Release what = Release::wait;
  std::string why = {};  // Of skip.
};
// Pure. `ends` are the rows of spec.after() in the table "ends", in the same order.
Result<Decision> decide_release(const model::Spec& spec, std::span<const Row> ends);

// The commits that carry it out, pure too. The job's row is written again as it is: its version is
// what keeps two of us from starting the job twice, so it must have been read BEFORE the row of
// "waits" was seen. A conflict means that somebody else did it.
std::vector<Write> go_writes(const Stored<model::Job>& job, int64_t now_us);
std::vector<Write> skip_writes(const Stored<model::Job>& job, const std::string& why,
                               int64_t now_us);

Put skipped_end(const std::string& job, const std::string& why, int64_t now_us);

// That it waited; for a skipped job only after those that come after it were looked at, so that
// whoever repeats the work of an agent that died finds them.
std::vector<Write> forget_writes(const model::Job& job);

// The same and the mark of those that come after it; only once they were looked at.
std::vector<Write> skipped_writes(const model::Job& job);

// Once all that come after an ended job were looked at: what is submitted later knows of the end.
// `end` was read before that; a conflict means that the job was opened again, and the mark stays.
std::vector<Write> released_writes(const Row& end);

// Looks at a job that waits and does what is due, for what depends on it too.
Result<void> release_if_ready(Store& store, const std::string& job, int64_t now_us);
// The same for all that come after a job that has ended.
Result<void> release_dependants(Store& store, const std::string& ended, int64_t now_us);

}  // namespace dunlin
