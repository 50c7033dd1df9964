// How long a store takes to open, and in how much memory: with messages that wait, and with jobs
// that have ended. Beside it: reading the same bytes.
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "bench/measure.h"
#include "bench/store_cases.h"
#include "stores/engine/file_store.h"

namespace dunlin::bench {

void make_apart(const std::function<void()>& make) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    make();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

namespace {

// What jobs of one task leave, and the way there: a row, a message, a lease, a page, an end.
void make_ended_jobs(const std::string& folder, size_t total) {
  constexpr size_t kAtOnce = 1000;
  auto store = engine::open_file_store(folder).value();
  Random random(1);
  for (size_t done = 0; done < total; done += kAtOnce) {
    std::vector<std::string> jobs;
    std::vector<Write> writes;
    Push push{.queue = "work.5.4f8de081c6c32f05", .messages = {}};
    for (size_t i = 0; i < kAtOnce; ++i) {
      jobs.push_back(fmt::format("{:010x}{:013x}", (done + i) / 30, random.next() >> 12U));
      writes.emplace_back(Put{"jobs", jobs.back(), std::string(110, 'j'), 0});
      push.messages.push_back({jobs.back() + "/0-1", std::string(120, 'r')});
    }
    writes.emplace_back(std::move(push));
    CHECK(store->commit(writes).ok());
    const auto pulled =
        store->queue().pull("work.5.4f8de081c6c32f05", kAtOnce, Millis(30'000), Millis(0)).value();
    CHECK(pulled.size() == kAtOnce);
    writes.clear();
    Finish finish{.queue = "work.5.4f8de081c6c32f05", .leases = {}};
    for (size_t i = 0; i < kAtOnce; ++i) {
      writes.emplace_back(Put{"pages", jobs[i] + "/00000000", std::string(80, 'p'), 0});
      writes.emplace_back(Put{"ends", jobs[i], std::string(20, 'e'), 0});
      finish.leases.push_back(pulled[i].lease);
    }
    writes.emplace_back(std::move(finish));
    CHECK(store->commit(writes).ok());
  }
}

void make_messages_that_wait(const std::string& folder, size_t total) {
  auto store = engine::open_file_store(folder).value();
  for (size_t done = 0; done < total; done += 10'000) {
    CHECK(store->queue().push("q", make_messages(done, 10'000)).ok());
  }
}

// The most that this process has had so far.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The disk is full for one commit: files may not grow.
void let_a_commit_fail(Store& store) {
  CHECK(std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{.rlim_cur = 64, .rlim_max = limit.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK(!store.table().put("t", {"k", std::string(1000, 'v'), kAnyVersion}).ok());
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

}  // namespace

Opened open_apart(const std::string& folder) {
  int ends[2] = {};
  CHECK(pipe(ends) == 0);
  make_apart([&] {
    Opened opened;
    double start = seconds_now();
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/log")) {
      const auto file = posix_disk().open_to_read(entry.path()).value();
      std::string part(1 << 20, '\0');
      uint64_t at = 0;
      while (const size_t got = file->read(at, part).value()) at += got;
      opened.log_mib += at >> 20U;
    }
    opened.read_seconds = seconds_now() - start;
    start = seconds_now();
    const double cpu_start = cpu_seconds();
    const auto store = engine::open_file_store(folder).value();
    opened.seconds = seconds_now() - start;
    opened.cpu_seconds = cpu_seconds() - cpu_start;
    opened.mib = resident_mib("self");
    opened.peak_mib = peak_mib();
    start = seconds_now();
    const double failed_cpu_start = cpu_seconds();
    let_a_commit_fail(*store);
    opened.failed_ms = 1000 * (seconds_now() - start);
    opened.failed_cpu_ms = 1000 * (cpu_seconds() - failed_cpu_start);
    CHECK(write(ends[1], &opened, sizeof(opened)) == sizeof(opened));
  });
  Opened opened;
  CHECK(read(ends[0], &opened, sizeof(opened)) == sizeof(opened));
  close(ends[0]);
  close(ends[1]);
  return opened;
}

void reopen(Table& table, const std::string& folder, bool quick) {
  const size_t total = quick ? 200'000 : 1'000'000;
  const std::string place = folder + "/reopen";
  for (const bool is_ended : {false, true}) {
    make_apart(
        [&] { is_ended ? make_ended_jobs(place, total) : make_messages_that_wait(place, total); });
    const Opened opened = open_apart(place);
    const bool met = opened.seconds < 5 && (!is_ended || opened.peak_mib < 300 * 0.9537);
    table.add({.what = fmt::format("open, {} {}", total, is_ended ? "ended jobs" : "messages"),
               .batch = is_ended ? 1'000U : 10'000U,
               .durability = "synced",
               .payload = is_ended ? "" : "100 B",
               .result = fmt::format("{:.2f} s ({:.2f} CPU), {:.0f} MiB", opened.seconds,
                                     opened.cpu_seconds, opened.mib),
               .limit = fmt::format("{:.1f}x reading its {} MiB; at most {:.0f} MiB",
                                    opened.seconds / opened.read_seconds, opened.log_mib,
                                    opened.peak_mib),
               .verdict = verdict(met, is_ended ? "< 5 s, 300 MB" : "< 5 s"),
               .met = met});
    const bool is_quick = opened.failed_cpu_ms < 100;
    table.add(
        {.what = "a commit that fails then",
         .durability = "synced",
         .payload = "1 kB",
         .result = fmt::format("{:.1f} ms ({:.1f} CPU)", opened.failed_ms, opened.failed_cpu_ms),
         .limit = fmt::format("opening {:.0f} ms", 1000 * opened.seconds),
         .verdict = verdict(is_quick, "< 100 ms CPU"),
         .met = is_quick});
    std::filesystem::remove_all(place);
  }
}

}  // namespace dunlin::bench
