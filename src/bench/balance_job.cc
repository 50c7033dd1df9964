#include "bench/balance_job.h"

#include <fmt/format.h>

#include "base/env_posix.h"
#include "bench/fleet.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin::bench {

model::Spec spec_of(const Shape& shape, const PartOptions& part) {
  model::Spec spec;
  spec.set_owner("bench");
  spec.set_created_us(part.begin_ms * 1000);
  spec.set_priority(kPriorityDefault);
  spec.set_tasks(shape.most);
  spec.mutable_inputs()->set_single(true);
  spec.set_retries(3);
  const uint64_t share = shape.balanced ? 0 : shape.iterations / shape.most;
  for (const std::string& word :
       {own_program(), std::string("bench"), std::string("part"), std::string("--speed"),
        fmt::format("{}", part.speed), std::string("--begin"), std::to_string(part.begin_ms),
        std::string("--share"), std::to_string(share), std::string("--slowed"),
        part.slowed.empty() ? std::string("0:1:0") : part.slowed}) {
    spec.mutable_command()->add_argv(word);
  }
  if (!shape.balanced) return spec;
  spec.mutable_iterations()->set_total(shape.iterations);
  spec.mutable_iterations()->set_partitions(shape.partitions);
  spec.mutable_iterations()->set_span_ms(static_cast<uint64_t>(kSpan.count()));
  if (shape.finish_in_s > 0) {
    spec.set_finish_by_ms(part.begin_ms + static_cast<int64_t>(shape.finish_in_s * 1000));
  }
  return spec;
}

Result<void> Watched::begin() {
  Random random(random_seed());
  id_ = make_job_id(random, posix_clock().wall());
  TRY(submit(store_, spec_, {.id = id_}));
  return {};
}

Result<bool> Watched::look() {
  const WallTime now = posix_clock().wall();
  if (spec_.has_iterations()) {
    const LedgerNow ledger = TRY(read_ledger(store_.table(), iterative_job(id_, spec_), now));
    Sample sample{.at_s = seconds_of(to_us(now)), .done = {}};
    ran_.done = ledger.ledger.task.done();
    ran_.partitions = 0;
    for (const balance::Partition& one : ledger.ledger.task.partitions) {
      sample.done.push_back(one.done);
      sample.working += one.works() ? 1 : 0;
      ran_.partitions += one.done > 0 ? 1 : 0;
    }
    ran_.samples.push_back(std::move(sample));
  }
  const auto end = TRY(read_record<model::End>(store_.table(), kEnds, id_));
  if (end.version == 0) return false;
  if (end.record.failed() > 0) {
    return Error{Code::invalid, fmt::format("{} partitions failed", end.record.failed())};
  }
  ran_.seconds = seconds_of(end.record.ended_us());
  return true;
}

}  // namespace dunlin::bench
