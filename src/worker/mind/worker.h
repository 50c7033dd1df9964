// The mind of a worker: which ranges to pull, what to start, what to write into the store and in
// which order (docs/TASK_CYCLE.md).
//
// Pure: no store, no processes, no clock. Events come in with the time; what is to be done is taken
// out as effects and carried out by the owner (worker/agent.h, the simulation), the drops before
// anything else. Every request gets exactly one answer, in any order. One thread.
//
// It owns the parts, each of which decides one thing with fields of its own, and hands events to
// them; what may be done then is begun by think(), so no part needs to know what follows for others
// (docs/decisions/032-parts-of-the-mind.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "worker/mind/arrivals.h"
#include "worker/mind/asks.h"
#include "worker/mind/completion.h"
#include "worker/mind/endings.h"
#include "worker/mind/health.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/inputs.h"
#include "worker/mind/job_view.h"
#include "worker/mind/options.h"
#include "worker/mind/page_reader.h"
#include "worker/mind/pages.h"
#include "worker/mind/room.h"
#include "worker/mind/routes.h"
#include "worker/mind/sharing.h"
#include "worker/mind/starter.h"
#include "worker/mind/task_times.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

class WorkerMind final : private RoutesOwner {
 public:
  using Ask = worker::Ask;
  using Upload = worker::Upload;
  using Published = worker::Published;
  struct Effects {
    std::vector<Ask> asks;
    std::vector<uint64_t> drop;  // Before the starts.
    std::vector<Assignment> start;
    size_t grab = 1;
    std::vector<Upload> uploads;
    std::vector<Published> published;  // Only with WorkerOptions::queue.
  };

  explicit WorkerMind(WorkerOptions options);

  void begin(Now now);
  void answered(uint64_t id, Answer&& answer, Now now);
  void ended(std::vector<Ending>&& endings, Now now);
  void uploaded(uint64_t ticket, const Result<void>& result, Now now);
  void tick(Now now);  // Time has passed; due at next_wake() or soon after.

  void drain(Now now);  // Takes no more, gives back what has not started, finishes the rest.
  void stop(Now now);   // Gives back everything at once.
  // From now on it has so many. What runs in others is finished; a task that needs more than there
  // are now runs alone. REQUIRES: slots > 0
  void set_slots(uint32_t slots, Now now);
  // No more tasks of any job are started (dunlin run --halt soon); those that run are finished.
  void start_no_more() { course_.no_more = true; }

  Effects take();
  Instant next_wake() const { return asks_.next_wake(); }

  // It has given back all that it held, and said good-bye.
  bool gone() const { return gone_; }
  // Why it cannot go on: its token was refused.
  const std::optional<Error>& failure() const { return asks_.failure(); }
  // Why it takes no tasks now: something is wrong with this machine. Empty: it does.
  const std::string& trouble() const { return health_.trouble(); }

  std::string describe() const;  // For people who look for a fault.
  // What it still has of jobs that are over, when it should have nothing; for tests.
  std::string leftovers() const;
  // Counts again what it counts as it goes, and CHECKs that it is the same; for tests.
  void check() const;
  // More tasks wait in front of the slots than run in them.
  bool has_enough_started() const { return tasks_.size() > size_t{2} * room_.slots(); }
  size_t holds() const { return ranges_.size(); }
  size_t busy() const { return std::min<size_t>(tasks_.size(), room_.slots()); }
  uint64_t done() const { return pages_.done(); }
  uint64_t failed() const { return pages_.failed(); }

 private:
  Offer offer() const override;
  bool is_busy() const override;
  bool holds_any() const override { return !ranges_.empty(); }
  void idle_too_long() override { drain(asks_.now()); }
  bool pulled(const std::string& queue, std::vector<Delivery>&& deliveries,
              Instant valid_until) override;

  void think();  // After every event: whatever can be done is begun.
  void beat();
  void say_goodbye();
  void check_room() const;

  const WorkerOptions options_;
  Course course_;
  bool begun_ = false;
  bool goodbye_ = false;
  std::optional<Instant> leaves_at_;  // The good-bye was heard: then at the latest.
  bool gone_ = false;
  int64_t started_wall_us_ = 0;

  // Each uses those before it, and is gone before them.
  Room room_;
  Jobs jobs_;
  Asks asks_;
  Health health_;
  TaskTimes times_;
  Tasks tasks_;
  Routes routes_;
  HeldRanges ranges_;
  PageReader reader_;
  JobInputs inputs_;
  Completion completion_;
  Sharing sharing_;
  Arrivals arrivals_;
  Pages pages_;
  Starter starter_;
  Endings endings_;
};

}  // namespace dunlin::worker
