// A worker that throws darts: `throw_darts` gets a seed and says how many of 10,000 darts at the
// unit square hit the quarter of a circle in it.
//
//   darts_worker URL TOKEN_FILE [SLOTS]
//
// SIGTERM and Ctrl-C let it finish what it has begun; a second one does not.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dunlin/worker.h>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

namespace dl = dunlin::sdk;

namespace {

constexpr int kDarts = 10'000;

std::string throw_darts(std::string_view seed) {
  std::mt19937_64 random(
      std::stoull(std::string(seed)));  // What it throws, the client gets to see.
  std::uniform_real_distribution<double> place(0, 1);
  int hits = 0;
  for (int i = 0; i < kDarts; ++i) {
    const double x = place(random);
    const double y = place(random);
    if (x * x + y * y < 1) ++hits;
  }
  return std::to_string(hits);
}

dl::Worker* running = nullptr;

extern "C" void leave(int) {
  static volatile std::sig_atomic_t asked = 0;
  if (asked != 0) return running->stop();
  asked = 1;
  running->drain();
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::cerr << "usage: darts_worker URL TOKEN_FILE [SLOTS]\n";
    return 2;
  }
  const auto slots = static_cast<uint32_t>(count > 3 ? std::atoi(words[3]) : 0);
  auto worker = dl::Worker::connect(
      words[1], {.token_file = words[2]},
      {.slots = slots, .allow_root = std::getenv("DUNLIN_ALLOW_ROOT") != nullptr});
  if (!worker) {
    std::cerr << worker.error().what << '\n';
    return 1;
  }
  worker->add("throw_darts", throw_darts);
  running = &*worker;
  std::signal(SIGTERM, leave);
  std::signal(SIGINT, leave);
  std::cout << "worker " << worker->id() << std::endl;
  if (const auto left = worker->run(); !left) {
    std::cerr << left.error().what << '\n';
    return 1;
  }
}
