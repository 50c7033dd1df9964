// The mind of a worker: which ranges to pull, what to start, what to write into the store and in
// which order (docs/TASK_CYCLE.md).
//
// Pure: no store, no processes, no clock. Events come in with the time; what is to be done is taken
// out as effects and carried out by the owner (worker/agent.h, the simulation), the drops before
// anything else. Every request gets exactly one answer, in any order. One thread.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/cascade.h"
#include "model/inputs.h"
#include "model/records.pb.h"
#include "model/rows.h"
#include "store/request.h"
#include "worker/plan.h"
#include "worker/slots.h"

namespace dunlin {

struct Now {
  Instant at;
  int64_t wall_us = 0;  // For stamps and for not_before.
};

struct WorkerOptions {
  std::string id = {};
  std::string host = {};
  uint32_t pid = 0;
  uint32_t slots = 1;
  std::set<std::string> tags = {};
  uint64_t mem_bytes = 0;
  uint32_t gpus = 0;
  std::vector<std::string> functions = {};
  Millis hold = std::chrono::seconds(30);  // Of a lease; renewed three times in that time.
  std::string queue = {};        // Pull from this one alone, and tell nobody about us (dunlin run).
  Millis idle_exit = Millis(0);  // Leave after so long without work; 0: never.
  size_t commit_rows = kBatchMax;  // In one commit of the store, at most.
  Millis pace = Millis(20);        // See StoreAccess.
  uint64_t seed = 0;
  // Told of each outcome before it is published; true: no more tasks are started. With it none
  // waits in front of the slots, so each is started after those that ended before were looked at
  // (dunlin run --halt).
  std::function<bool(const model::Outcome& outcome)> enough = {};
};

class WorkerMind {
 public:
  struct Ask {
    uint64_t id = 0;
    Request request;
  };
  // A spool file that must become a blob before its outcome is published.
  struct Upload {
    uint64_t ticket = 0;
    std::string file;
    std::string blob;
  };
  // An outcome that is durable now.
  struct Published {
    std::string job;
    uint64_t task = 0;
    model::Outcome outcome;  // out and err as the task wrote them if they are not blobs.
  };
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
  void start_no_more() { no_more_ = true; }

  Effects take();
  Instant next_wake() const;

  // It has given back all that it held, and said good-bye.
  bool gone() const { return gone_; }
  // Why it cannot go on: its token was refused.
  const std::optional<Error>& failure() const { return failure_; }
  // Why it takes no tasks now: something is wrong with this machine. Empty: it does.
  const std::string& trouble() const { return trouble_; }

  std::string describe() const;  // For people who look for a fault.
  // What it still has of jobs that are over, when it should have nothing; for tests.
  std::string leftovers() const;
  // More tasks wait in front of the slots than run in them.
  bool has_enough_started() const { return running_.size() > size_t{2} * slots_; }
  size_t holds() const { return held_.size(); }
  size_t busy() const { return std::min<size_t>(running_.size(), slots_); }
  uint64_t done() const { return done_; }
  uint64_t failed() const { return failed_; }

 private:
  using Then = std::function<void(Answer&&)>;

