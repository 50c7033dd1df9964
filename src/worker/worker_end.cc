// The completion tree, the end of jobs, and the jobs that come after them.

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "base/log.h"
#include "model/release.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr size_t kClimbMax = 4096;    // Pages of one commit.
constexpr uint32_t kDepthMax = 1000;  // Of jobs that come after each other.
constexpr uint32_t kCollisionDoublings = 6;

std::vector<std::pair<uint32_t, uint64_t>> path_of(uint64_t page, uint32_t root) {
  std::vector<std::pair<uint32_t, uint64_t>> path;
  uint64_t number = page;
  for (uint32_t level = 1; level <= root; ++level) {
    number = parent_of(number);
    path.emplace_back(level, number);
  }
  return path;
}

}  // namespace

// Enters full pages into the tree. Nodes are shared by all workers of the job, so this is a commit
// of its own: who loses a race repeats little.
void WorkerMind::climb(Plan& plan) {
  if (plan.full.empty() || plan.climbing || !plan.ready) return;
  if (plan.climb_after && *plan.climb_after > now_.at) return;
  plan.climbing = true;
  ++plan.busy;
  const uint32_t root = root_level(plan.spec.tasks());
  std::set<std::pair<uint32_t, uint64_t>> missing;
  size_t count = 0;
  for (const auto& [page, counts] : plan.full) {
    if (++count > kClimbMax) break;
    for (const auto& place : path_of(page, root)) {
      if (!plan.nodes.contains(place)) missing.insert(place);
    }
  }
  if (missing.empty()) return climb_from(plan);
  read_nodes(plan, {missing.begin(), missing.end()}, [this, &plan] { climb_from(plan); });
}

void WorkerMind::read_nodes(Plan& plan, std::vector<std::pair<uint32_t, uint64_t>> which,
                            std::function<void()> then) {
  Get get{std::string(kNodes), {}};
  for (const auto& [level, number] : which) {
    if (get.keys.size() == kBatchMax) break;
    get.keys.push_back(node_key(plan.job, level, number));
  }
  ask_for(plan, std::move(get), [this, &plan, which, then = std::move(then)](Answer&& answer) {
    if (const auto* rows = std::get_if<Rows>(&answer)) {
      for (size_t i = 0; i < rows->rows.size(); ++i) {
        NodeView& view = plan.nodes[which[i]];
        view.version = rows->rows[i].version;
        view.node.Clear();
        if (!view.node.ParseFromString(rows->rows[i].value)) {
          failure_ = Error{Code::corrupt, fmt::format("a node of job {} is no node", plan.job)};
          return;
        }
      }
    }
    then();
  });
}

void WorkerMind::climb_from(Plan& plan) {
  const uint64_t tasks = plan.spec.tasks();
  const uint32_t root = root_level(tasks);
  std::vector<uint64_t> pages;
  std::map<std::pair<uint32_t, uint64_t>, model::Node> next;
  std::set<std::pair<uint32_t, uint64_t>> changed;
  const auto node = [&](uint32_t level, uint64_t number) -> model::Node& {
    const auto [place, fresh] = next.try_emplace({level, number});
    if (fresh) place->second = plan.nodes[{level, number}].node;
    return place->second;
  };
  Counts total;
  bool complete = false;
  for (const auto& [page, counts] : plan.full) {
    if (pages.size() == kClimbMax) break;
    pages.push_back(page);
    if (root == 0) {
      complete = true;
      total = counts;
      break;
    }
    const uint64_t parent = parent_of(page);
    if (add_child(node(1, parent), child_of(page), counts)) changed.insert({1, parent});
  }
  for (uint32_t level = 1; level <= root; ++level) {
    const auto begin = next.lower_bound({level, 0});
    const auto end = next.lower_bound({level + 1, 0});
    std::vector<std::pair<uint64_t, Counts>> full;
    for (auto it = begin; it != end; ++it) {
      if (is_full(it->second, level, it->first.second, tasks)) {
        full.emplace_back(it->first.second, counts_of(it->second));
      }
    }
    for (const auto& [number, counts] : full) {
      if (level == root) {
        complete = true;
        total = counts;
      } else if (add_child(node(level + 1, parent_of(number)), child_of(number), counts)) {
        changed.insert({level + 1, parent_of(number)});
      }
    }
  }
  std::vector<Write> writes;
  for (const auto& place : changed) {
    writes.push_back(Put{std::string(kNodes), node_key(plan.job, place.first, place.second),
                         next.at(place).SerializeAsString(), plan.nodes[place].version});
  }
  if (complete && !plan.end_there) draft_end(writes, plan, total);
  if (writes.empty()) return climbed(plan, pages, complete);
  commit(std::move(writes), [this, &plan, pages = std::move(pages), next = std::move(next),
                             changed = std::move(changed), complete](Answer&& answer) mutable {
    const auto* done = std::get_if<Committed>(&answer);
    if (done == nullptr) return climb_again(plan);
    for (const auto& place : changed)
      plan.nodes[place] = {std::move(next.at(place)), done->version};
    climbed(plan, pages, complete);
  });
}

