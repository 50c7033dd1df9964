// The ranges of tasks that a worker holds under a lease: how far each is, its lease and when that
// ends, the commits that give a part of it away, and when it is let go.
//
// How many of its tasks are unstarted follows from its bounds and its phase, which only this class
// changes. Pure. One thread; the asks, jobs, tasks and routes outlive it.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/records.pb.h"
#include "store/store.h"
#include "worker/mind/asks.h"
#include "worker/mind/job_view.h"
#include "worker/mind/routes.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

enum class Phase {
  resting,    // It is too early for it, or its job does not need it yet. Nothing of it is counted.
  ready,      // Its tasks may be started.
  splitting,  // The same, and a commit under way changes where it ends: one after the other.
  finishing,  // The commit under way ends it.
};

// A range that was pulled and is not finished. Its tasks from `first` to `last`: [first, next) are
// started, skipped or settled, [next, last) are not.
class Held {
 public:
  uint64_t id = 0;
  std::string queue;
  Lease lease;
  model::Range range;  // Without its spec.
  Pin job;
  bool is_range = true;  // Else a message of somebody else's, which is finished.
  uint64_t settled = 0;  // Tasks whose outcome or move is durable.
  uint32_t attempt = 0;
  uint32_t again = 0;  // Deliveries before this one.
  uint32_t lost = 0;
  bool seen = false;        // Look at a page before starting a task of it,
  bool old = false;         // and whether the job has ended.
  bool isolate = false;     // A worker was lost with it: its first tasks get messages of their own.
  std::set<uint64_t> bits;  // Full pages that must be in the tree before it is finished.
  int64_t received_us = 0;
  Instant received_at;
  Instant valid_until;  // Of the lease; after that it may be somebody else's.

  uint64_t first() const { return first_; }
  uint64_t next() const { return next_; }
  uint64_t last() const { return last_; }
  Phase phase() const { return phase_; }
  uint64_t size() const { return last_ - first_; }
  uint64_t unstarted() const { return phase_ == Phase::resting ? 0 : last_ - next_; }
  // Tasks that are started, claimed, or on their way into a page.
  uint64_t pending() const { return next_ - first_ - settled; }
  // Its job has ended, and may have been opened again since.
  bool is_over() const { return job->ended || range.round() < job->round; }
  bool is_splitting() const { return phase_ == Phase::splitting; }
  bool is_finishing() const { return phase_ == Phase::finishing; }
  // Once so many more are settled there is nothing left to do.
  bool is_done(uint64_t settles) const;

 private:
  friend class HeldRanges;
  uint64_t first_ = 0;
  uint64_t next_ = 0;
  uint64_t last_ = 0;
  Phase phase_ = Phase::resting;
  uint64_t step_ = 0;  // Keeps under this lease.
};

class HeldRanges {
 public:
  HeldRanges(Millis hold, Asks& asks, Jobs& jobs, Tasks& tasks, Routes& routes);
  HeldRanges(const HeldRanges&) = delete;
  HeldRanges& operator=(const HeldRanges&) = delete;

  // From a delivery on it rests. What we held of the same message before is forgotten.
  Held& add(const std::string& queue, const Delivery& delivery, Instant valid_until);
  void assign(Held& held, JobView& job, uint64_t last);  // Its tasks are those of held.range.
  void assign_nothing(Held& held);                       // The message holds no range.

  Held* find(uint64_t id);
  Held& at(uint64_t id) { return all_.at(id); }
  std::map<uint64_t, Held>& all() { return all_; }  // By id, that is by age.
  const std::map<uint64_t, Held>& all() const { return all_; }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  uint64_t unstarted() const { return unstarted_; }

  // How it goes on.
  void rest(Held& held) { change(held, held.next_, held.last_, Phase::resting); }
  void make_ready(Held& held) { change(held, held.next_, held.last_, Phase::ready); }
  void take_next(Held& held) { change(held, held.next_ + 1, held.last_, held.phase_); }
  void skip_next(Held& held);   // It has an outcome, or a message of its own.
  void cut_to_job(Held& held);  // A job has no tasks beyond its last, whatever the message says.
  // Gives the tasks from `last` on to whoever pulls them next. REQUIRES: it is ready, and none of
  // them was started.
  void shorten(Held& held, uint64_t last);

  // What a commit needs that gives tasks of it away, and what follows from its answer.
  Keep keep(const Held& held, uint64_t last) const;
  void keeping(Held& held) { change(held, held.next_, held.last_, Phase::splitting); }
  void kept(Held& held, Instant sent);
  void finishing(Held& held) { change(held, held.next_, held.last_, Phase::finishing); }
  void not_committed(Held& held);  // It is as it was before.

  // Ranges that may be complete, or can go on otherwise.
  void look_at(uint64_t id) { to_look_at_.insert(id); }
  void look_at_all_of(const JobView& job);
  std::set<uint64_t> take_to_look_at() { return std::exchange(to_look_at_, {}); }

  // Leases.
  void keep_renewing();
  void renew_in_doubt();  // Unless it is under way.
  void renew(const std::string& queue, std::vector<Lease> leases, std::function<void()> then);
  // A worker that was asleep must not act on what it held before it asked whether it still does.
  bool in_doubt(const Held& held);
  size_t renewing() const { return renewing_; }

  // Somebody else has the range, or nobody needs it: nothing that it still does matters.
  void forget(uint64_t id);
  // Stops its tasks and drops what they left; the range itself stays held.
  void abandon(Held& held);
  // What we knew of the pages of a range may be older than the range.
  static void forget_pages(const Held& held);
  // The job had ended, and was retried. What we still hold of earlier rounds is over, and what we
  // know of the pages and the tree is older than that.
  void open_again(JobView& job, uint32_t round);
  // Nothing of this job is to be done any more: running tasks are stopped, its messages finished.
  void end(JobView& job);

  // A damaged row was seen. What waits for it must not keep other jobs waiting.
  void see_damage();
  bool is_stuck(const Held& held) const;
  uint64_t stuck_tasks() const;  // Of those that are unstarted.
  void forget_stuck();           // A worker that leaves does not wait for them: its leases end.

  void check() const;  // Counts again what it counts as it goes; for tests.
  size_t leases() const { return by_lease_.size(); }
  std::string describe() const;  // For people who look for a fault.

 private:
  Held* find(const Lease& lease);
  void change(Held& held, uint64_t next, uint64_t last, Phase phase);
  void renew_all();
  void lose(const Lease& lease);

  const Millis hold_;
  Asks& asks_;
  Jobs& jobs_;
  Tasks& tasks_;
  Routes& routes_;
  JobView nothing_;  // Of messages that hold no range.
  uint64_t last_id_ = 0;
  uint64_t unstarted_ = 0;
  std::map<uint64_t, Held> all_;
  // From a lease to its held range. What was pulled together may have the same token.
  absl::flat_hash_map<std::pair<std::string, uint64_t>, uint64_t> by_lease_;
  size_t renewing_ = 0;  // Requests under way.
  std::set<uint64_t> to_look_at_;
  Instant bad_until_;  // A damaged row was seen; this is after the next look at it.
};

}  // namespace dunlin::worker