  // A range that was pulled and is not finished. Its tasks from `first` to `last`:
  // [first, next) are started, skipped or settled, [next, last) are not.
  struct Held {
    uint64_t id = 0;
    std::string queue;
    Lease lease;
    model::Range range;  // Without its spec.
    Plan* plan = nullptr;
    uint64_t first = 0;
    uint64_t next = 0;
    uint64_t last = 0;
    uint64_t settled = 0;  // Tasks whose outcome or move is durable.
    uint64_t pending = 0;  // Started, claimed, or on their way into a page.
    uint32_t attempt = 0;
    uint32_t again = 0;  // Deliveries before this one.
    uint32_t lost = 0;
    bool seen = false;     // Look at a page before starting a task of it,
    bool old = false;      // and whether the job has ended.
    bool isolate = false;  // A worker was lost with it: its first tasks get messages of their own.
    bool resting = false;  // It is too early for it.
    bool adopted = false;  // Its unstarted tasks are counted.
    uint64_t step = 0;     // Keeps under this lease.
    bool splitting = false;  // One is under way.
    bool finishing = false;
    std::set<uint64_t> bits;  // Full pages that must be in the tree before it is finished.
    int64_t received_us = 0;
    Instant received_at;
    Instant valid_until;  // Of the lease; after that it may be somebody else's.
  };
  struct Running {
    uint64_t held = 0;
    uint64_t task = 0;
    std::vector<uint32_t> gpus;
    bool doubtful = false;  // It took two workers with it.
    Instant since = {};     // When it was handed to the slots.
  };
  struct Uploading {
    Ending ending;
    uint32_t left = 0;
    std::string trouble = {};
  };
  struct RouteView {
    std::string queue;
    model::Route route;
    Depth depth;
  };
  // A commit of outcomes that is being put together or under way.
  struct Draft {
    struct Written {
      Plan* plan = nullptr;
      uint64_t number = 0;
      uint32_t round = 0;
      uint64_t era = 0;  // Of its view.
      model::Page page;
      bool full = false;
      bool ends = false;  // The job, with this commit.
    };
    std::vector<Write> writes;
    struct Reply {
      const Plan* plan = nullptr;
      model::Reply reply;
      size_t bytes = 0;
    };
    std::vector<Reply> replies;      // After the pages.
    std::map<uint64_t, Keep> keeps;  // By held range: of those with tasks that move on.
    Instant sent;
    size_t bytes = 0;
    size_t rows = 0;  // Where messages are rows, too.
    std::vector<Written> pages;
    std::vector<PendingOutcome> outcomes;
    std::vector<PendingMove> moves;
    std::vector<PendingClaim> claims;
    std::map<uint64_t, uint64_t> settles;  // By held range: how many tasks.
    std::vector<uint64_t> finished;        // Held ranges.
  };
  struct RunningCascade {
    Cascade cascade;
    std::function<void()> then;
  };
  struct Asked {
    Request request;
    Then then;
    bool hears_all = false;  // Else only of conflicts and of what is not there.
    uint32_t tries = 0;
  };

  // worker.cc: requests and time.
  void ask(Request request, Then then, bool hears_all = false);
  void get_rows(Get get, std::function<void(std::vector<Row>&&)> then,
                std::vector<Row> so_far = {});
  void ask_again(uint64_t id, Millis least);
  void post(uint64_t id);
  void later(Millis delay, std::function<void()> what);
  void commit(std::vector<Write>&& writes, Then then, bool hears_all = false);
  void beat();
  void renew();
  void keep_renewing();
  void renew_leases(const std::string& queue, std::vector<Lease> leases,
                    std::function<void()> then);
  bool in_doubt(const Held& held);
  void look_at_ends();
  void lose(const Lease& lease);
  void think();  // After every event: whatever can be done is begun.
  void say_goodbye();
  void end_pulls();

  // worker_pull.cc: routes, pulling, splitting, giving back.
  void scan_routes(std::string after);
  void plan_scan();
  void add_route(const Row& row);
  bool satisfies(const model::Requirements& needs) const;
  void pull();
  Millis patience() const;
  void pull_from(const std::string& queue, Millis wait);
  void pulled(const std::string& queue, std::vector<Delivery>&& deliveries, Instant valid_until);
  uint64_t hold(const std::string& queue, Delivery&& delivery, Instant valid_until);
  Keep keep(const Held& held, uint64_t last) const;
  void kept(Held& held, Instant sent);
  void forget_pages(const Held& held);
  void adopt(Held& held);
  void look_for_need(Held& held);
  void begin_reserve(Held& held, const Row& ledger, const std::vector<Row>& pages);
  uint64_t share_of(const Held& held) const;
  void shorten(Held& held, uint64_t last);
  void share_with_hungry();
  uint64_t target() const;  // How many tasks to hold, running ones included.
  double ahead_us() const;
  double hungry_us() const;
  void forget(uint64_t id);
  void abandon(Held& held);
  void give_back_unstarted();
  void give_back_running(Held& held, const std::vector<uint64_t>& tasks);

