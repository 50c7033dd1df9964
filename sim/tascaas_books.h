// What the TaScaaS services of a simulated world have done, and the rules that must hold at every
// step and at its end; a broken one fails the test. The books look at each write that reaches the
// store and at each answer that leaves a service, and know nothing of how the balancer comes to its
// numbers. One thread, the world's.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/env.h"
#include "store/request_store.h"
#include "tascaas/dispatcher.h"
#include "tascaas/intake.h"
#include "tascaas/turns.h"

namespace dunlin {

// A job file, as a user drops it.
struct SimJobFile {
  std::string name;
  std::string text;
  uint64_t iterations = 0;  // 0: the file makes no sense.
  bool hasty = false;       // Its data may come later: then it is refused, or not.
  bool balanced = true;
};

// When a part of a call began.
struct SimNow {
  WallTime wall = {};
  Instant begun = {};
  uint64_t commits = 0;  // How many there had been.
};

// A partition of a job, and its turn.
struct SimTurn {
  std::string job;
  size_t partition = 0;
  uint32_t turn = 0;
};

// One call of a service, with what is laid to its account.
struct SimCall {
  enum class Kind { enroll, update, jobs, leave, turn, upload, drop };
  Kind kind = Kind::update;
  SimNow now = {};  // As its code was last told.

  std::string infra = {};
  std::string job = {};
  tascaas::Said said = {};
  uint64_t results = 0;  // What it uploads says so many iterations.

  uint64_t doubts = 0;  // Requests of which it does not know whether they were carried out.
  std::vector<SimTurn> marked = {};    // What it handed out.
  uint64_t counted = 0;                // For the advice.
  bool wrote = false;                  // What the partition said.
  tascaas::Job::Partition after = {};  // What that left.
};

class TascaasBooks {
 public:
  // `store` has no faults.
  TascaasBooks(RequestStore& store, const std::vector<SimJobFile>& files)
      : store_(store), files_(files) {}

  tascaas::Tenant tenant;
  Millis spread = Millis(0);  // By how much clocks have been apart, at most.

  SimCall& open(SimCall::Kind kind);
  uint64_t commits() const { return commits_; }

  // A commit was carried out for a call, whose code had been told that it is `told`.
  void committed(SimCall& call, const SimNow& told, Instant now, const Commit& commit);
  // What a call's code has returned.
  void taken_in(const std::vector<tascaas::Taken>& taken);
  void handed_out(SimCall& call, const std::vector<tascaas::Handed>& handed);
  void took_turn(SimCall& call, const balance::Share& share);
  void finish_heard(const std::string& job, size_t partition);  // By who finished.

  const std::map<std::string, tascaas::Job>& jobs() const { return jobs_; }
  // What a file has become; empty: no job.
  std::string job_of(const SimJobFile& file);
  // It has as many losses as may be, each with a cause.
  bool has_failed(const std::string& job) const;
  // After everything has ended. `excused`: jobs that need not be done.
  void check(const std::set<std::string>& excused);
  void check_retired();  // After all jobs were.

 private:
  using Place = std::pair<std::string, size_t>;  // A partition of a job.
  struct State {
    uint64_t since = 0;  // The number of a commit.
    bool started = false;
    bool finished = false;
    bool spare = false;
    int64_t resumed_ms = 0;
    int64_t last_ms = 0;
  };
  struct Context {
    SimCall& call;
    SimNow told;
    Instant now;
    std::set<std::string> pushed = {};
    std::set<std::string> finished = {};
  };

  std::string value_of(const std::string& key, uint64_t& version);
  void job_written(Context& context, const std::string& id, const tascaas::Job& job);
  void job_made(Context& context, const std::string& id, const tascaas::Job& job);
  void partition_written(Context& context, const Place& place, const tascaas::Job& job,
                         const tascaas::Job::Partition& before,
                         const tascaas::Job::Partition& after);
  void spared(const Place& place, const tascaas::Job& job, const tascaas::Job::Partition& before,
              const tascaas::Job::Partition& after);
  void handed(Context& context, const Place& place, const tascaas::Job::Partition& after);
  void taken_back(Context& context, const Place& place, const tascaas::Job& job,
                  const tascaas::Job::Partition& before, const tascaas::Job::Partition& after);
  void finished(Context& context, const Place& place, const tascaas::Job::Partition& after);
  void dispatch_written(Context& context, const tascaas::Dispatch& dispatch);
  void check_advice(const Context& context, const tascaas::Dispatch& before,
                    const tascaas::Dispatch& after);
  void check_messages(Context& context);
  void check_file(const SimJobFile& file, const std::set<std::string>& excused);
  void check_job(const std::string& id, const SimJobFile& file);
  void check_files();
  void check_nothing_left(const std::set<std::string>& excused);
  static bool may_hear(const State& state, const tascaas::Said& said, const balance::Share& share);
  bool is_known(const std::string& infra) const;
  bool is_spare(const Place& place) const;
  bool still_waits_for(const SimTurn& turn) const;

  RequestStore& store_;
  const std::vector<SimJobFile>& files_;
  std::deque<SimCall> calls_;
  uint64_t commits_ = 0;
  std::map<std::string, uint64_t> versions_;
  std::map<std::string, tascaas::Job> jobs_;
  tascaas::Dispatch dispatch_;
  std::map<std::string, uint64_t> forgotten_;  // Infrastructures, and the commit that did it.
  uint64_t scaled_until_ = 0;                  // The commit that ended the last scaling phase.
  std::set<std::string> reported_;             // Jobs that a call said it has made.
  std::map<std::tuple<std::string, size_t, uint32_t>, std::string> holders_;
  std::map<std::string, std::tuple<std::string, size_t, uint32_t>> tickets_;  // By message.
  std::map<Place, Instant> handed_at_;
  std::map<Place, Instant> heard_at_;
  std::map<Place, uint64_t> losses_;
  std::map<Place, std::vector<State>> states_;
  std::map<Place, int> hands_;         // How often it was handed out.
  std::map<Place, uint64_t> told_;     // The least that anybody who had it was told.
  std::map<Place, uint64_t> results_;  // Iterations whose results are there.
  std::set<Place> reports_;            // Their balance.rep must be there.
};

}  // namespace dunlin
