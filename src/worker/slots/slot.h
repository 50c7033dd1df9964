// One slot: what its thread does, and how the owner of the slots reaches into it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "worker/process/private_folder.h"
#include "worker/process/process.h"
#include "worker/slots/attempt.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {

using Tickets = std::unordered_set<uint64_t>;

// What all slots share. An assignment moves from `waiting` into a slot and its ending from there to
// `endings`; a slot holds its own lock while it moves something, so drop(), which looks in that
// order, misses none.
struct Exchange {
  std::mutex mutex = {};
  std::condition_variable work = {};
  std::deque<Assignment> waiting = {};
  std::vector<Ending> endings = {};
  size_t grab = 1;
  size_t slots = 0;
  size_t limit = 0;  // So many of them may work.
  size_t idle = 0;   // Those that wait for work.
  bool stopping = false;
  int event = -1;
  std::vector<bool> numbers = {};  // Of the slots that work: true if it is taken.
  std::atomic<size_t> inside = 0;  // Assignments in slots.

  size_t working() const { return slots - idle; }

  // The least that no slot has, from 1 on; with the lock held.
  uint32_t take_number();
  void give_number(uint32_t number) { numbers[number - 1] = false; }
};

class Slot {
 public:
  Slot(Exchange& exchange, const SlotOptions& options, const Surroundings& around,
       std::string private_folder, std::unique_ptr<Process> process)
      : exchange_(exchange),
        options_(options),
        around_(around),
        folder_(std::move(private_folder), options.rules.user),
        process_(std::move(process)) {}

  void work();  // The thread; returns after stop().

  // From the owner's thread.
  void drop(const Tickets& tickets);
  void stop();

 private:
  bool wait_for_work();
  bool trade();
  void run_next();
  void run(Attempt& attempt, Ending& ending);
  void rest_until(int64_t deadline_us);
  void run_process(Attempt& attempt, int64_t began_us, Ending& ending);
  void run_partition(Attempt& attempt, int64_t began_us, Ending& ending);
  void run_command(Attempt& attempt, const Command& command, int64_t began_us, Ending& ending);
  void clean_up(const Attempt& attempt, model::Outcome& outcome);
  void say_where(const Attempt& attempt, model::Outcome& outcome) const;

  Exchange& exchange_;
  const SlotOptions& options_;
  const Surroundings& around_;
  PrivateFolder folder_;
  std::unique_ptr<Process> process_;

  std::mutex mutex_ = {};  // Of what follows. Taken before the exchange's.
  std::condition_variable woken_ = {};
  std::deque<Assignment> mine_ = {};
  std::vector<Ending> done_ = {};
  bool busy_ = false;
  uint64_t current_ = 0;  // Ticket, if busy.
  bool dropped_ = false;  // Nobody wants the current one's ending.
  bool stopping_ = false;
  uint32_t number_ = 0;  // {%}; 0 while it waits for work. Of the slot's thread alone.
};

// Nobody will send its outputs.
void remove_spools(const Ending& ending);

}  // namespace dunlin::worker
