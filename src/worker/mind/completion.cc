#include "worker/mind/completion.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/log.h"
#include "model/jobs/release.h"

namespace dunlin::worker {
namespace {

constexpr uint32_t kCollisionDoublings = 6;
constexpr Millis kLookEvery = Millis(500);
constexpr int kLookPaces = 4;

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

Completion::Completion(Millis pace, Asks& asks, Jobs& jobs, HeldRanges& ranges, PageReader& reader)
    : pace_(pace), asks_(asks), jobs_(jobs), ranges_(ranges), reader_(reader) {}

// Nodes are shared by all workers of the job, so this is a commit of its own: who loses a race
// repeats little.
void Completion::enter(JobView& job) {
  if (job.full.empty() || job.propagating || !job.ready) return;
  if (!may_enter(job)) return;
  job.propagating = true;
  const uint32_t root = root_level(job.spec().tasks());
  if (root == 0 && !job.pages[0].known) {
    return reader_.read(job, 0, [this, pin = Pin(job)] { propagate(*pin); });
  }
  std::set<std::pair<uint32_t, uint64_t>> missing;
  size_t count = 0;
  for (const auto& [page, counts] : job.full) {
    if (++count > kPropagatedMax) break;
    for (const auto& place : path_of(page, root)) {
      if (!job.nodes.contains(place)) missing.insert(place);
    }
  }
  if (missing.empty()) return propagate(job);
  read_nodes(job, {missing.begin(), missing.end()});
}

// Only who holds a range enters its pages: if its lease is lost, somebody else does. While that is
// in doubt, all of them wait for the renewal.
bool Completion::may_enter(JobView& job) {
  std::set<uint64_t> ours;
  for (const auto& [id, held] : ranges_.all()) {
    if (held.job.get() != &job || held.bits.empty()) continue;
    if (ranges_.in_doubt(held)) return false;
    ours.insert(held.bits.begin(), held.bits.end());
  }
  absl::erase_if(job.full, [&](const auto& one) { return !ours.contains(one.first); });
  return !job.full.empty();
}

// These need not be entered any more.
void Completion::forget_bits(JobView& job, const std::vector<uint64_t>& pages) {
  for (const uint64_t page : pages) job.full.erase(page);
  for (auto& [id, held] : ranges_.all()) {
    if (held.job.get() != &job) continue;
    if (!held.bits.empty()) {
      for (const uint64_t page : pages) held.bits.erase(page);
    }
    ranges_.look_at(id);
  }
}

void Completion::read_nodes(JobView& job, const Places& which) {
  Get get{std::string(kNodes), {}};
  for (const auto& [level, number] : which) {
    if (get.keys.size() == kBatchMax) break;  // More than kPropagatedMax pages have.
    get.keys.push_back(node_key(job.id, level, number));
  }
  asks_.get_rows(std::move(get), [this, pin = Pin(job), which](std::vector<Row>&& rows) {
    if (nodes_read(*pin, which, rows)) propagate(*pin);
  });
}

bool Completion::nodes_read(JobView& job, const Places& which, const std::vector<Row>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    NodeView& view = job.nodes[which[i]];
    view.version = rows[i].version;
    view.node.Clear();
    if (view.node.ParseFromString(rows[i].value)) continue;
    log::error("node {} is damaged: job {} cannot end before it is repaired", rows[i].key, job.id);
    job.nodes.clear();
    enter_later(job, kBadRowWait);
    return false;
  }
  return true;
}

void Completion::propagate(JobView& job) {
  const uint32_t root = root_level(job.spec().tasks());
  if (root == 0 && !job.pages[0].known) {
    return job.pages[0].bad ? enter_later(job, kBadRowWait) : enter_again(job);
  }
  Propagation propagation = propagation_of(job);
  // Somebody else has entered one of them, as far as we remember the nodes. But a retry may have
  // taken it out since.
  const bool fresh = std::exchange(job.nodes_fresh, false);
  if (propagation.found_there && !fresh) {
    job.nodes.clear();
    job.propagating = false;
    job.nodes_fresh = true;
    return enter(job);
  }
  std::vector<Write> writes;
  const auto put = [&](const std::pair<uint32_t, uint64_t>& place) {
    writes.emplace_back(Put{std::string(kNodes), node_key(job.id, place.first, place.second),
                            propagation.nodes.at(place).SerializeAsString(),
                            job.nodes[place].version});
  };
  for (const auto& place : propagation.changed) put(place);
  const bool ends = propagation.complete && !job.end_there;
  if (ends) {
    // What the end rests on is as we saw it, also if we do not change it.
    if (root == 0) {
      const PageView& view = job.pages[0];
      writes.emplace_back(Put{std::string(kPages), page_key(job.id, 0),
                              view.page.SerializeAsString(), view.version});
    } else if (propagation.changed.insert({root, 0}).second) {
      put({root, 0});
    }
    draft_end(writes, job, propagation.total);
  }
  if (writes.empty()) return propagated(job, propagation);
  asks_.commit(std::move(writes), [this, pin = Pin(job), ends,
                                   propagation = std::move(propagation)](Answer&& answer) mutable {
    propagate_answered(*pin, std::move(propagation), ends, answer);
  });
}

void Completion::propagate_answered(JobView& job, Propagation&& propagation, bool ends,
                                    const Answer& answer) {
  const auto* done = std::get_if<Committed>(&answer);
  if (done == nullptr) return enter_again(job);
  // The job was opened again since: pages that were entered then must be entered anew.
  if (propagation.round != job.round) return enter_later(job, Millis(0));
  for (const auto& place : propagation.changed) {
    job.nodes[place] = {std::move(propagation.nodes.at(place)), done->version};
  }
  if (ends && root_level(job.spec().tasks()) == 0) job.pages[0].version = done->version;
  propagated(job, propagation);
}

void Completion::propagated(JobView& job, const Propagation& propagation) {
  job.propagating = false;
  job.collisions = 0;
  forget_bits(job, propagation.pages);
  if (propagation.complete && propagation.round == job.round) ranges_.end(job);
  if (owes_release(job)) release(job);
  enter(job);
}

// Somebody else changed a node or the page, or the end is there already.
void Completion::enter_again(JobView& job) {
  job.nodes.clear();
  if (root_level(job.spec().tasks()) == 0) job.pages[0].known = false;
  const uint64_t most = 2ULL << std::min(job.collisions++, kCollisionDoublings);
  const Millis delay(asks_.random().below(most));
  read_end(job, [this, pin = Pin(job), delay] { enter_later(*pin, delay); });
}

void Completion::enter_later(JobView& job, Millis delay) {
  asks_.later(delay, [this, pin = Pin(job)] {
    pin->propagating = false;
    enter(*pin);
  });
}

void Completion::draft_end(std::vector<Write>& writes, const JobView& job,
                           const Counts& counts) const {
  model::End end;
  end.set_kind(model::End::DONE);
  end.set_ok(counts.ok);
  end.set_failed(counts.failed);
  end.set_ended_us(asks_.now().wall_us);
  writes.emplace_back(Put{std::string(kEnds), job.id, end.SerializeAsString(), 0});
  if (!job.marked) writes.emplace_back(Erase{std::string(kAfter), after_key(job.id, ""), 0});
}

// The end first: what comes after the job since then is the business of who submitted that. The
// other way round we could take an ended job for one that nothing comes after.
void Completion::read_end(JobView& job, std::function<void()> then) {
  const auto mark_read = [this, pin = Pin(job), round = job.round, then = std::move(then)](
                             const Answer& end, const Answer& mark) {
    const auto* marks = std::get_if<Rows>(&mark);
    // Answers may come in any order: what was there once is looked after once.
    pin->marked |= marks != nullptr && marks->rows.at(0).version != 0;
    const auto* rows = std::get_if<Rows>(&end);
    // It may have been opened again since.
    if (rows != nullptr && round == pin->round) end_read(*pin, rows->rows.at(0));
    then();
  };
  asks_.ask(Get{std::string(kEnds), {job.id}}, [this, id = job.id, mark_read](Answer&& end) {
    asks_.ask(Get{std::string(kAfter), {after_key(id, "")}},
              [mark_read, end = std::move(end)](Answer&& mark) { mark_read(end, mark); });
  });
}

void Completion::end_read(JobView& job, const Row& row) {
  job.end_read = true;
  // We may have ended it since it was read. An end stays, until the job is opened again.
  if (row.version != 0) has_ended(job);
}

void Completion::has_ended(JobView& job) {
  ranges_.end(job);
  if (owes_release(job)) release(job);
}

// A job that was cancelled is noticed here.
void Completion::keep_looking() {
  std::vector<std::string> ids;
  for (const auto& [id, job] : jobs_.all()) {
    if (job->held > 0 && !job->ended && ids.size() < kBatchMax) ids.push_back(id);
  }
  asks_.later(std::max(kLookEvery, pace_ * kLookPaces), [this] { keep_looking(); });
  if (ids.empty()) return;
  asks_.ask(Get{std::string(kEnds), ids}, [this](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr) return;
    for (const Row& row : rows->rows) {
      JobView* job = jobs_.find(row.key);
      // Whether something comes after it must be known, too, before its messages are dropped.
      if (row.version != 0 && job != nullptr) read_end(*job, [] {});
    }
  });
}

