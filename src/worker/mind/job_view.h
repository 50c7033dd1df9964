// What a worker knows about one job while it holds tasks of it: the spec, the inputs read so far,
// the pages and nodes as last seen, the outcomes that are not written yet.
//
// Whatever will still touch a view pins it: a held range, an open request, a page that is to be
// written. A view that nobody pins is forgotten (Jobs::sweep). Pure. One thread; Jobs outlives all
// pins.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/records.pb.h"
#include "worker/mind/room.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {

// A damaged row is looked at again after this.
inline constexpr Millis kBadRowWait = std::chrono::seconds(10);

// An outcome, or a move, on its way into a page.
struct PendingOutcome {
  uint64_t held = 0;  // Which held range it settles.
  uint64_t task = 0;
  model::Outcome outcome;
  std::string out = {};  // What goes into a row of its own; empty: nothing.
  std::string err = {};
  bool is_new = false;  // It went into the page; else the task had an outcome already.
};
// A task that gets a message of its own: another try, or alone because a worker was lost with it.
struct PendingMove {
  uint64_t held = 0;
  model::Range range;
};
// A task whose start must be on record first.
struct PendingClaim {
  uint64_t held = 0;
  uint64_t task = 0;
  std::vector<std::string> values;  // Of its inputs.
  Room::Claim place = {};           // None while its page is damaged.
};

// One page as this worker sees it.
struct PageView {
  model::Page page;
  uint64_t version = 0;
  bool known = false;  // Else `page` is what we presume: nobody has written it.
  bool asked = false;
  bool bad = false;  // Its row is damaged: what it lacks waits until it is repaired.
  // Grows when what is on its way, a read or a write, may be older than what we hold by now.
  uint64_t era = 0;
  bool dirty = false;  // In the list of those to be written.
  std::vector<PendingOutcome> outcomes;
  std::vector<PendingMove> moves;
  std::vector<PendingClaim> claims;
  uint32_t begins = 0;  // An attempt that starts when the page says that it has begun; 0: none.

  bool has_outcome(uint32_t offset) const;
  uint32_t claims_of(uint32_t offset) const;  // How many, with those that were put together.
  bool is_moved(uint32_t offset) const;
  // It has an outcome, or a message of its own.
  bool is_settled(uint32_t offset) const { return has_outcome(offset) || is_moved(offset); }
  void drop_of(uint64_t held);  // All that this held range has on its way.
  bool has_news() const {
    return !outcomes.empty() || !moves.empty() || !claims.empty() || begins > page.begun();
  }
};

// A task has one claim at most: of its last attempt, with the number of those before. So a page
// does not grow with what its tasks go through.
void add_claim(model::Page& page, uint32_t offset, uint32_t attempt, const std::string& worker);
// Of one attempt, or all of them.
void forget_claims(model::Page& page, uint32_t offset, std::optional<uint32_t> attempt);

// Attempts up to this one may start from now on.
inline void record_begun(model::Page& page, uint32_t attempt) {
  if (attempt > page.begun()) page.set_begun(attempt);
}

class Jobs;

inline constexpr size_t kPropagatedMax = 4096;  // Pages of one commit.

struct NodeView {
  model::Node node;
  uint64_t version = 0;
};

// Pages on their way into the completion tree: the nodes by level and number, as they become.
struct Propagation {
  uint32_t round = 0;
  std::vector<uint64_t> pages;
  std::map<std::pair<uint32_t, uint64_t>, model::Node> nodes;
  std::set<std::pair<uint32_t, uint64_t>> changed;  // Or to be compared with what we have seen.
  bool found_there = false;                         // One of the pages was in the tree already.
  bool complete = false;                            // The job has ended, with these counts.
  Counts total;
};

struct JobView {
  std::string id;
  std::shared_ptr<JobText> text = std::make_shared<JobText>();
  const model::Spec& spec() const { return text->spec; }
  uint32_t round = 0;
  std::string queue;   // Where its ranges are.
  bool ready = false;  // The spec is there.
  bool asked = false;
  bool damaged = false;  // The job's row.
  bool ended = false;    // Done or cancelled: nothing more is to be started.
  uint64_t held = 0;     // Ranges of it that we hold.
  double mean_us = 0;    // Of its last tasks' times; 0: not known yet.

  absl::btree_map<uint64_t, PageView> pages;

  // The completion tree: what must still be set, by page, and the nodes as last seen.
  absl::btree_map<uint64_t, Counts> full;
  std::map<std::pair<uint32_t, uint64_t>, NodeView> nodes;  // By level and number.
  bool nodes_fresh = false;  // They are being read for this propagation.
  bool propagating = false;  // A write of nodes is under way.
  uint32_t collisions = 0;   // In a row.
  bool end_read = false;     // The row in `ends` was looked for.
  bool end_there = false;    // It is there.
  bool marked = false;       // Other jobs come after it, as far as we know.
  bool released = false;     // Those were looked after.
  bool releasing = false;

  // Inputs.
  std::vector<std::vector<std::string>> values;  // Of each source that is inside the spec.
  std::map<std::pair<size_t, uint64_t>, std::vector<std::string>> groups;  // Source, group.
  std::set<std::pair<size_t, uint64_t>> groups_asked;
  bool stdin_asked = false;
  bool stdin_there = false;  // In `text`.
  std::string trouble;       // Why no task can be started: each gets the outcome `refused`.

  uint64_t pins() const { return pins_; }

 private:
  friend class Jobs;
  friend class Pin;
  Jobs* jobs_ = nullptr;
  uint64_t pins_ = 0;
  bool loose_ = false;  // In the list of those that may be forgotten.
};

// Keeps a view. What copies of it mean is the same.
class Pin {
 public:
  Pin() = default;  // Of none.
  explicit Pin(JobView& job) : job_(&job) { ++job.pins_; }
  Pin(const Pin& other) : job_(other.job_) {
    if (job_ != nullptr) ++job_->pins_;
  }
  Pin(Pin&& other) noexcept : job_(std::exchange(other.job_, nullptr)) {}
  Pin& operator=(Pin other) noexcept {
    std::swap(job_, other.job_);
    return *this;
  }
  ~Pin();
  JobView* get() const { return job_; }
  JobView& operator*() const { return *job_; }
  JobView* operator->() const { return job_; }

 private:
  JobView* job_ = nullptr;
};

// The views of a worker, by job.
class Jobs {
 public:
  Jobs() = default;
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Begun, if there was none, in this round.
  JobView& open(const std::string& job, uint32_t round);
  JobView* find(const std::string& job);
  const std::map<std::string, std::unique_ptr<JobView>>& all() const { return views_; }
  // That the job has ended in the view's round is remembered longer than the view.
  void remember_end(const JobView& job);
  void sweep();  // Forgets the views that nobody pins.

 private:
  friend class Pin;
  void loosen(JobView& job);

  std::map<std::string, std::unique_ptr<JobView>> views_;
  std::vector<JobView*> loose_;
  absl::flat_hash_map<std::string, uint32_t> ended_;  // The round, by job.
};

// What the tree becomes with the full pages of the job, some of them if they are many. The pages
// of an older round than a node's are not ours to enter: the job had ended with them, and was
// opened again without them. REQUIRES: the page is known, if it is the root.
Propagation propagation_of(JobView& job);

// Before a task is tried again that has failed `failures` times before: doubles with each.
Millis backoff_of(const model::Spec& spec, uint32_t failures);

// Reads the values that are inside the spec. `corrupt` if they are not values.
Result<void> prepare(JobView& job);

}  // namespace dunlin::worker
