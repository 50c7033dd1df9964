// Runs one command as a child process: in a session of its own, with nothing of ours but what it is
// given, and with an end to all that it started. One Process for each thread that runs tasks; it
// must live as long as that thread does, because a child dies with the thread that made it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "worker/process/capture.h"
#include "worker/process/orphans.h"
#include "worker/process/rights.h"
#include "worker/process/usage.h"

namespace dunlin::worker {

struct Command {
  std::vector<std::string> argv = {};
  std::vector<std::string> env = {};    // "NAME=VALUE", each name once.
  std::vector<std::string> marks = {};  // Likewise; they tell its processes from all others.
  std::string cwd = {};
  std::string cwd_else = {};  // Where it runs if it may not enter `cwd`; empty: nowhere.
  std::string folder = {};    // Its own, whose size is limited; empty: it is not looked at.
  std::string stdin_bytes = {};
  int channel = -1;         // Its descriptor 3; -1: it has none.
  uint64_t timeout_ms = 0;  // 0: none. SIGTERM, and a second later SIGKILL.
  uint64_t output_max = 0;  // Bytes kept of each stream; 0: the default.
  uint64_t file_max = 0;    // Of a file that it writes; 0: no limit. So below.
  uint64_t memory_max = 0;
  bool drop_output = false;  // And end() does not end it, only kill() does.
};

struct Finished {
  model::Outcome outcome = {};  // state, exit, signal, blame, why, out, err.
  std::string out_spool = {};
  std::string err_spool = {};
  bool elsewhere = false;  // It ran in `cwd_else`.
};

// What the processes of all slots share; it outlives them.
struct ProcessHost {
  Orphans& orphans;
  Census& census;
  const TaskRules& rules;
  uint32_t slots = 1;
};

class Process {
 public:
  // Spools are files `spool_prefix`N.out and .err.
  static Result<std::unique_ptr<Process>> make(std::string spool_prefix, const ProcessHost& host);
  Process(std::string spool_prefix, const ProcessHost& host);  // For make().
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Returns when nothing of it runs any more.
  Finished run(const Command& command);

  // From any thread: what runs gets SIGTERM and a second later SIGKILL; or SIGKILL at once, and so
  // does whatever is run afterwards. reset() takes end() back.
  void end();
  void kill();
  void reset();

 private:
  enum Wish { go_on, end_soon, end_now };
  struct Child;

  Result<void> open_all();
  Result<void> give_files(const Command& command, Child& child) const;
  void follow(const Command& command, Child& child);
  void read_rest(int pipe, Capture& capture);
  int64_t hurry(const Command& command, Child& child) const;
  static int64_t limit(Child& child);
  static void describe(const Command& command, Child& child, Finished& finished);

  std::string spool_prefix_;
  const ProcessHost host_;
  uint64_t runs_ = 0;
  int nothing_ = -1;  // /dev/null
  int wake_ = -1;
  std::atomic<Wish> wish_ = go_on;
  std::vector<char> stack_;   // Of a child until it is another program.
  std::vector<char> buffer_;  // What was read last.
  std::vector<int> ignored_;  // Signals that we ignore and a task must not.
};

}  // namespace dunlin::worker
