// Submits jobs to a hub and receives their results.
//
//   namespace dl = dunlin::sdk;
//   auto client = dl::Client::connect("dunlin://127.0.0.1:7070", {.token_file = "hub/token"});
//   auto job = client->submit({.command = "gzip -9 {}", .values = {"a.log", "b.log"}});
//   while (auto next = job->next()) {  // As they come.
//     if (!*next) break;               // That was the last one.
//     use(**next);
//   }
//
// Results come over one reply queue for all jobs of a client; what is missed there is read from the
// store. The client has a thread of its own for that. All calls may be made from any thread, but
// not two at once of one object while it is moved or destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <dunlin/api.h>
#include <dunlin/result.h>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dunlin::sdk {
inline namespace v1 {

inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();
inline constexpr uint32_t kUnlimitedLosses = UINT32_MAX;
inline constexpr uint32_t kNoRetries = UINT32_MAX;  // With iterations; otherwise 0 says the same.

struct ConnectOptions {
  std::string token = {};
  std::string token_file = {};  // Where to read the token if it is empty.
  std::string tls_ca = {};      // A PEM file of authorities to trust; empty: those of the system.
};

// once: one outcome for each task, which may be started again if its worker is lost. at_most_once:
// never started twice. relaxed: one outcome, and no lookups before a task is started again.
enum class Delivery : int { once = 0, at_most_once = 1, relaxed = 2 };

// The fields of a job, with the names, bounds and defaults that they have everywhere
// (docs/JOBS.md). Four are spelled otherwise for what C++ has under their names: `requires_tags`
// (requires), `stdin_bytes` (stdin), `mem_bytes` (mem) and `array` with `first` and `step`. What is
// empty or 0 is as if it was not said.
struct JobOptions {
  // What a task runs: exactly one of these.
  std::vector<std::string> argv = {};  // A program and its arguments, without a shell.
  std::string command = {};            // For /bin/sh.
  std::string line = {};               // The old name of `command`.
  std::string function = {};           // Of a dunlin::sdk::Worker; runs only where it is.
  std::string builtin = {};            // "noop", or "sleep" with the value in milliseconds.
  bool no_quote = false;               // Values go into the shell line as they are.

  // The tasks: one for each value or JSON object, or `array` of them with the values first, first +
  // step, ...; or one task without a value. {} and its kin in argv and command stand for the value,
  // which comes last if there are none; a function gets it as its argument.
  std::vector<std::string> values = {};
  std::vector<std::string> json_lines = {};  // Each the text of an object.
  bool csv = false;                          // Values are rows of CSV.
  bool header = false;                       // The first value has the names of the columns.
  std::string colsep = {};                   // A regular expression that splits values.
  uint64_t array = 0;
  int64_t first = 0;
  int64_t step = 1;

  std::string name = {};
  std::string owner = {};  // Empty: the user.
  std::string key = {};    // The same job submitted again with the same key is the same job.
  std::vector<std::pair<std::string, std::string>> env = {};
  // Empty: ours, on workers where it is the same folder, else a fresh one. "task": a fresh one for
  // each task, which goes with what it left there.
  std::string cwd = {};
  std::string stdin_bytes = {};
  std::chrono::milliseconds timeout{0};  // 0: none.
  uint32_t retries = 0;                  // Times that a failed task is tried again, or kNoRetries.
  std::chrono::milliseconds backoff{0};  // Before the first retry; doubles after every one.
  std::vector<uint32_t> retry_on = {};   // Exit codes that are worth a retry; empty: all.
  std::string cleanup = {};              // A shell line, run after each attempt.
  uint32_t losses = 0;  // Workers that a task may take with it; 0: three, or kUnlimitedLosses.
  // How long the job is kept after its end. 0: as the store's rule says; max(): for ever.
  std::chrono::milliseconds keep{0};
  std::vector<std::string> requires_tags = {};  // `requires` is a word of C++.
  uint32_t cpus = 0;                            // Of a task; 0 means 1.
  uint64_t mem_bytes = 0;
  uint32_t gpus = 0;
  uint64_t output_max = 0;  // Bytes kept of stdout and of stderr; 0: 64 MiB.
  uint64_t memory_max = 0;  // A task that uses more is killed; 0: no limit.
  uint64_t file_max = 0;    // A task that writes a larger file is killed; 0: no limit.
  uint32_t priority = 5;    // 0 to 9, larger first.
  Delivery delivery = Delivery::once;
  // Ids of jobs that must have ended without failures before it starts.
  std::vector<std::string> after = {};

  // For programs that share iterations (dunlin/iterations.h): then there are no values.
  uint64_t iterations = 0;
  uint32_t partitions = 0;            // That start at once; 0: 1 with a deadline, else by slots.
  uint32_t partitions_max = 0;        // If the deadline requires more; 0: 100.
  std::chrono::milliseconds span{0};  // How much work a partition is given at once; 0: 1 s.
  std::string finish_by = {};         // "25m", "17:00", "2030-01-31 17:00" in local time.
};

enum class JobState : int {
  waiting = 0,  // For the jobs that it comes after.
  open = 1,     // Workers may run its tasks.
  done = 2,
  failed = 3,  // It ended, and not all went well.
  cancelled = 4,
  skipped = 5,  // A job that it comes after did not go well.
};

struct JobStatus {
  JobState state = JobState::open;
  uint64_t tasks = 0;
  uint64_t ok = 0;
  uint64_t failed = 0;
  double rate = 0;       // Tasks in a second, lately.
  std::string why = {};  // It was skipped.

  bool ended() const { return state >= JobState::done; }
};

enum class Stream : int { output = 0, error_output = 1 };

// One job. Each outcome is handed out once: to next(), to wait(), or to the future that asked for
// it. Keeps the connection open; dropping the handle leaves the job alone.
class DUNLIN_API JobHandle {
 public:
  struct Impl;
  explicit JobHandle(std::unique_ptr<Impl> impl) noexcept;
  JobHandle(JobHandle&&) noexcept;
  JobHandle& operator=(JobHandle&&) noexcept;
  ~JobHandle();

  const std::string& id() const noexcept;
  uint64_t tasks() const noexcept;
  bool existed() const noexcept;  // It had been submitted before, with the same key.

  // The next outcome; none if there will be no more; `timeout` if none came in this time.
  Expected<std::optional<TaskResult>> next(std::chrono::milliseconds timeout = kForever);

  // Waits for the end of the job and returns the outcomes that nobody has taken, by task. Tasks of
  // a job that was cancelled or skipped may have none.
  Expected<std::vector<TaskResult>> wait(std::chrono::milliseconds timeout = kForever);

  // The outcome of one task; `not_found` if it will have none.
  std::future<Expected<TaskResult>> result(uint64_t task);

  // All that the task wrote, in parts; take() returns false to have no more.
  Expected<void> output(const TaskResult& result, Stream stream,
                        const std::function<bool(std::string_view part)>& take);

  Expected<JobStatus> status();
  Expected<void> cancel();  // A job that has ended is fine.

 private:
  std::unique_ptr<Impl> impl_;
};

class DUNLIN_API Client {
 public:
  // `unavailable` if nobody answers at the URL, `denied` if the token is not wanted there.
  static Expected<Client> connect(const std::string& url, const ConnectOptions& options = {});
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl) noexcept;
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Returns when the job is durable. A job like one that this client submitted before costs one
  // request, however many tasks it has, unless its values are too large to travel with it.
  Expected<JobHandle> submit(const JobOptions& job);

  // A job that somebody submitted. Its outcomes are looked up every second.
  Expected<JobHandle> find(const std::string& id);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace dunlin::sdk