  // worker_start.cc: plans, inputs, starting and ending of tasks.
  void ask_for(Plan& plan, Request request, Then then, bool hears_all = false);
  Plan& plan_of(const std::string& queue, model::Range& range);
  bool is_old(const model::Range& range) const;
  void open_again(Plan& plan, uint32_t round);
  void read_job(Plan& plan);
  void plan_ready(Plan& plan);
  Result<void> check_needs(const model::Requirements& needs) const;
  static void shorten_to_job(Held& held);
  void start();
  void start_from(Held& held, size_t max);
  bool fits(const Held& held) const;
  bool must_claim(const Held& held) const;
  bool has_room(const Draft& draft, size_t rows) const;
  uint32_t losses(const Held& held, const PageView& view, uint32_t offset) const;
  bool has_begun(const Held& held, uint64_t page);
  void take_task(Held& held);
  bool page_is_there(Held& held, uint64_t page);
  bool inputs_are_there(Plan& plan, uint64_t task, std::vector<std::string>& values);
  void read_group(Plan& plan, size_t source, uint64_t group);
  void read_slice(Plan& plan, const std::string& blob, Slice slice, std::string so_far,
                  std::function<void(Result<std::string>&&)> then);
  bool read_stdin(Plan& plan);
  void launch(Held& held, uint64_t task, std::vector<std::string>&& values);
  void claim(Held& held, uint64_t task, std::vector<std::string>&& values);
  void claimed(PendingClaim&& claim);
  void isolate(Held& held);
  void move_task(Held& held, uint64_t task, uint32_t attempt, uint32_t lost, int64_t not_before_ms);
  void settle(Held& held, uint64_t task, PendingOutcome&& pending);
  void refuse(Held& held, uint64_t task, const std::string& why);
  PendingOutcome lost_outcome(const Held& held, std::string why) const;
  bool again(Held& held, uint64_t task, const model::Outcome& outcome);
  static Millis pause_of(const Held& held);
  bool elsewhere(Held& held, uint64_t task, const model::Outcome& outcome);
  void ran_here();
  void could_not_start(const std::string& why);
  bool resting() const { return now_.at < rests_until_; }
  void end_task(Ending&& ending);
  void release_amounts(const Plan& plan, const Running& running);
  void measure(Plan& plan, const model::Outcome& outcome);
  void measure_running();
  double pace_of(const Plan& plan) const;

  // worker_publish.cc: pages, and the end of ranges.
  void mark_dirty(Plan& plan, uint64_t page);
  Instant publish_due() const;
  void publish();
  void draft_page(Draft& draft, Plan& plan, uint64_t number, PageView& view);
  void draft_moves(Draft& draft, PageView& view, model::Page& page);
  void draft_claims(Draft& draft, PageView& view, model::Page& page);
  void draft_outcomes(Draft& draft, const Plan& plan, PageView& view, model::Page& page,
                      model::Page& news);
  void draft_reply(Draft& draft, const Plan& plan, uint64_t number, const model::Page& page,
                   model::Page&& news) const;
  void draft_finishes(Draft& draft);
  void send(Draft&& draft);
  void published(Draft& draft, uint64_t version);
  void collided(Draft&& draft, Millis pause);
  void take_back(Draft& draft);
  void recovered(uint64_t recovery);
  void read_page(Plan& plan, uint64_t number, std::function<void()> then = {});
  void page_read(Plan& plan, uint64_t number, uint64_t era, Row&& row);
  void page_is_bad(Plan& plan, uint64_t number, const std::string& why);
  void forget_stuck();
  void owe_bit(Held& held, uint64_t page);
  void finish_done();
  void close(Held& held);
  bool is_done(const Held& held, uint64_t settles) const;
  void tidy(const Plan& plan) { untidy_.insert(plan.job); }
  void sweep();

  // worker_end.cc: the completion tree, the end of jobs, and those that come after them.
  void climb(Plan& plan);
  bool may_climb(Plan& plan);
  void forget_bits(Plan& plan, const std::vector<uint64_t>& pages);
  void climb_from(Plan& plan);
  void climbed(Plan& plan, const Climb& climb);
  void climb_again(Plan& plan);
  void climb_later(Plan& plan, Millis delay);
  void read_nodes(Plan& plan, const std::vector<std::pair<uint32_t, uint64_t>>& which,
                  std::function<void()> then);
  void draft_end(std::vector<Write>& writes, const Plan& plan, const Counts& counts) const;
  bool owes_release(const Plan& plan) const;
  void read_end(Plan& plan, std::function<void()> then);
  void end_read(Plan& plan, const Row& row);
  void job_has_ended(Plan& plan);
  void end_plan(Plan& plan);
  void release(Plan& plan);
  void cascade(uint64_t id);

