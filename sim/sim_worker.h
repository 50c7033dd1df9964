// One worker of a simulated fleet: the real mind, and in the place of slots and sockets hands that
// do what the seed says. One thread, the world's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/env.h"
#include "model/iterations/ledger_clock.h"
#include "sim/task_checker.h"
#include "worker/mind/worker.h"

namespace dunlin {

class TaskWorld;
class Way;

class SimWorker {
 public:
  SimWorker(TaskWorld& world, uint64_t number);
  ~SimWorker();
  void start();
  void crash();  // And another one comes.
  void freeze(Millis how_long);
  void leave(bool at_once);
  void resize();
  void break_down(Millis how_long);  // Its folder is gone, or its disk is full.
  void jump();                       // Its wall clock.
  std::string describe() const { return mind_ == nullptr ? "down\n" : mind_->describe(); }
  // What it has not given back although nothing is to be done; empty: nothing.
  std::string leftovers() const { return mind_ == nullptr ? "" : mind_->leftovers(); }

 private:
  worker::Now now() const;
  void act();  // Carries out what the mind decided.
  void run(worker::Assignment&& assignment);
  void run_partition(uint64_t ticket);
  void end(uint64_t ticket, bool fails, worker::Now now);
  void upload(const worker::WorkerMind::Upload& upload);
  void come_again(Millis pause);
  void event(std::function<void(worker::Now)> what);

  TaskWorld& world_;
  const uint64_t number_;
  uint64_t life_ = 0;
  std::unique_ptr<Way> way_;
  std::unique_ptr<worker::WorkerMind> mind_;
  std::map<uint64_t, worker::Assignment> running_;  // By ticket, as real slots keep them.
  Instant frozen_until_;
  Instant broken_until_;
  Instant wake_;
  Millis skew_ = Millis(0);
  LedgerClock ledgers_seen_;
};

}  // namespace dunlin
