// A worker inside a program: pulls tasks from a store and runs them in slots, functions of the
// program as well as commands.
//
//   namespace dl = dunlin::sdk;
//   auto worker = dl::Worker::connect("dunlin://127.0.0.1:7070", {.token_file = "hub/token"});
//   worker->add("twice", [](std::string_view text) { return std::string(text) + std::string(text);
//   }); auto left = worker->run();  // Until drain() or stop().
//
// Jobs that name a function go only to workers that have it.
#pragma once

#include <chrono>
#include <cstdint>
#include <dunlin/api.h>
#include <dunlin/client.h>
#include <dunlin/result.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin::sdk {
inline namespace v1 {

struct WorkerOptions {
  uint32_t slots = 0;  // Tasks at once; 0: as many as there are cores.
  std::vector<std::string> tags = {};
  std::string name = {};          // Empty: host-pid-xxxx.
  std::chrono::seconds hold{30};  // Without a sign of life for so long, others get its tasks.
  std::chrono::milliseconds idle_exit{0};  // Leave after so long without work; 0: never.
  std::string folder = {};                 // Where commands run; empty: in the user's state folder.
  uint64_t mem_bytes = 0;                  // For tasks; 0: what the machine has.
  uint32_t gpus = 0;
  bool allow_root = false;  // Tasks have all rights of the worker.
};

// Gets the value of its task and returns the result, of at most 64 KiB. What it throws makes the
// task fail with that text. Called by as many threads at once as there are slots.
using TaskFunction = std::function<std::string(std::string_view argument)>;

class DUNLIN_API Worker {
 public:
  // `unavailable` if nobody answers at the URL, `denied` if the token is not wanted there.
  static Expected<Worker> connect(const std::string& url, const ConnectOptions& connection = {},
                                  const WorkerOptions& options = {});
  struct Impl;
  explicit Worker(std::unique_ptr<Impl> impl) noexcept;
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  const std::string& id() const noexcept;

  // Before run(). A name is 1 to 55 characters of A-Z a-z 0-9 . _ - ; run() complains about others.
  void add(const std::string& name, TaskFunction function);

  // Works until it has left. Once.
  Expected<void> run();

  // From any thread and from a signal handler. drain() finishes what runs, then leaves; stop()
  // gives back what runs: commands are killed, functions are waited for but not believed.
  void drain() noexcept;
  void stop() noexcept;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace dunlin::sdk
