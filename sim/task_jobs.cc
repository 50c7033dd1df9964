// The jobs of a simulated fleet, made from its seed: how many tasks, what these do, what comes
// after what, and which are cancelled, retried or removed.
#include <fmt/format.h>

#include "base/check.h"
#include "model/jobs/inputs.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "sim/task_checker.h"

namespace dunlin {
namespace {

constexpr uint64_t kManyTasks = 66'000;  // Two levels of nodes.

void make_iterative(Random& random, uint64_t tasks, model::Spec& spec) {
  spec.mutable_command()->clear_builtin();
  spec.mutable_command()->add_argv("program");
  spec.set_delivery(model::DELIVERY_ONCE);
  spec.mutable_inputs()->set_single(true);
  spec.mutable_iterations()->set_total(1 + random.below(random.percent(10) ? 2000 : 200));
  spec.mutable_iterations()->set_partitions(static_cast<uint32_t>(1 + random.below(tasks)));
  spec.mutable_iterations()->set_span_ms(1 + random.below(200));
  spec.set_finish_by_ms(static_cast<int64_t>(1 + random.below(20'000)));
}

void choose_inputs(Random& random, uint64_t tasks, SimJob& job) {
  if (!random.percent(40) || tasks == kManyTasks) return;
  SourceWriter writer;
  for (uint64_t task = 0; task < tasks; ++task) CHECK(writer.add(fmt::format("v{}", task)).ok());
  auto finished = std::move(writer).finish(input_blob_name(job.id, "0"), false);
  job.inputs = std::move(finished.blob);
  *job.spec.mutable_inputs()->add_sources() = finished.source;
}

void choose_needs(Random& random, model::Spec& spec) {
  model::Requirements& needs = *spec.mutable_requires_();
  if (random.percent(20)) needs.add_tags("sim");
  if (random.percent(20)) needs.set_cpus(static_cast<uint32_t>(1 + random.below(4)));
  if (random.percent(10)) needs.set_mem_bytes(1 + random.below(4));
  if (random.percent(10)) needs.set_gpus(static_cast<uint32_t>(1 + random.below(2)));
}

void choose_after(Random& random, uint64_t number, model::Spec& spec) {
  std::set<uint64_t> others;
  if (number > 0 && random.percent(40)) others.insert(random.below(number));
  if (!others.empty() && random.percent(40)) others.insert(random.below(number));
  if (!others.empty() && random.percent(20)) others.insert(random.below(number));
  for (const uint64_t other : others) spec.add_after(fmt::format("job{}", other));
}

void choose_conduct(Random& random, uint64_t tasks, bool partitions, bool peaceful, SimJob& job) {
  const uint64_t takes_max = partitions                          ? 500
                             : tasks < 100 && random.percent(20) ? 3000
                             : random.percent(50)                ? 20
                                                                 : 1;
  const bool killers = random.percent(10) && !peaceful;
  for (uint64_t task = 0; task < std::min<uint64_t>(tasks, 4000); ++task) {
    Conduct conduct;
    conduct.takes = Millis(random.below(takes_max + 1));
    if (random.percent(5)) conduct.fails = static_cast<uint32_t>(1 + random.below(5));
    if (killers && !partitions && random.below(tasks) == 0) {
      conduct.kills =
          random.percent(50) ? Conduct::kAlways : static_cast<uint32_t>(1 + random.below(3));
    }
    const uint64_t output = random.below(100);
    if (output < 3) conduct.output = Conduct::Output::row;
    if (output == 3) conduct.output = Conduct::Output::blob;
    job.tasks.push_back(conduct);
  }
}

SimJob make_job(Random& random, uint64_t number, bool partitions, bool many, bool peaceful) {
  SimJob job;
  job.id = fmt::format("job{}", number);
  model::Spec& spec = job.spec;
  spec.set_owner(random.percent(50) ? "ann" : "bob");
  spec.set_priority(static_cast<uint32_t>(random.below(10)));
  spec.mutable_command()->set_builtin("noop");
  const uint64_t sizes[] = {1, 3, 256, 257, 700, 3000};
  uint64_t tasks = 1 + random.below(partitions ? 20 : sizes[random.below(6)]);
  if (many && number == 0) tasks = kManyTasks;
  spec.set_tasks(tasks);
  if (random.percent(30)) spec.add_retry_on(1);
  if (random.percent(50)) spec.set_retries(static_cast<uint32_t>(random.below(4)));
  if (random.percent(30)) spec.set_backoff_ms(random.below(500));
  if (random.percent(20)) spec.set_losses(static_cast<uint32_t>(2 + random.below(3)));
  choose_needs(random, spec);
  // In some jobs it is too large to travel with their messages.
  if (random.percent(10)) spec.set_stdin(std::string(kSpecInRangeMax, 'x'));
  const uint64_t mode = random.below(10);
  if (mode == 0) spec.set_delivery(model::DELIVERY_RELAXED);
  if (mode <= 2 && mode > 0) spec.set_delivery(model::DELIVERY_AT_MOST_ONCE);
  if (random.percent(40)) spec.set_reply(fmt::format("reply.{}", random.below(2)));
  if (partitions) {
    make_iterative(random, tasks, spec);
  } else {
    choose_inputs(random, tasks, job);
  }
  choose_after(random, number, spec);
  choose_conduct(random, tasks, partitions, peaceful, job);
  job.submitted = Millis(random.percent(50) ? 0 : random.below(6000));
  job.cancelled = random.percent(10);
  if (random.percent(30)) job.retried = static_cast<uint32_t>(1 + random.below(3));
  return job;
}

// Tasks that run for long, and two lost workers are too many.
void make_restless(Random& random, SimJob& job) {
  if (job.spec.tasks() > 300) return;
  job.spec.set_losses(2);
  for (Conduct& conduct : job.tasks) conduct.takes = Millis(random.below(3000));
}

// A few of its tasks have failed, one of them in the last pages, which have a node of their own. A
// world in which all of them run costs as much as a hundred others.
bool has_past(uint64_t seed) { return seed % 31 == 7 && !is_behind_network(seed); }

void make_past(Random& random, SimJob& job) {
  constexpr uint64_t kFirstNodeTasks = kPageTasks * kFanOut;
  job.past = true;
  job.cancelled = false;
  job.retried = static_cast<uint32_t>(1 + random.below(3));
  job.tasks.assign(kManyTasks, Conduct());
  const auto fail = [&](uint64_t task) {
    job.tasks[task].fails = static_cast<uint32_t>(1 + random.below(3));
    job.tasks[task].takes = Millis(random.below(random.percent(50) ? 5 : 500));
  };
  for (uint64_t some = 1 + random.below(60); some > 0; --some) fail(random.below(kManyTasks));
  fail(kFirstNodeTasks + random.below(kManyTasks - kFirstNodeTasks));
}

}  // namespace

std::string blob_output(const std::string& job, uint64_t task, uint32_t attempt) {
  return fmt::format("the output of attempt {} at task {} of {}", attempt, task, job);
}

std::vector<SimJob> make_jobs(Random& random, uint64_t seed, bool peaceful) {
  const bool partitions = random.percent(20);  // All jobs are iterative.
  const bool many = (seed % 1000 == 7 || has_past(seed)) && !partitions;
  const uint64_t count = 1 + random.below(random.percent(5) ? 40 : 5);
  std::vector<SimJob> jobs;
  for (uint64_t i = 0; i < count; ++i) {
    jobs.push_back(make_job(random, i, partitions, many, peaceful));
    if (is_restless(seed) && !partitions) make_restless(random, jobs.back());
    if (i == 0 && has_past(seed) && !partitions) make_past(random, jobs.back());
  }
  return jobs;
}

}  // namespace dunlin
