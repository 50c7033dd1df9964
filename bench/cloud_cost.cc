#include "bench/cloud_cost.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/env_posix.h"
#include "bench/bench_client.h"
#include "bench/hub_process.h"
#include "bench/samples.h"
#include "model/keys.h"
#include "run/runner.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTasks = 200'000;
constexpr int kRounds = 3;

// Of all threads.
double processor_us() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// As `dunlin run` does it, durable store and all, with replies for a client.
Result<double> worker_us() {
  const TempFolder folder = TRY(TempFolder::make(""));
  WorkJob job = TRY(make_job({.tasks = kTasks}, {}, run::kRunId, 0, kTasks));
  job.spec.set_reply("reply.cost");
  const double start = processor_us();
  const auto runner = TRY(run::Runner::open({.folder = folder.path(),
                                             .slots = 4,
                                             .spec = std::move(job.spec),
                                             .blobs = std::move(job.blobs)}));
  while (!runner->complete()) TRY(runner->turn(posix_clock().now() + Millis(1000), -1));
  const double took = processor_us() - start;
  if (runner->ok() != kTasks) return Error{Code::invalid, "tasks of the measured run failed"};
  return took / static_cast<double>(kTasks);
}

std::string full_reply(uint64_t page, int64_t now_us) {
  model::Reply reply;
  reply.set_job("cost");
  model::Reply::Part& part = *reply.add_parts();
  part.set_page(page);
  for (uint32_t offset = 0; offset < kPageTasks; ++offset) {
    model::Outcome& outcome = *part.mutable_outcomes()->add_outcomes();
    outcome.set_offset(offset);
    outcome.set_state(model::STATE_OK);
    outcome.set_attempt(1);
    outcome.set_received_us(now_us);
    outcome.set_waited_us(offset);
  }
  part.mutable_outcomes()->add_workers("worker");
  part.mutable_outcomes()->set_committed_us(now_us);
  return reply.SerializeAsString();
}

Result<double> client_us() {
  constexpr uint64_t kPages = kTasks / kPageTasks;
  std::vector<std::string> replies;
  replies.reserve(kPages);
  const int64_t now_us = posix_clock().wall().time_since_epoch().count() * 1000;
  for (uint64_t page = 0; page < kPages; ++page) replies.push_back(full_reply(page, now_us));
  Tally tally;
  tally.expect("cost", kPages * kPageTasks);
  const double start = processor_us();
  for (const std::string& bytes : replies) {
    model::Reply reply;
    if (!reply.ParseFromString(bytes)) return Error{Code::corrupt, "our own reply"};
    TRY(tally.add(reply));
  }
  return (processor_us() - start) / static_cast<double>(kPages * kPageTasks);
}

// To what is shown, so that the run can be repeated with it.
double rounded(double us) { return std::max(std::round(us * 100), 1.0) / 100; }

}  // namespace

Result<TaskCost> measure_cost() {
  std::vector<double> worker;
  std::vector<double> client;
  for (int round = 0; round < kRounds; ++round) {
    worker.push_back(TRY(worker_us()));
    client.push_back(TRY(client_us()));
  }
  return TaskCost{.worker_us = rounded(median(worker)), .client_us = rounded(median(client))};
}

}  // namespace dunlin::bench
