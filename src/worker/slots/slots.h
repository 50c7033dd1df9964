// The slots of a worker: threads that run tasks, one at a time each. They take assignments from one
// list and leave endings in another, so a slot that is done goes on without asking anybody.
//
// All calls are made by one thread, the worker's loop. The slots touch nothing but their task.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "worker/process/rights.h"

namespace dunlin::worker {

inline constexpr uint32_t kSlotsMax = 1024;

// What all tasks of a job share. The mind and the assignments own it together, so it lives as long
// as anybody reads it, whatever the mind has forgotten meanwhile. Nobody changes it once there is
// an assignment.
struct JobText {
  std::string id = {};
  model::Spec spec = {};
  std::string stdin_bytes = {};  // If the job's stdin is a blob. (Spec::stdin otherwise.)
};

// One attempt at one task.
struct Assignment {
  uint64_t ticket = 0;  // Unique in the life of the worker.
  std::shared_ptr<const JobText> job = {};
  uint64_t task = 0;
  uint32_t attempt = 0;
  std::vector<std::string> values = {};  // One for each source of the job's inputs.
  std::vector<uint32_t> gpus = {};       // Numbers of the GPUs that it may use.
};

// What is left of it. Output beyond kOutputRowMax is in a spool file, to be sent as a blob and then
// removed by whoever took the ending.
struct Ending {
  uint64_t ticket = 0;
  model::Outcome outcome = {};  // Without offset, worker, received_us; out/err.bytes if small.
  int64_t started_us = 0;       // Wall time.
  std::string out_spool = {};   // Path; empty: all is in outcome.out.bytes.
  std::string err_spool = {};
};

// What a function of the SDK gets and gives. The text of a failure goes to Outcome.why.
using TaskFunction = std::function<Result<std::string>(std::string_view argument)>;

class LedgerClient;

struct SlotOptions {
  uint32_t slots = 1;
  std::string folder = {};     // For the tasks' private folders and spools; made if it is missing.
  std::string worker_id = {};  // For DUNLIN_WORKER.
  std::map<std::string, TaskFunction, std::less<>> functions = {};
  LedgerClient* ledgers = nullptr;  // For partitions; outlives the slots.
  TaskRules rules = {};
  bool alone = false;  // Nobody else starts processes here: all children of ours are tasks'.
};

class Slots {
 public:
  // Starts the threads. `invalid` if the folder cannot be used, `denied` if another worker uses it.
  static Result<std::unique_ptr<Slots>> start(SlotOptions options);
  // Kills what runs and waits for the threads.
  virtual ~Slots() = default;

  // Queues assignments, oldest first. A slot takes up to `grab` of them at once (for tasks that are
  // shorter than a handover).
  virtual void assign(std::vector<Assignment> assignments, size_t grab) = 0;

  // What ended since the last call. descriptor() is readable when there is something.
  virtual std::vector<Ending> take() = 0;
  virtual int descriptor() const = 0;

  // Forgets tickets: those that wait are removed, those that run get SIGTERM and a second later
  // SIGKILL, with their whole process group and session. No ending will come for any of them.
  virtual void drop(const std::vector<uint64_t>& tickets) = 0;

  // Only so many work from now on; what runs in the others is finished. All, if never called.
  virtual void limit(size_t slots) = 0;

  virtual size_t running() const = 0;  // Tasks that are in a slot now.
};

// When a worker has left; unless another one uses it by now.
void remove_slots_folder(const std::string& folder);

}  // namespace dunlin::worker
