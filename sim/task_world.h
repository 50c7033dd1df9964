// A simulated fleet: one store, many workers (the real minds), jobs, and faults from a seed.
//
// Faults: requests and answers that get lost (then the mind hears `unavailable`), requests that
// come twice, slow links, workers that crash, freeze, drain or are stopped, tasks that fail, time
// out or take their worker with them, jobs that are cancelled or retried. Everything that happens
// is told to a ledger, which complains (gtest) about whatever must not be.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/ledgers.h"
#include "model/records.pb.h"
#include "model/tree.h"
#include "sim/events.h"
#include "store/call_store.h"
#include "worker/worker.h"

namespace dunlin {

// What a task does, as a function of the seed.
struct Conduct {
  Millis takes = Millis(0);
  uint32_t fails = 0;         // So many first attempts end with exit code 1.
  bool kills_worker = false;  // Each time.
  bool large_output = false;  // Goes into a row.
};

struct SimJob {
  std::string id;
  model::Spec spec;
  std::vector<Conduct> tasks;
  bool cancelled = false;
  bool retried = false;  // What failed is queued again once it has ended.
};

// What was seen of the tasks, and what must hold at every step.
class TaskLedger {
 public:
  explicit TaskLedger(const std::vector<SimJob>& jobs) : jobs_(jobs) {}

  void started(const std::string& job, uint64_t task, uint32_t attempt);
  void page_written(const std::string& key, const std::string& value);
  void job_ended(CallStore& store, const std::string& job, const std::string& value);
  void retried(const std::string& job);  // Its failed tasks have no outcome any more.
  void worker_lost() { losses_ = true; }
  uint64_t starts(const std::string& job, uint64_t task) const;
  // An attempt at a partition says that it has done them.
  void iterated(const std::string& job, uint64_t task, uint32_t attempt, const balance::Span& span);
  void redelivered(const std::string& message) { redelivered_.insert(message); }
  // After everything has ended.
  void check(CallStore& store);

 private:
  const SimJob& job(const std::string& id) const;
  void check_job(CallStore& store, const SimJob& job);
  void check_iterations(const SimJob& job, const std::map<uint64_t, uint32_t>& well) const;
  void check_lost(const SimJob& job, const model::Page& page, const model::Outcome& outcome) const;

  const std::vector<SimJob>& jobs_;
  std::map<std::pair<std::string, uint64_t>, std::set<uint32_t>> starts_;
  struct Won {
    uint32_t attempt = 0;
    bool ok = false;
  };
  std::map<std::pair<std::string, uint64_t>, Won> outcomes_;
  std::map<std::tuple<std::string, uint64_t, uint32_t>, std::vector<balance::Span>> spans_;
  bool losses_ = false;
  std::set<std::string> redelivered_;  // Messages.
};

struct TaskFaults {
  uint64_t request_lost = 0;  // Percent.
  uint64_t answer_lost = 0;
  uint64_t repeated = 0;
  uint64_t crash = 0;  // Percent of a worker's seconds.
  uint64_t freeze = 0;
  uint64_t leave = 0;
  uint64_t resize = 0;
  Millis delay_max = Millis(2);
};

class TaskWorld;

class SimWorker {
 public:
  SimWorker(TaskWorld& world, uint64_t number);
  void start();
  void crash();  // And another one comes.
  void freeze(Millis how_long);
  void leave(bool at_once);
  void resize();
  std::string describe() const { return mind_ == nullptr ? "down\n" : mind_->describe(); }

 private:
  void act();  // Carries out what the mind decided.
  void run(const Assignment& assignment);
  void run_partition(uint64_t ticket, const Taker& who, const Conduct& conduct, bool fails);
  void end(uint64_t ticket, const Conduct& conduct, bool fails, Now now);
  void event(std::function<void(Now)> what);

  TaskWorld& world_;
  const uint64_t number_;
  uint64_t life_ = 0;
  std::unique_ptr<WorkerMind> mind_;
  std::set<uint64_t> running_;
  LedgerClock ledgers_seen_;
  Instant frozen_until_;
  Instant wake_;
};

class TaskWorld {
 public:
  explicit TaskWorld(uint64_t seed);
  // Returns a number that depends on everything that happened.
  uint64_t run();

  Events& events() { return events_; }
  Random& random() { return random_; }
  TaskLedger& ledger() { return ledger_; }
  const TaskFaults& faults() const { return faults_; }
  const SimJob* find(const std::string& job) const;
  Table& table() { return store_->table(); }
  // Carries the request out, sooner or later, once or twice or not at all.
  void post(Request request, std::function<void(Answer&&)> then);
  Millis hold() const { return hold_; }
  size_t commit_rows() const { return commit_rows_; }
  Millis pace() const { return pace_; }
  uint32_t slots();  // For a worker.

 private:
  void make_jobs();
  void submit_all();
  void cancel(const std::string& job);
  void retry(const std::string& job);
  void trouble();
  bool is_over() const;  // The trouble.
  Answer apply(const Request& request);
  void pull(const Pull& request, Instant until, std::function<void(Answer&&)> then);
  bool all_ended();
  std::string describe();

  Random random_;
  Events events_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<CallStore> store_;
  std::vector<SimJob> jobs_;
  TaskLedger ledger_;
  TaskFaults faults_;
  Millis hold_ = Millis(2000);
  size_t commit_rows_ = kBatchMax;
  Millis pace_ = WorkerOptions().pace;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  uint64_t retries_left_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace dunlin
