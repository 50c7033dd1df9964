// Jobs of a simulated fleet that are removed: by clients once they have ended, or by sweepers when
// their time has come. Both may die on the way; a sweeper comes again.
#include <gtest/gtest.h>

#include "model/jobs/submit.h"
#include "model/keys.h"
#include "retention/sweeper.h"
#include "sim/task_world.h"

namespace dunlin {
namespace {

constexpr Millis kSweepEvery = Millis(700);

// How late a worker, or a copy of a request, may be: the world is as much faster.
constexpr Millis kLate = Millis(12'000);
// Behind a network times are real ones: of a link that breaks as the last fault of all nobody knows
// for a minute, then one connects again and is greeted. A worker asks the same all the time. So a
// commit that it has sent before the job was removed may be done when all of that is over.
constexpr Millis kLateBehindNetwork =
    TaskWorld::kTroubleMax + Network::kUnnoticedMax + Network::kConnectMax + HubNode::kGreetMax;

retention::RemoverOptions removal(size_t commit_rows, Millis late) {
  return {.commit_rows = commit_rows, .stone_kept = late + Millis(3'000)};
}

WallTime wall_of(const Events& events) { return WallTime(events.now().time_since_epoch()); }

}  // namespace

Millis TaskWorld::late() const { return hub_ == nullptr ? kLate : kLateBehindNetwork; }

// A job that others come after stays until those were submitted: they would find none.
void TaskWorld::remove(const std::string& job) {
  const auto again = [this, job] { remove(job); };
  const auto now = [this, job](Fiber& fiber) {
    const auto store = fiber.store(random_.next());
    retention::Remover remover(*store, removal(commit_rows_, late()));
    auto found = remover.read({job});
    if (!found.ok()) return;
    std::vector<retention::Candidate> jobs = std::move(found).value();
    const auto removed = remover.remove(jobs, wall_of(events_));
    EXPECT_TRUE(removed.ok() || fiber.killed()) << removed.error().what;
  };
  if (!can_look()) return events_.after(Millis(300), again);
  const std::vector<std::string> keys{job};
  const auto rows = store_->table().get(kJobs, keys);
  model::Job record;
  if (rows.ok() && unsubmitted_ == 0) {
    const Row& row = rows.value()[0];
    ASSERT_TRUE(record.ParseFromString(row.value));
    if (row.version == 0 || record.gone_us() != 0) return void(--clients_left_);
    const auto ends = store_->table().get(kEnds, keys);
    if (ends.ok() && ends.value()[0].version != 0) run_fiber(now, true);
  }
  events_.after(Millis(200 + random_.below(2000)), again);
}

// One look after the other, by a process that may die; another one takes its place.
void TaskWorld::sweep(std::shared_ptr<retention::Sweeper> sweeper) {
  if (sweeper == nullptr) {
    sweeper = std::make_shared<retention::Sweeper>(
        retention::SweeperOptions{.removal = removal(commit_rows_, late()),
                                  .sole = true,
                                  .late = late(),
                                  .not_before = WallTime()});
  }
  run_fiber(
      [this, sweeper](Fiber& fiber) {
        const auto store = fiber.store(random_.next());
        const bool died =
            !sweeper->sweep(*store, {events_.now(), wall_of(events_)}).ok() || fiber.killed();
        events_.after(kSweepEvery, [this, sweeper, died] { sweep(died ? nullptr : sweeper); });
      },
      true);
}

// Those that are to go are gone, and nothing waits for a sweeper.
bool TaskWorld::all_removed() {
  if (!store_->table().scan(kExpiry, "", "", 1).value().empty()) return false;
  for (const SimJob& job : jobs_) {
    const std::vector<std::string> keys{job.id};
    if (job.goes() && store_->table().get(kJobs, keys).value()[0].version != 0) return false;
  }
  return true;
}

}  // namespace dunlin
