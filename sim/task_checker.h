// What the tasks of a simulated fleet have done, and the rules that must hold at every step and at
// its end; a broken one fails the test. One thread, the world's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "balance/ledger.h"
#include "base/env.h"
#include "model/jobs/tree.h"
#include "model/records.pb.h"
#include "store/request_store.h"

namespace dunlin {

// What a task does, as a function of the seed.
struct Conduct {
  enum class Output { none, row, blob };
  static constexpr uint32_t kAlways = UINT32_MAX;
  Millis takes = Millis(0);
  uint32_t fails = 0;  // So many first attempts end with exit code 1.
  uint32_t kills = 0;  // So many first attempts take their worker with them.
  Output output = Output::none;
};

struct SimJob {
  std::string id;
  model::Spec spec;
  std::vector<Conduct> tasks;
  Millis submitted = Millis(0);  // When.
  std::string inputs = {};       // The blob with its values, if there are many.
  bool cancelled = false;
  uint32_t retried = 0;  // So often what failed is queued again, once it has ended.
  bool removed = false;  // By a client, once it has ended.
  bool past = false;     // It ended before the world began; those tasks failed that `fails` says.
  bool goes() const { return removed || spec.keep_ms() != 0; }
  const Conduct& conduct(uint64_t task) const { return tasks[task % tasks.size()]; }
};

inline constexpr size_t kRowOutput = 2000;
std::string blob_output(const std::string& job, uint64_t task, uint32_t attempt);

// The store is a hub behind a network. Such a world costs as much as ten others.
inline bool is_behind_network(uint64_t seed) { return seed % 16 == 5; }
// Workers come and go all the time while tasks run.
inline bool is_restless(uint64_t seed) { return seed % 16 == 11; }
// `peaceful`: no task takes its worker with it.
std::vector<SimJob> make_jobs(Random& random, uint64_t seed, bool peaceful);

class TaskChecker {
 public:
  explicit TaskChecker(const std::vector<SimJob>& jobs) : jobs_(jobs) {}

  void started(const std::string& job, uint64_t task, uint32_t attempt);
  // An attempt that starts, and is not the first, is on record: else a retry could use its number.
  void check_begun(RequestStore& store, const std::string& job, uint64_t task,
                   uint32_t attempt) const;
  uint64_t starts(const std::string& job, uint64_t task) const;
  void page_written(RequestStore& store, const std::string& key, const std::string& value);
  // True if the job is being removed, or is gone.
  static bool is_gone(RequestStore& store, const SimJob& job);
  // Its first attempts, and nobody saw them.
  void has_ended_before(const std::string& job, uint64_t number, const model::Page& page);
  void job_ended(RequestStore& store, const std::string& job, const std::string& value);
  // `store` as it is now, if it can be seen.
  void replied(RequestStore* store, const std::string& message, const std::string& body);
  void retries(const std::string& job) { ++retries_[job]; }  // Somebody begins to.
  void worker_stopped() { stops_ = true; }
  // A lease ended, and the message went to another holder.
  void redelivered(const Delivery& delivery);
  // Whether the causes of a lost task can be seen: not if the store is behind a network.
  void watch_losses() { watches_losses_ = true; }
  // No lease ever ends, so each task is in one message, and starts only when it has no outcome.
  void expect_peace() { peace_ = true; }
  // An attempt at a partition says that it has done them.
  void iterated(const std::string& job, uint64_t task, uint32_t attempt, const balance::Span& span);
  // After everything has ended.
  void check(RequestStore& store);

 private:
  using Task = std::pair<std::string, uint64_t>;

  const SimJob& job(const std::string& id) const;
  void check_job(RequestStore& store, const SimJob& job);
  void check_outcome(const SimJob& job, uint64_t task, const model::Page& page,
                     const model::Outcome& outcome);
  void check_output(RequestStore& store, const SimJob& job, uint64_t task,
                    const model::Outcome& outcome) const;
  void check_iterations(const SimJob& job, const std::map<uint64_t, uint32_t>& well) const;
  void check_lost(const SimJob& job, uint64_t task, const model::Page& page,
                  const model::Outcome& outcome) const;
  void check_nothing_left(RequestStore& store) const;
  void check_removed(RequestStore& store) const;

  const std::vector<SimJob>& jobs_;
  std::map<Task, std::set<uint32_t>> starts_;
  std::map<Task, uint32_t> this_round_;  // Starts, of those that may start once.
  struct Won {
    uint32_t attempt = 0;
    bool ok = false;
  };
  std::map<Task, Won> outcomes_;
  std::map<Task, uint32_t> taken_out_;  // By a retry: the attempt of the last such outcome.
  std::map<std::tuple<std::string, uint64_t, uint32_t>, std::string> replies_;
  std::map<std::tuple<std::string, uint64_t, uint32_t>, std::vector<balance::Span>> spans_;
  std::map<std::string, uint32_t> retries_;
  std::set<std::string> ended_;  // Jobs that were seen to end.
  bool stops_ = false;
  bool watches_losses_ = false;
  bool peace_ = false;
  std::map<Task, std::set<uint32_t>> claims_;    // Attempts.
  std::map<Task, std::set<uint32_t>> returned_;  // Attempts whose lease ended, begun or not.
};

}  // namespace dunlin
