#include "worker/mind/job_view.h"

#include <algorithm>

#include "model/jobs/inputs.h"

namespace dunlin::worker {
namespace {

constexpr size_t kEndedMax = 4096;

}  // namespace

Pin::~Pin() {
  if (job_ == nullptr || --job_->pins_ > 0 || job_->jobs_ == nullptr) return;
  job_->jobs_->loosen(*job_);
}

JobView& Jobs::open(const std::string& job, uint32_t round) {
  std::unique_ptr<JobView>& view = views_[job];
  if (view != nullptr) return *view;
  view = std::make_unique<JobView>();
  view->jobs_ = this;
  view->id = view->text->id = job;
  view->round = round;
  const auto ended = ended_.find(job);
  view->ended = view->end_there = ended != ended_.end() && ended->second >= round;
  return *view;
}

JobView* Jobs::find(const std::string& job) {
  const auto found = views_.find(job);
  return found == views_.end() ? nullptr : found->second.get();
}

void Jobs::remember_end(const JobView& job) {
  if (ended_.size() >= kEndedMax) ended_.clear();
  ended_[job.id] = job.round;
}

void Jobs::loosen(JobView& job) {
  if (!std::exchange(job.loose_, true)) loose_.push_back(&job);
}

void Jobs::sweep() {
  for (JobView* job : std::exchange(loose_, {})) {
    job->loose_ = false;
    if (job->pins_ == 0) views_.erase(std::string(job->id));
  }
}

bool PageView::has_outcome(uint32_t offset) const {
  for (const model::Outcome& outcome : page.outcomes()) {
    if (outcome.offset() == offset) return true;
  }
  return false;
}

uint32_t PageView::claims_of(uint32_t offset) const {
  uint32_t count = 0;
  for (const model::Claim& claim : page.claims()) {
    if (claim.offset() == offset) count += claim.earlier() + (claim.attempt() > 0 ? 1 : 0);
  }
  return count;
}

void add_claim(model::Page& page, uint32_t offset, uint32_t attempt, const std::string& worker) {
  auto& claims = *page.mutable_claims();
  const auto found = std::ranges::find(claims, offset, &model::Claim::offset);
  model::Claim& claim = found == claims.end() ? *page.add_claims() : *found;
  if (claim.attempt() > 0) claim.set_earlier(claim.earlier() + 1);
  claim.set_offset(offset);
  claim.set_attempt(attempt);
  claim.set_worker(worker);
}

void forget_claims(model::Page& page, uint32_t offset, std::optional<uint32_t> attempt) {
  auto& claims = *page.mutable_claims();
  const auto claim = std::ranges::find(claims, offset, &model::Claim::offset);
  if (claim == claims.end() || (attempt && claim->attempt() != *attempt)) return;
  if (attempt && claim->earlier() > 0) {
    claim->set_attempt(0);
    claim->clear_worker();
    return;
  }
  claims.erase(claim);
}

void PageView::drop_of(uint64_t held) {
  const auto is_its = [held](const auto& one) { return one.held == held; };
  std::erase_if(outcomes, is_its);
  std::erase_if(moves, is_its);
  std::erase_if(claims, is_its);
  begins = 0;  // Other ranges that need it ask again.
}

bool PageView::is_moved(uint32_t offset) const { return has_bit(page.moved(), offset); }

Millis backoff_of(const model::Spec& spec, uint32_t failures) {
  constexpr uint32_t kDoublings = 16;
  const uint64_t first = std::min(spec.backoff_ms(), kKeepMost);  // Whatever somebody wrote there.
  return Millis(static_cast<Millis::rep>(first << std::min(failures, kDoublings)));
}

Result<void> prepare(JobView& job) {
  for (const model::Source& source : job.spec().inputs().sources()) {
    std::vector<std::string> values;
    if (source.blob().empty()) {
      values = TRY(read_values(source.inline_()));
      if (values.size() != source.count()) {
        return Error{Code::corrupt, "the inputs of job " + job.id + " are not as many as it says"};
      }
    }
    job.values.push_back(std::move(values));
  }
  return {};
}

Propagation propagation_of(JobView& job) {
  Propagation propagation;
  propagation.round = job.round;
  const uint64_t tasks = job.spec().tasks();
  const uint32_t root = root_level(tasks);
  const auto node = [&](uint32_t level, uint64_t number) -> model::Node& {
    const auto [place, fresh] = propagation.nodes.try_emplace({level, number});
    if (fresh) place->second = job.nodes[{level, number}].node;
    return place->second;
  };
  const auto add = [&](uint32_t level, uint64_t child, const Counts& counts) {
    const uint64_t number = parent_of(child);
    const bool fresh = add_child(node(level, number), child_of(child), counts);
    if (fresh) propagation.changed.insert({level, number});
    return fresh;
  };
  for (const auto& [page, counts] : job.full) {
    if (propagation.pages.size() == kPropagatedMax) break;
    propagation.pages.push_back(page);
    if (root == 0) {
      propagation.complete = is_full(job.pages[page].page, page, tasks);
      propagation.total = counts_of(job.pages[page].page);
    } else if (node(1, parent_of(page)).round() <= job.round) {
      propagation.found_there |= !add(1, page, counts);
    }
  }
  for (uint32_t level = 1; level <= root; ++level) {
    std::vector<std::pair<uint64_t, Counts>> full;
    for (auto it = propagation.nodes.lower_bound({level, 0});
         it != propagation.nodes.end() && it->first.first == level; ++it) {
      if (is_full(it->second, level, it->first.second, tasks)) {
        full.emplace_back(it->first.second, counts_of(it->second));
      }
    }
    for (const auto& [number, counts] : full) {
      if (level < root) {
        // Views may be of different times, with a retry in between that took the bit out. So who
        // makes a node full compares the one above it, also if the bit seems to be there; and who
        // enters a full node compares that node.
        const bool entered = add(level + 1, number, counts);
        if (entered || propagation.changed.contains({level, number})) {
          propagation.changed.insert({level, number});
          propagation.changed.insert({level + 1, parent_of(number)});
        }
      } else {
        propagation.complete = true;
        propagation.total = counts;
      }
    }
  }
  return propagation;
}

}  // namespace dunlin::worker
