// A job of a simulated fleet that ended, with few failures, before the world began. It is large,
// and costs little: what is left is to retry it while the tree above its pages has two levels.
#include "base/check.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "sim/task_world.h"

namespace dunlin {
namespace {

model::Page page_as_it_ended(const SimJob& job, uint64_t number) {
  model::Page page;
  page.add_workers("w");
  for (uint32_t offset = 0; offset < page_size(number, job.spec.tasks()); ++offset) {
    const bool fails = job.conduct(number * kPageTasks + offset).fails > 0;
    model::Outcome& outcome = *page.add_outcomes();
    outcome.set_offset(offset);
    outcome.set_attempt(1);
    outcome.set_state(fails ? model::STATE_FAILED : model::STATE_OK);
    outcome.set_exit(fails ? 1 : 0);
    outcome.set_blame(fails ? model::BLAME_TASK : model::BLAME_NOBODY);
  }
  return page;
}

}  // namespace

void TaskWorld::put_past(const SimJob& job) {
  Table& table = store_->table();
  const auto put = [&](std::string_view name, const std::string& key, const auto& record) {
    CHECK(table.put(name, {key, record.SerializeAsString(), 0}).ok());
  };
  const uint64_t tasks = job.spec.tasks();
  std::vector<Counts> below;
  for (uint64_t number = 0; number < level_size(0, tasks); ++number) {
    const model::Page page = page_as_it_ended(job, number);
    put(kPages, page_key(job.id, number), page);
    ledger_.has_ended_before(job.id, number, page);
    below.push_back(counts_of(page));
  }
  for (uint32_t level = 1; level <= root_level(tasks); ++level) {
    std::vector<model::Node> nodes(level_size(level, tasks));
    for (uint64_t child = 0; child < below.size(); ++child) {
      CHECK(add_child(nodes[parent_of(child)], child_of(child), below[child]));
    }
    below.clear();
    for (uint64_t number = 0; number < nodes.size(); ++number) {
      put(kNodes, node_key(job.id, level, number), nodes[number]);
      below.push_back(counts_of(nodes[number]));
    }
  }
  model::End end;
  end.set_kind(model::End::DONE);
  end.set_ok(below[0].ok);
  end.set_failed(below[0].failed);
  put(kEnds, job.id, end);
  model::Job record;
  record.set_id(job.id);
  record.set_queue(queue_of(route_of(job.spec)));
  *record.mutable_spec() = job.spec;
  put(kJobs, job.id, record);
  const Write route = put_route(record);
  CHECK(store_->commit(std::span(&route, 1)).ok());
  if (job.spec.keep_ms() == 0) return;
  const auto keep_us = static_cast<int64_t>(job.spec.keep_ms()) * 1000;
  CHECK(table.put(kExpiry, {expiry_key(keep_us, job.id), "", 0}).ok());
}

}  // namespace dunlin
