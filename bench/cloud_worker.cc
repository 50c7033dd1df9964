#include "bench/cloud_worker.h"

#include <algorithm>
#include <limits>

namespace dunlin::bench {
namespace {

constexpr Micros kNever = std::numeric_limits<Micros>::max();

worker::Now now_of(const Timeline& timeline) { return {timeline.instant(), timeline.wall_us()}; }

}  // namespace

CloudWorker::CloudWorker(Timeline& timeline, CloudStore& store, worker::WorkerOptions options,
                         double task_us)
    : timeline_(timeline),
      mind_(std::move(options)),
      task_us_(task_us),
      quick_(store, site_),
      patient_(store, site_),
      planned_(kNever) {}

void CloudWorker::begin() {
  mind_.begin(now_of(timeline_));
  carry_out();
}

// While the loop is busy with tasks nothing else is heard.
void CloudWorker::plan(Micros when) {
  when = std::max({when, busy_until_, timeline_.now()});
  if (when >= planned_) return;
  planned_ = when;
  timeline_.at(when, [this, when] {
    if (planned_ == when) turn();
  });
}

void CloudWorker::turn() {
  planned_ = kNever;
  const worker::Now now = now_of(timeline_);
  for (auto& [id, answer] : std::exchange(answers_, {})) {
    mind_.answered(id, std::move(answer), now);
  }
  if (!ended_.empty()) mind_.ended(std::exchange(ended_, {}), now);
  if (mind_.next_wake() <= now.at) mind_.tick(now);
  carry_out();
}

void CloudWorker::carry_out() {
  worker::WorkerMind::Effects effects = mind_.take();
  for (const uint64_t ticket : effects.drop) {
    std::erase_if(ended_, [ticket](const worker::Ending& one) { return one.ticket == ticket; });
  }
  for (const worker::Assignment& one : effects.start) {
    worker::Ending& ending = ended_.emplace_back();
    ending.ticket = one.ticket;
    ending.outcome.set_state(model::STATE_OK);
    ending.started_us = timeline_.wall_us();
  }
  for (worker::WorkerMind::Ask& ask : effects.asks) {
    const auto* pull = std::get_if<Pull>(&ask.request);
    CloudLane& lane = pull != nullptr && pull->wait > Millis(0) ? patient_ : quick_;
    lane.post(std::move(ask.request), [this, id = ask.id](Answer&& answer) {
      answers_.emplace_back(id, std::move(answer));
      plan(timeline_.now());
    });
  }
  if (ended_.empty()) {
    return plan(mind_.next_wake().time_since_epoch().count() * 1000);
  }
  busy_until_ =
      timeline_.now() + static_cast<Micros>(static_cast<double>(ended_.size()) * task_us_);
  plan(busy_until_);
}

}  // namespace dunlin::bench
