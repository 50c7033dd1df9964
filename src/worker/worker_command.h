// `dunlin worker`: pulls tasks from a store and runs them. run() returns when a signal, or a long
// time without work, has made the worker leave. Main thread, before any other begins.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/store_target.h"

namespace dunlin::worker {

struct WorkerVerb {
  cli::StoreTarget target = {};
  uint32_t slots = 0;               // 0: as many as there are cores.
  std::string infrastructure = {};  // Empty: the slots stay as they are.
  uint32_t max_slots = 0;           // 0: the slots, or the cores.
  std::string scale_time = "5m";
  std::vector<std::string> tags = {};
  std::string mem = {};
  uint32_t gpus = 0;
  std::string name = {};
  std::optional<std::string> hold = {};  // None: that of WorkerOptions.
  std::string idle_exit = {};
  std::string folder = {};
  bool allow_root = false;
  std::string run_as = {};
  bool allow_sudo = false;
  bool enforce_mem = false;
  bool debuggable = false;
  uint64_t task_procs = 0;
  std::string task_memory = {};
  std::string task_disk = {};
};

Result<int> run(const WorkerVerb& verb);

void add_worker_command(CLI::App& app, WorkerVerb& verb, int& exit_code);

}  // namespace dunlin::worker
