// How a job gets into the store: checked, its blobs first, then one commit. Whatever it is told
// twice it does once: with the same id, or with the same key, the job that is there is the answer.
// Calls block as the store does; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

inline constexpr int kAfterMax = 1000;  // Jobs that one job may come after.
inline constexpr uint32_t kRetriesMax = 1000;
// The sweeper removes a route a day after it saw nothing in it (retention/sweeper.h).
inline constexpr Millis kRouteKnown = std::chrono::hours(1);

// 13 characters that sort by time, to the millisecond, then by chance.
std::string make_job_id(Random& random, WallTime now);
// What the ids made at `time` begin with: all made before are smaller.
std::string job_id_prefix(WallTime time);

inline int64_t to_us(WallTime time) { return time.time_since_epoch().count() * 1000; }

// A blob that the spec names and that must be there before the job is.
struct NamedBlob {
  std::string name;
  uint64_t size = 0;
  BlobSource source;
};
NamedBlob blob_of_bytes(std::string name, std::string bytes);
// Where a job's own inputs go: the values of a source, or `stdin`.
std::string input_blob_name(std::string_view job, std::string_view which);

// `invalid` names the part of the spec that cannot be.
Result<void> validate_spec(const model::Spec& spec);
// How long a job is kept after its end: "12h", "30d", "forever".
Result<uint64_t> parse_keep(std::string_view text);
// How many workers a task may take with it: a number, or "unlimited".
Result<uint32_t> parse_losses(std::string_view text);
// A requirement: letters, digits and ._-=:+@/ , 1 to 64 of them.
bool is_tag(std::string_view text);

struct SubmitOptions {
  std::string id;                     // From make_job_id().
  std::string key = {};               // If not empty: the user's name for this submission.
  std::vector<NamedBlob> blobs = {};  // Named with input_blob_name(id, ...).

  // For who submits much, to save the lookups before the commit. `fresh`: the id was just made, so
  // the commit will find out whether it is taken: a job under it with another reply queue is not
  // ours, and a `conflict`. `route_known`: less than kRouteKnown ago the queue of such a job was
  // among the routes.
  bool fresh = false;
  bool route_known = false;
};

struct Submitted {
  std::string id;
  bool existed = false;  // It had been submitted before, under this id or key.
};

// `conflict` if the id or key belongs to a different job, `not_found` if a job that it comes after
// does not exist, or goes away meanwhile. Nothing but blobs is left behind by a submission that
// fails, and no blobs either if it is `not_found`.
Result<Submitted> submit(Store& store, model::Spec spec, const SubmitOptions& options);

// The messages that start a job: all of its tasks, those that are in reserve by themselves.
std::vector<Message> first_messages(const model::Job& job, int64_t sent_us);

}  // namespace dunlin
