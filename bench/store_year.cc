// What a store keeps while jobs come, end and are removed by its rule (30 days, failed ones 90) for
// a year: the real engine and the real sweeper, under a clock that runs ahead.
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "bench/measure.h"
#include "bench/store_cases.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "retention/sweeper.h"
#include "stores/engine/file_store.h"
#include "testing/clock.h"

namespace dunlin::bench {
namespace {

constexpr int kMonths = 12;
constexpr int kMonthsFull = 4;  // From then on as many jobs go as come: the rule is 90 days.
constexpr int kDaysPerMonth = 30;
constexpr Millis kDay = std::chrono::hours(24);
constexpr size_t kFailedEvery = 100;  // One job in so many fails.

struct Month {
  uint64_t rows = 0;
  uint64_t live = 0;
  uint64_t disk = 0;
  double mib = 0;
};

// The time of day is that of a year that begins at the end of 2026.
WallTime wall_at(Millis time) { return retention::kNotBefore + kDay * 365 + time; }

// Jobs of one task that come and end at `time`.
void run_jobs(Store& store, Random& random, Millis time, size_t count) {
  model::Spec spec;
  spec.set_owner("ann");
  spec.mutable_command()->add_argv("simulate --seed 17");
  spec.set_tasks(1);
  spec.set_created_us(to_us(wall_at(time)));
  model::Page page;
  page.add_workers("node17-4242-1a2b3c4d");
  model::Outcome& outcome = *page.add_outcomes();
  outcome.set_state(model::STATE_OK);
  outcome.set_attempt(1);
  outcome.set_ran_us(123'456);
  const std::string queue = queue_of(route_of(spec));
  std::vector<Write> begin;
  std::vector<Write> finish;
  Push push{.queue = queue, .messages = {}};
  for (size_t i = 0; i < count; ++i) {
    model::Job job;
    job.set_id(make_job_id(random, wall_at(time + Millis(static_cast<int64_t>(i)))));
    job.set_queue(queue);
    *job.mutable_spec() = spec;
    begin.emplace_back(Put{std::string(kJobs), job.id(), job.SerializeAsString(), 0});
    push.messages.push_back({job.id() + "/0-1", job.SerializeAsString()});
    model::End end;
    const bool failed = random.below(kFailedEvery) == 0;
    end.set_ok(failed ? 0 : 1);
    end.set_failed(failed ? 1 : 0);
    end.set_ended_us(to_us(wall_at(time)));
    finish.emplace_back(
        Put{std::string(kPages), page_key(job.id(), 0), page.SerializeAsString(), 0});
    finish.emplace_back(Put{std::string(kEnds), job.id(), end.SerializeAsString(), 0});
  }
  begin.emplace_back(std::move(push));
  CHECK(store.commit(begin).ok());
  const auto pulled = store.queue().pull(queue, count, Millis(30'000), Millis(0)).value();
  CHECK(pulled.size() == count);
  Finish done{.queue = queue, .leases = {}};
  for (const Delivery& delivery : pulled) done.leases.push_back(delivery.lease);
  finish.emplace_back(std::move(done));
  CHECK(store.commit(finish).ok());
}

Month look(RequestStore& store) {
  Month month;
  const Info info = store.info().value();
  for (const Info::TableInfo& table : info.tables) month.rows += table.rows;
  month.live = info.live_bytes;
  month.disk = info.disk_bytes;
  month.mib = resident_mib("self");
  return month;
}

// Writes a Month for each month into `out`.
void live_through(const std::string& folder, size_t jobs_per_day, int out) {
  SimClock clock;
  const auto store = engine::open_file_store(posix_disk(), clock, folder).value();
  CHECK(retention::write_rule(store->table(), retention::default_rule(), true).ok());
  Random random(1);
  retention::Sweeper sweeper({.sole = true});
  constexpr int kHoursPerLook = 6;
  for (int day = 0; day < kMonths * kDaysPerMonth; ++day) {
    for (int hour = 0; hour < 24; hour += kHoursPerLook) {
      const Millis time = kDay * day + std::chrono::hours(hour);
      run_jobs(*store, random, time, jobs_per_day * kHoursPerLook / 24);
      while (sweeper.sweep(*store, {Instant(time), wall_at(time)}).value() == Millis(0)) {
      }
      clock.advance(std::chrono::hours(kHoursPerLook));
    }
    if ((day + 1) % kDaysPerMonth != 0) continue;
    const Month month = look(*store);
    CHECK(write(out, &month, sizeof(month)) == sizeof(month));
  }
}

}  // namespace

void year(Table& table, const std::string& folder, bool quick) {
  const size_t jobs_per_day = quick ? 400 : 4000;
  const std::string place = folder + "/year";
  int ends[2] = {};
  CHECK(pipe(ends) == 0);
  double start = seconds_now();
  make_apart([&] { live_through(place, jobs_per_day, ends[1]); });
  const double took = seconds_now() - start;
  std::vector<Month> months(kMonths);
  for (Month& month : months) CHECK(read(ends[0], &month, sizeof(month)) == sizeof(month));
  close(ends[0]);
  close(ends[1]);
  const Opened opened = open_apart(place);
  const size_t jobs = jobs_per_day * kDaysPerMonth * kMonths;
  for (const int number : {1, kMonthsFull, 8, kMonths}) {
    const Month& month = months[static_cast<size_t>(number) - 1];
    const Month& full = months[kMonthsFull - 1];
    const auto much = [](double one, double other) { return one > 1.1 * other; };
    const bool met = number < kMonthsFull ||
                     (!much(static_cast<double>(month.rows), static_cast<double>(full.rows)) &&
                      !much(static_cast<double>(month.live), static_cast<double>(full.live)) &&
                      !much(static_cast<double>(month.disk), static_cast<double>(full.disk)) &&
                      !much(month.mib, full.mib));
    table.add({.what = fmt::format("month {} of {} jobs a day", number, jobs_per_day),
               .batch = 1,
               .durability = "synced",
               .payload = "1 task",
               .result = fmt::format("{} rows, {:.0f} MiB", month.rows, month.mib),
               .limit = fmt::format("{:.1f} MiB live, {:.1f} MiB of log",
                                    static_cast<double>(month.live) / (1 << 20),
                                    static_cast<double>(month.disk) / (1 << 20)),
               .verdict = number <= kMonthsFull
                              ? ""
                              : verdict(met, fmt::format("<= 1.1x month {}", kMonthsFull)),
               .met = met});
  }
  const bool met = opened.seconds < 5;
  table.add({.what = "open after that year",
             .durability = "synced",
             .payload = "1 task",
             .result = fmt::format("{:.2f} s ({:.2f} CPU), {:.0f} MiB", opened.seconds,
                                   opened.cpu_seconds, opened.mib),
             .limit = fmt::format("{} jobs came, ended and went in {:.0f} s ({})", jobs, took,
                                  rate(static_cast<double>(jobs) / took)),
             .verdict = verdict(met, "< 5 s"),
             .met = met});
  std::filesystem::remove_all(place);
}

}  // namespace dunlin::bench
