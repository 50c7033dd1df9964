// Estimates pi with 1,000 tasks, each of which throws 10,000 darts in whichever worker is free.
//
//   darts URL TOKEN_FILE
#include <cstdint>
#include <dunlin/client.h>
#include <iostream>
#include <string>

namespace dl = dunlin::sdk;

namespace {

constexpr uint64_t kTasks = 1000;
constexpr double kDartsPerTask = 10'000;

int complain(const dl::Error& error) {
  std::cerr << error.what << '\n';
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: darts URL TOKEN_FILE\n";
    return 2;
  }
  auto client = dl::Client::connect(words[1], {.token_file = words[2]});
  if (!client) return complain(client.error());

  // Each task gets its number as its seed.
  auto job = client->submit({.function = "throw_darts", .array = kTasks, .name = "darts"});
  if (!job) return complain(job.error());

  uint64_t hits = 0;
  while (true) {
    const auto next = job->next();
    if (!next) return complain(next.error());
    if (!*next) break;  // That was the last one.
    const dl::TaskResult& result = **next;
    if (!result.ok()) {
      std::cerr << "task " << result.task << ": " << result.why << '\n';
      return 1;
    }
    hits += std::stoull(result.output);
  }
  std::cout << "tasks " << kTasks << " hits " << hits << " pi "
            << 4 * static_cast<double>(hits) / (kDartsPerTask * static_cast<double>(kTasks))
            << '\n';
}
