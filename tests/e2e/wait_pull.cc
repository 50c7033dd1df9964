// A client that waits: wait_pull URL TOKEN_FILE QUEUE
//
// Prints "waiting" when the hub has its pull, then the body of the message that comes within a
// minute, or "nothing". Two requests of one connection are handled in order, so the answer to the
// second tells that the first is waiting.

#include <cstdio>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "stores/hub_engine.h"
#include "stores/open.h"

namespace dunlin {
namespace {

Result<void> run(const std::string& url, const std::string& token_file, const std::string& queue) {
  const stores::HubAddress address = TRY(stores::parse_hub_url(url));
  const stores::HubOptions options{.token = TRY(stores::read_token(token_file))};
  const auto store = TRY(stores::open_hub(address, options, posix_clock()));
  const Millis minute = std::chrono::minutes(1);
  const uint64_t pull = store->post(Pull{.queue = queue, .max = 1, .hold = minute, .wait = minute});
  TRY(store->queue().depth(queue));
  fmt::print("waiting\n");
  std::fflush(stdout);
  const Answer answer = store->await(pull);
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  const auto& deliveries = std::get<Deliveries>(answer).deliveries;
  fmt::print("{}\n", deliveries.empty() ? "nothing" : deliveries[0].body);
  return {};
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  if (argc != 4) return dunlin::kExitUsage;
  const auto ran = dunlin::run(argv[1], argv[2], argv[3]);
  return ran.ok() ? dunlin::kExitDone : dunlin::report(ran.error());
}
