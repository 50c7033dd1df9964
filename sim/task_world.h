// A simulated fleet: one store, many workers (the real minds), clients, jobs, and faults from a
// seed.
//
// Faults: requests and answers that get lost (then the mind hears `unavailable`), requests that
// come twice or once more long after, answers with fewer rows than there are, stores that are full,
// away or damaged for a while, slow links, wall clocks that differ and jump, workers that crash,
// freeze, drain, are stopped or cannot start anything, tasks that fail or take their worker with
// them, jobs that are submitted, cancelled, retried and removed by clients, and removed by
// sweepers, that may die on the way. Everything that happens is told to a ledger, which complains
// (gtest) about whatever must not be.
//
// In some worlds the store is memory and the world itself stands between it and the workers; in the
// others it is a real hub with the durable engine on a disk that fails, behind a network.
//
// One thread: the world and its fibers take turns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "retention/sweeper.h"
#include "sim/checker.h"
#include "sim/client.h"
#include "sim/events.h"
#include "sim/fiber.h"
#include "sim/hub_node.h"
#include "sim/network.h"
#include "sim/sim_worker.h"
#include "sim/task_checker.h"
#include "store/request_store.h"

namespace dunlin {

struct TaskFaults {
  uint64_t request_lost = 0;  // Percent.
  uint64_t answer_lost = 0;
  uint64_t repeated = 0;
  uint64_t late = 0;        // Of requests: a copy comes again, much later.
  uint64_t last_words = 0;  // Of commits of workers: it dies with this one, which comes much later.
  uint64_t renew_lost = 0;  // Of renewals: a lease ends while its holder goes on with its work.
  uint64_t short_rows = 0;  // Of answers with several rows: some are left out at the end.
  uint64_t full = 0;
  uint64_t away = 0;   // `unavailable`: it has happened, or it has not.
  uint64_t crash = 0;  // Percent of a worker's seconds.
  uint64_t freeze = 0;
  uint64_t leave = 0;
  uint64_t resize = 0;
  uint64_t broken = 0;      // Nothing can be started there for a while.
  uint64_t clock_jump = 0;  // Of its wall clock.
  uint64_t poison = 0;      // Percent of seconds: a page is damaged, and repaired later.
  uint64_t client_dies = 0;
  Millis delay_max = Millis(2);
  Millis skew_max = Millis(0);  // Of wall clocks.
};

// How a worker or a client reaches the store.
class Way {
 public:
  virtual ~Way() = default;
  using Then = std::function<void(Answer&&)>;
  virtual void post(Request request, Then then) = 0;
  virtual void close() = 0;  // Its owner died. Nothing is answered any more.
};

class TaskWorld {
 public:
  static constexpr Millis kTroubleMax = Millis(12'000);  // After that there are no faults.

  explicit TaskWorld(uint64_t seed);
  ~TaskWorld();
  // Returns a number that depends on everything that happened.
  uint64_t run();

  Events& events() { return events_; }
  Random& random() { return random_; }
  TaskChecker& ledger() { return ledger_; }
  const TaskFaults& faults() const { return faults_; }
  const SimJob* find(const std::string& job) const;
  void started(const std::string& job, uint64_t task, uint32_t attempt);
  std::unique_ptr<Way> way();
  // The world as the memory's network: sooner or later, once or twice or not at all.
  void post(const Way* way, Request request, Way::Then then);
  void post_late(Request request);  // Up to several leases later. Nobody hears the answer.
  Millis hold() const { return hold_; }
  size_t commit_rows() const { return commit_rows_; }
  Millis pace() const { return pace_; }
  uint32_t slots();  // For a worker.
  Millis skew();     // For its wall clock.

  // Lets code that blocks run among everything else. It may be killed on the way, if it is a
  // client's.
  void run_fiber(Fiber::Body body, bool mortal);

 private:
  struct RunningFiber;
  class MemoryWay;
  class HubWay;

  void choose_faults(uint64_t seed);
  void choose_removals(uint64_t seed);
  void put_past(const SimJob& job);
  void go_on(RunningFiber& fiber, Answer answer);
  void submit_all();
  void cancel(const std::string& job);
  void cancelled(const std::string& job);
  void retry(const std::string& job, uint32_t times);
  void retry_now(const std::string& job, std::function<void(bool done)> then);
  void remove(const std::string& job);
  Millis late() const;
  void sweep(std::shared_ptr<retention::Sweeper> sweeper);  // None: a new one.
  void read_replies(const std::string& queue);
  void poison();
  void trouble();
  Millis some_sleep();
  bool is_over() const;  // The trouble.
  Answer apply(const Request& request);
  void look_at(const Commit& commit);
  void repeat_end(const Commit& commit);
  void trace(const Commit& commit);
  void shorten(Answer& answer);
  void pull(const Way* way, const Pull& request, Instant until, Way::Then then);
  void end_waits(const Way* way, const std::string& queue);
  void wake(const std::string& queue);
  void expire();  // Leases.
  void keep_expiring();
  bool can_look();  // At `store_`: not while the hub is down.
  bool all_ended();
  bool all_removed();
  bool all_idle();
  std::string describe();
  std::string describe_rows(const SimJob& job);

  Random random_;
  Events events_;
  std::vector<SimJob> jobs_;
  TaskChecker ledger_;
  TaskFaults faults_;
  bool only_answers_lost_ = false;  // Then no lease may ever end.

  // One of these two stands behind `store_`.
  std::unique_ptr<Core> core_;
  Network network_;
  std::unique_ptr<HubNode> hub_;
  Checker hub_ledger_;

  struct Waiting {
    const Way* way = nullptr;
    Pull request;
    Way::Then then;
  };
  std::map<std::string, std::map<uint64_t, Waiting>> waiting_;  // Pulls, by queue and age.
  std::set<std::string> woken_;                                 // Queues.
  uint64_t last_waiting_ = 0;

  std::map<std::string, Commit> ends_;   // The last that put the end of a job.
  std::unique_ptr<RequestStore> store_;  // For those who look on, without any faults.
  Millis hold_ = Millis(2000);
  size_t commit_rows_ = kBatchMax;
  Millis pace_ = worker::WorkerOptions().pace;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<Client>> links_;  // Of workers and clients, dead ones too.
  std::vector<std::unique_ptr<RunningFiber>> fibers_;
  uint64_t unsubmitted_ = 0;   // Jobs.
  uint64_t clients_left_ = 0;  // Submissions, cancellations and retries under way or to come.
  uint64_t hash_ = 0;
};

}  // namespace dunlin
