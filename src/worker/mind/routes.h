// Where a worker pulls from: the routes whose requirements it meets, the larger priority first, the
// others of the same priority in turn. Finds them by scanning, asks those that may have something,
// and waits at all of them when none has.
//
// Pure; what it needs to know of the worker, and what it brings, goes through RoutesOwner. One
// thread; the asks and the owner outlive it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/match.h"
#include "model/records.pb.h"
#include "worker/mind/asks.h"

namespace dunlin::worker {

class RoutesOwner {
 public:
  virtual ~RoutesOwner() = default;
  virtual Offer offer() const = 0;   // What it has now.
  virtual bool is_busy() const = 0;  // All its slots have something to do.
  virtual bool holds_any() const = 0;
  virtual void idle_too_long() = 0;  // See RoutesOptions::idle_exit.
  // Messages have come; the leases last until then at least. True: one was larger than it should
  // be, so one at a time is enough.
  virtual bool pulled(const std::string& queue, std::vector<Delivery>&& deliveries,
                      Instant valid_until) = 0;
};

struct RoutesOptions {
  std::string only = {};  // Pull from this queue alone, which nobody else pulls from (dunlin run).
  Millis hold = Millis(0);       // Of a lease.
  Millis pace = Millis(0);       // See StoreAccess.
  Millis idle_exit = Millis(0);  // 0: never.
};

class Routes {
 public:
  Routes(RoutesOptions options, Asks& asks, RoutesOwner& owner);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  void begin();
  void pull();  // The next, if one is due. REQUIRES: the worker wants more.
  // What a pull brings after its worker has left is nobody's until its lease ends. So those that
  // wait end first. Not every store can end them: it is not waited for.
  void end_pulls();
  bool is_pulling() const { return !pulling_.empty(); }

  void something_pushed() { nothing_there_ = false; }  // By ourselves, so it is known at once.

  // How many workers hold messages of the queue, as far as we know; at least one.
  uint64_t holders(const std::string& queue) const;
  void set_depth(const std::string& queue, const Depth& depth);

  size_t size() const { return routes_.size(); }
  void check() const;  // What it counts against what is asked; for tests.

 private:
  struct View {
    std::string queue;
    model::Route route;
    Depth depth;
  };

  bool is_alone() const { return !options_.only.empty(); }
  void scan(std::string after);
  void plan_scan();
  void add(const Row& row);
  void scanned();
  Millis patience() const;
  void pull_from(const std::string& queue, Millis wait);
  void answered(const std::string& queue, Instant asked, Answer&& answer);

  const RoutesOptions options_;
  Asks& asks_;
  RoutesOwner& owner_;
  std::vector<View> routes_;   // Those that it meets: larger priority first.
  std::vector<View> scanned_;  // The next `routes_`.
  Instant scanned_at_;
  Instant idle_since_;
  size_t turn_ = 0;
  std::set<std::string> pulling_;  // Queues with a pull under way.
  bool asking_ = false;            // One of them does not wait.
  bool nothing_there_ = false;     // The last pull said so; nothing was pushed since.
  size_t tried_ = 0;               // Routes that had nothing, in this round.
  uint64_t pull_max_ = 1;
};

}  // namespace dunlin::worker