// Looks after the jobs that come after one that has ended. The mark stays if the job is opened
// again meanwhile.
void Completion::release(JobView& job) {
  if (std::exchange(job.releasing, true)) return;
  const auto done = [this, pin = Pin(job), round = job.round](Answer&& answer) {
    released(*pin, round, answer);
  };
  asks_.ask(Get{std::string(kEnds), {job.id}}, [this, ended = job.id, done](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.at(0).version == 0) return done(Done{});
    const uint64_t id = ++last_cascade_;
    const auto then = [this, done, end = rows->rows[0]] {
      asks_.commit(released_writes(end), done);
    };
    cascades_.emplace(id, RunningCascade{Cascade::after(ended), then});
    cascade(id);
  });
}

void Completion::released(JobView& job, uint32_t round, const Answer& answer) {
  job.releasing = false;
  // The row of the end has another version: the job was opened again, or whoever submitted
  // another job after it has compared it. Then the mark is still there.
  const bool conflict = std::holds_alternative<Error>(answer);
  job.released = job.round == round && !conflict;
  ranges_.look_at_all_of(job);
  if (owes_release(job)) release(job);
}

void Completion::cascade(uint64_t id) {
  Cascade& now = cascades_.at(id).cascade;
  if (now.done()) {
    const std::function<void()> then = std::move(cascades_.at(id).then);
    cascades_.erase(id);
    return then();
  }
  Request request = now.next(asks_.now().wall_us);
  if (auto* commit = std::get_if<Commit>(&request)) commit->nonce = asks_.random().next() | 1U;
  asks_.ask(std::move(request), [this, id](Answer&& answer) {
    const Result<void> taken = cascades_.at(id).cascade.take(std::move(answer));
    if (taken.ok()) return cascade(id);
    // The mark stays, so whoever gets the message again begins again; and so do we.
    log::error("cannot look after the jobs that come after another: {}", taken.error().what);
    asks_.later(kBadRowWait, [this, id] { cascade(id); });
  });
}

}  // namespace dunlin::worker
