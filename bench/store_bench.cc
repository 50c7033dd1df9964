// Measures the store: the embedded engine beside a raw log with the same bytes and syncs, then the
// same engine behind a hub beside bare TCP. `bench/store` builds and runs it.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

#include "base/env_posix.h"
#include "bench/measure.h"
#include "bench/store_cases.h"
#include "stores/engine/file_store.h"

namespace dunlin::bench {
namespace {

constexpr size_t kPayload = 100;

}  // namespace

std::vector<Message> make_messages(size_t first, size_t count) {
  std::vector<Message> messages;
  messages.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    messages.push_back({fmt::format("m{}", first + i), std::string(kPayload, 'x')});
  }
  return messages;
}

// Push, pull and finish `total` messages, `batch` at a time. Returns messages per second.
double cycle(Store& store, const std::string& queue, size_t total, size_t batch) {
  const double start = seconds_now();
  for (size_t done = 0; done < total; done += batch) {
    const auto messages = make_messages(done, batch);
    CHECK(store.queue().push(queue, messages).ok());
    const auto pulled =
        store.queue().pull(queue, batch, std::chrono::seconds(60), Millis(0)).value();
    CHECK(pulled.size() == batch);
    std::vector<Lease> leases;
    leases.reserve(batch);
    for (const Delivery& delivery : pulled) leases.push_back(delivery.lease);
    CHECK(store.queue().finish(queue, leases).ok());
  }
  return static_cast<double>(total) / (seconds_now() - start);
}

namespace {

// The floor: a file that gets the bytes of the engine's records and its three syncs a batch.
double raw_log(const std::string& folder, size_t total, size_t batch) {
  auto file = posix_disk().create(folder + "/raw").value();
  const std::string push(batch * (kPayload + 30), 'r');
  const std::string lease(64 + 2 * batch, 'r');
  const std::string finish(64 + 2 * batch, 'r');
  uint64_t at = 0;
  const double start = seconds_now();
  for (size_t done = 0; done < total; done += batch) {
    for (const std::string* bytes : {&push, &lease, &finish}) {
      CHECK(file->write(at, *bytes).ok() && file->sync().ok());
      at += bytes->size();
      if (at > (uint64_t{32} << 20)) {
        file = posix_disk().create(folder + "/raw").value();
        at = 0;
      }
    }
  }
  const double took = seconds_now() - start;
  CHECK(posix_disk().remove(folder + "/raw").ok());
  return static_cast<double>(total) / took;
}

void embedded(Table& table, const std::string& folder, bool quick) {
  for (const size_t batch : {size_t{1}, size_t{10}, size_t{100}, size_t{1000}}) {
    const size_t total = (quick ? 200 : 1000) * std::max<size_t>(batch, 2);
    auto store = engine::open_file_store(folder + "/embedded").value();
    double best = 0;
    double floor = 0;
    for (int round = 0; round < 3; ++round) {
      floor = std::max(floor, raw_log(folder, total, batch));
      best = std::max(best, cycle(*store, "q", total, batch));
    }
    const bool met = batch != 1000 || best >= 500'000;
    table.add({.what = "file: push+pull+finish",
               .batch = batch,
               .durability = "synced",
               .payload = "100 B",
               .result = rate(best),
               .limit = fmt::format("raw log {} ({:.0f} %)", rate(floor), 100 * best / floor),
               .verdict = batch == 1000 ? verdict(met, ">= 500 k/s") : "",
               .met = met});
    store.reset();
    std::filesystem::remove_all(folder + "/embedded");
  }
}

int run_all(int argc, char** argv) {
  bool json = false;
  bool quick = false;
  std::string only;
  std::string program;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--quick") {
      quick = true;
    } else if (argument.starts_with("--dunlin=")) {
      program = argument.substr(strlen("--dunlin="));
    } else if (argument.starts_with("--only=")) {
      only = argument.substr(strlen("--only="));
    } else {
      fmt::print(stderr,
                 "usage: bench/store [--quick] [--json] [--only=file|reopen|year|hub|idle]\n");
      return 2;
    }
  }
  std::string folder = (std::filesystem::temp_directory_path() / "dunlin-bench-XXXXXX").string();
  CHECK(::mkdtemp(folder.data()) != nullptr);
  Table table(json);
  const auto wanted = [&](const std::string& part) { return only.empty() || only == part; };
  if (wanted("file")) embedded(table, folder, quick);
  if (wanted("reopen")) reopen(table, folder, quick);
  if (wanted("year")) year(table, folder, quick);
  if (wanted("hub")) hub(table, program, folder, quick);
  if (wanted("idle")) idle_workers(table, program, folder, quick);
  std::filesystem::remove_all(folder);
  return table.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace dunlin::bench

int main(int argc, char** argv) {
  try {
    return dunlin::bench::run_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