void WorkerMind::climbed(Plan& plan, const std::vector<uint64_t>& pages, bool complete) {
  plan.climbing = false;
  plan.collisions = 0;
  for (const uint64_t page : pages) plan.full.erase(page);
  for (auto& [id, held] : held_) {
    if (held.plan != &plan) continue;
    if (!held.bits.empty()) {
      for (const uint64_t page : pages) held.bits.erase(page);
    }
    settled_.insert(id);
  }
  if (complete) {
    plan.end_there = true;
    end_plan(plan);
  }
  if (owes_release(plan)) release(plan);
  --plan.busy;
  climb(plan);
  tidy(plan);
}

// Somebody else changed a node, or the end is there already.
void WorkerMind::climb_again(Plan& plan) {
  plan.nodes.clear();
  const uint64_t most = 2ULL << std::min(plan.collisions++, kCollisionDoublings);
  const Millis delay(random_.below(most));
  read_end(plan, [this, &plan, delay] {
    plan.climb_after = now_.at + delay;
    later(delay, [this, &plan] {
      plan.climbing = false;
      plan.climb_after.reset();
      climb(plan);
      --plan.busy;  // Of this round; climb() has counted its own.
      tidy(plan);
    });
  });
}

// What ends the job. It fails if another job has come after it since we last looked.
void WorkerMind::draft_end(std::vector<Write>& writes, const Plan& plan,
                           const Counts& counts) const {
  model::End end;
  end.set_kind(model::End::DONE);
  end.set_ok(counts.ok);
  end.set_failed(counts.failed);
  end.set_ended_us(now_.wall_us);
  writes.push_back(Put{std::string(kEnds), plan.job, end.SerializeAsString(), 0});
  if (!plan.marked) writes.push_back(Erase{std::string(kAfter), after_key(plan.job, ""), 0});
}

bool WorkerMind::owes_release(const Plan& plan) const {
  return plan.end_there && plan.marked && !plan.released;
}

// The end first: what comes after the job since then is the business of who submitted that. The
// other way round we could take an ended job for one that nothing comes after.
void WorkerMind::read_end(Plan& plan, std::function<void()> then) {
  ask_for(plan, Get{std::string(kEnds), {plan.job}},
          [this, &plan, then = std::move(then)](Answer&& end) {
            ask_for(plan, Get{std::string(kAfter), {after_key(plan.job, "")}},
                    [this, &plan, then, end = std::move(end)](Answer&& answer) {
                      const auto* mark = std::get_if<Rows>(&answer);
                      plan.marked = mark != nullptr && mark->rows.at(0).version != 0;
                      const auto* rows = std::get_if<Rows>(&end);
                      if (rows != nullptr) end_read(plan, rows->rows.at(0));
                      then();
                    });
          });
}

void WorkerMind::end_read(Plan& plan, const Row& row) {
  plan.end_read = true;
  plan.end_there = row.version != 0;
  if (!plan.end_there) return;
  if (owes_release(plan)) release(plan);
  end_plan(plan);
}

// Nothing of this job is to be done any more: running tasks are stopped, its messages finished.
void WorkerMind::end_plan(Plan& plan) {
  if (std::exchange(plan.ended, true)) return;
  for (auto& [id, held] : held_) {
    if (held.plan != &plan) continue;
    abandon(held);
    settled_.insert(id);
  }
}