  bool stopping() const { return draining_ || stopping_; }
  // There are no other workers. Then it is a person who kills us, not a task (dunlin run).
  bool is_alone() const { return !options_.queue.empty(); }
  // Its job has ended, and may have been opened again since.
  static bool is_over(const Held& held) {
    return held.plan->ended || held.range.round() < held.plan->round;
  }
  // It waits for a damaged row to be repaired, and must not keep other jobs waiting.
  bool is_stuck(const Held& held) const;
  uint64_t stuck_tasks() const;  // Of those that are unstarted.
  // One more loss would end it.
  bool is_doubtful(const Held& held) const {
    return held.lost + 1 >= losses_max(held.plan->spec()) && !is_alone();
  }
  Held* find(uint64_t held);
  Held* find(const Lease& lease);

  const WorkerOptions options_;
  uint32_t slots_;
  Random random_;
  Now now_;
  Effects effects_;
  std::optional<Error> failure_;
  bool begun_ = false;
  bool draining_ = false;
  bool stopping_ = false;
  bool no_more_ = false;
  bool goodbye_ = false;
  std::optional<Instant> leaves_at_;  // The good-bye was heard: then at the latest.
  bool gone_ = false;

  uint64_t last_ask_ = 0;
  std::map<uint64_t, Asked> asked_;
  std::multimap<Instant, std::function<void()>> timers_;

  std::vector<RouteView> routes_;   // Those that we satisfy: larger priority first.
  std::vector<RouteView> scanned_;  // The next `routes_`.
  Instant scanned_at_;
  size_t turn_ = 0;
  std::set<std::string> pulling_;  // Queues with a pull under way.
  bool asking_ = false;            // One of them does not wait.
  bool nothing_there_ = false;     // The last pull said so; nothing was pushed since.
  size_t tried_ = 0;               // Routes that had nothing, in this round.
  uint64_t pull_max_ = 1;
  Instant idle_since_;
  int64_t started_wall_us_ = 0;

  uint64_t last_held_ = 0;
  uint64_t unstarted_ = 0;  // Tasks of adopted ranges.
  double mean_us_ = 0;      // Of the last tasks' times; 0: not known yet.
  Plan plan_of_nothing_;    // Of messages that are no ranges.
  std::map<uint64_t, Held> held_;
  // From a lease to its held range. What was pulled together may have the same token.
  absl::flat_hash_map<std::pair<std::string, uint64_t>, uint64_t> by_lease_;
  size_t renewing_ = 0;  // Requests under way.
  std::map<std::string, std::unique_ptr<Plan>> plans_;
  absl::flat_hash_map<std::string, uint32_t> ended_;  // Jobs of which we know that, by round.
  std::set<std::string> untidy_;  // Jobs whose plans may not be needed any more.
  uint64_t last_ticket_ = 0;
  absl::flat_hash_map<uint64_t, Running> running_;
  std::map<uint64_t, Uploading> uploading_;  // By ticket; still in running_.
  uint64_t cpus_used_ = 0;
  uint64_t mem_used_ = 0;
  std::set<uint32_t> gpus_free_;
  uint64_t claiming_ = 0;  // Tasks whose claim is not durable yet, but for those in damaged pages.
  uint64_t heavy_ = 0;     // Running tasks that need more than a slot.
  uint64_t doubtful_ = 0;  // Running tasks that took two workers with them.

  std::vector<std::pair<Plan*, uint64_t>> dirty_;
  bool publishing_ = false;
  bool publish_planned_ = false;
  size_t recovering_ = 0;  // Answers to wait for before publishing again,
  uint64_t recovery_ = 0;  // after the last collision.
  Instant bad_until_;      // A damaged row was seen; this is after the next look at it.
  bool one_page_ = false;  // In each commit: one of them was refused.
  Instant published_at_ = Instant::min();  // When outcomes were sent last; min(): more must follow.
  std::set<uint64_t> settled_;             // Held ranges that may be complete.
  std::set<uint64_t> to_finish_;           // Those that are.

  uint64_t last_cascade_ = 0;
  std::map<uint64_t, RunningCascade> cascades_;

  uint32_t faults_ = 0;      // Tasks in a row that could not be started here.
  std::string trouble_;      // The last reason, once there were too many.
  Millis rest_ = Millis(0);  // How long the next rest lasts.
  Instant rests_until_;

  uint64_t done_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace dunlin
