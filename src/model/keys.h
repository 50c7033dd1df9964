// Where the agents keep things in the store, and the bounds of what they keep. Pure; from any
// thread.
//
//   table   key                      value
//   jobs    JOB                      Job: what was submitted
//   ends    JOB                      End: how it ended; there is none while it runs
//   waits   JOB                      empty: it waits for the jobs that it comes after
//   after   JOB/JOB2                 empty: JOB2 comes after JOB
//   after   JOB/                     empty: something does
//   keys    KEY                      the job that was submitted with this --key
//   pages   JOB/PAGE                 Page: the outcomes of 256 tasks, THE commit point
//   nodes   JOB/LEVEL/NUMBER         Node: which pages, and so on upwards, are full
//   outputs JOB/TASK/ATTEMPT/out     up to 64 KiB of output (or err)
//   routes  QUEUE                    Route
//   workers WORKER                   WorkerInfo
//   ledgers JOB                      Ledger: which partition has which iterations
//   expiry  TIME/JOB                 empty: when the sweeper looks at the job (retention/)
//   history DAY/OWNER                History: of jobs that were removed
//   retention rule, sweep            Retention, Sweep
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

inline constexpr uint64_t kTasksMax = 1'000'000'000;
inline constexpr uint64_t kPageTasks = 256;
inline constexpr uint64_t kFanOut = 256;  // Children of a node.
inline constexpr size_t kSpecMax = 128 << 10;
inline constexpr size_t kSpecInRangeMax = 4 << 10;       // A larger one is read from the table.
inline constexpr size_t kOutputHereMax = 256;            // Bytes of output in the page itself.
inline constexpr size_t kOutputRowMax = 64 << 10;        // In a row; more goes into a blob.
inline constexpr uint64_t kOutputMaxDefault = 64 << 20;  // Bytes kept of a task's stdout or stderr.
inline constexpr uint64_t kStdinMax = 64 << 20;          // Bytes of a job's stdin.
inline constexpr uint32_t kLossesDefault = 3;            // Workers that a task may take with it.
inline constexpr uint32_t kLossesLeast = 2;  // The first may be that of another task of its range.
inline constexpr uint32_t kLossesMost = 1'000'000;
inline constexpr uint32_t kLossesUnlimited = UINT32_MAX;
inline constexpr uint64_t kKeepMost = uint64_t{100} * 366 * 24 * 3600 * 1000;  // Milliseconds.
inline constexpr uint64_t kKeepForever = UINT64_MAX;  // Of a job; a rule says 0.
inline constexpr uint32_t kPriorityDefault = 5;
inline constexpr uint32_t kPriorityMax = 9;

inline constexpr std::string_view kJobs = "jobs";
inline constexpr std::string_view kEnds = "ends";
inline constexpr std::string_view kWaits = "waits";
inline constexpr std::string_view kAfter = "after";
inline constexpr std::string_view kKeys = "keys";
inline constexpr std::string_view kPages = "pages";
inline constexpr std::string_view kNodes = "nodes";
inline constexpr std::string_view kOutputs = "outputs";
inline constexpr std::string_view kRoutes = "routes";
inline constexpr std::string_view kWorkers = "workers";
inline constexpr std::string_view kExpiry = "expiry";
inline constexpr std::string_view kHistory = "history";
inline constexpr std::string_view kRetention = "retention";

inline uint32_t losses_max(const model::Spec& spec) {
  return spec.losses() == 0 ? kLossesDefault : spec.losses();
}

inline constexpr uint64_t page_of(uint64_t task) { return task / kPageTasks; }
inline constexpr uint32_t offset_of(uint64_t task) {
  return static_cast<uint32_t>(task % kPageTasks);
}
// How many tasks the page has: 256, but for the last.
uint64_t page_size(uint64_t page, uint64_t tasks);

std::string page_key(std::string_view job, uint64_t page);
std::string output_key(std::string_view job, uint64_t task, uint32_t attempt,
                       std::string_view which);
// The sweeper looks at the job when this step of ten seconds is over.
inline constexpr int64_t kExpiryStepUs = 10'000'000;
std::string expiry_key(int64_t at_us, std::string_view job);
std::string blob_name(std::string_view job, uint64_t task, uint32_t attempt,
                      std::string_view which);

// The id of the message that carries a range. The own message of a task is never taken for a range
// that has only this task left: whoever receives that leaves the task alone.
std::string range_id(const model::Range& range);

// The queue for jobs with these requirements, priority and owner: the same three, the same queue.
std::string queue_of(const model::Route& route);
model::Route route_of(const model::Spec& spec);

// The route itself, so that workers find what is pushed there.
Put put_route(const model::Job& job);

// Puts the spec into the range if it is small, so that nobody needs to read it from the table.
void embed_spec(model::Range& range, const model::Spec& spec);

}  // namespace dunlin
