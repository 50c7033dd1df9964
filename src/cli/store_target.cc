#include "cli/store_target.h"

#include "base/env_posix.h"
#include "base/folders.h"
#include "base/wait.h"
#include "stores/own_hub.h"
#include "wire/token_text.h"

namespace dunlin::cli {
namespace {

constexpr Millis kHubWait =
    std::chrono::seconds(2);  // One that was just started, on a line before.
constexpr Millis kHubLook = Millis(20);

Error no_hub() {
  return {Code::unavailable,
          "you have no hub running on this machine: start one with `dunlin hub` and workers with "
          "`dunlin worker`, or name a store with --at (DUNLIN_AT); `dunlin run` needs neither"};
}

}  // namespace

void find_own_hub(StoreTarget& target) {
  if (target.at.empty()) target.at = stores::own_hub().value_or("");
}

Result<void> wait_for_own_hub(StoreTarget& target) {
  const Clock& clock = posix_clock();
  const Instant deadline = clock.now() + kHubWait;
  for (find_own_hub(target); target.at.empty(); find_own_hub(target)) {
    if (clock.now() >= deadline) return no_hub();
    wait_until(clock.now() + kHubLook, clock);
  }
  return {};
}

Result<std::string> bound_owner(const StoreTarget& target) {
  if (!stores::is_hub_url(target.at) || target.token_file.empty()) return std::string();
  return owner_in_token(TRY(stores::read_token(target.token_file)));
}

stores::OpenOptions open_options(const StoreTarget& target) {
  return {.token_file =
              target.token_file.empty() ? stores::own_token_file(target.at) : target.token_file,
          .tls_ca = target.tls_ca,
          .aws_endpoint = target.aws_endpoint};
}

Result<std::unique_ptr<RequestStore>> open_target(const StoreTarget& target, Missing missing) {
  const std::string url = target.at.empty() ? "file:" + TRY(state_folder("store")) : target.at;
  stores::OpenOptions options = open_options(target);
  options.make = missing == Missing::make;
  return stores::open_store(url, options);
}

}  // namespace dunlin::cli