// Looks after the jobs that come after one that has ended. Its ranges are finished only after that,
// so whoever comes next repeats it if we die.
void WorkerMind::release(Plan& plan) {
  if (std::exchange(plan.releasing, true)) return;
  ++plan.busy;
  release_dependants(plan.job, 0, [this, &plan] {
    commit({Erase{std::string(kAfter), after_key(plan.job, ""), kAnyVersion}},
           [this, &plan](Answer&&) {
             plan.releasing = false;
             plan.released = true;
             --plan.busy;
             for (const auto& [id, held] : held_) {
               if (held.plan == &plan) settled_.insert(id);
             }
             tidy(plan);
           });
  });
}

void WorkerMind::release_dependants(const std::string& job, uint32_t depth,
                                    std::function<void()> then) {
  ask(Scan{std::string(kAfter), after_key(job, ""), after_key(job, ""), kBatchMax},
      [this, job, depth, then = std::move(then)](Answer&& answer) {
        const auto* rows = std::get_if<Rows>(&answer);
        if (rows == nullptr || rows->rows.empty() || depth > kDepthMax) return then();
        std::vector<std::string> jobs;
        for (const Row& row : rows->rows) jobs.push_back(row.key.substr(job.size() + 1));
        release_all(std::move(jobs), depth, then);
      });
}

void WorkerMind::release_all(std::vector<std::string> jobs, uint32_t depth,
                             std::function<void()> then) {
  if (jobs.empty()) return then();
  const std::string job = std::move(jobs.back());
  jobs.pop_back();
  release_one(job, depth, [this, jobs = std::move(jobs), depth, then = std::move(then)]() mutable {
    release_all(std::move(jobs), depth, std::move(then));
  });
}

// Starts a job that waited, if this was the last that it waited for; skips it if one of them did
// not go well. The same decision as release_if_ready() of model/release.h makes, without blocking.
void WorkerMind::release_one(const std::string& id, uint32_t depth, std::function<void()> then) {
  ask(Get{std::string(kJobs), {id}}, [this, id, depth, then = std::move(then)](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.at(0).version == 0) return then();
    auto job = parse_row<model::Job>(kJobs, rows->rows[0]);
    if (!job.ok()) return then();
    ask(Get{std::string(kWaits), {id}},
        [this, depth, then, job = std::move(job).value()](Answer&& waits) {
          const auto* wait = std::get_if<Rows>(&waits);
          if (wait == nullptr || wait->rows.at(0).version == 0) return then();
          release_waiting(job, depth, then);
        });
  });
}

void WorkerMind::release_waiting(const Stored<model::Job>& job, uint32_t depth,
                                 std::function<void()> then) {
  const std::string& id = job.record.id();
  const auto& after = job.record.spec().after();
  Get get{std::string(kEnds), {after.begin(), after.end()}};
  get.keys.push_back(id);
  ask(std::move(get), [this, id, job, depth, then = std::move(then)](Answer&& answer) {
    auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr ||
        rows->rows.size() != 1U + static_cast<size_t>(job.record.spec().after_size())) {
      return then();
    }
    const bool ended = rows->rows.back().version != 0;
    rows->rows.pop_back();
    // What comes after a job that never starts is looked at before its rows are forgotten.
    const auto forget_it = [this, id, job, depth, then] {
      release_dependants(id, depth + 1, [this, job, then] {
        commit(forget_writes(job.record), [then](Answer&&) { then(); });
      });
    };
    if (ended) return forget_it();
    const auto decision = decide_release(job.record.spec(), rows->rows);
    if (!decision.ok() || decision.value().what == Release::wait) return then();
    const bool go = decision.value().what == Release::go;
    commit(go ? go_writes(job, now_.wall_us) : skip_writes(job, decision.value().why, now_.wall_us),
           [this, id, go, depth, then, forget_it](Answer&& committed) {
             if (std::get_if<Committed>(&committed) == nullptr) return release_one(id, depth, then);
             go ? then() : forget_it();
           });
  });
}

}  // namespace dunlin
