#include "bench/hub_process.h"

#include <csignal>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/text.h"
#include "stores/hub_engine.h"
#include "stores/open.h"

namespace dunlin::bench {
namespace {

constexpr std::string_view kListening = "listening on ";
constexpr std::string_view kSyncs = "stopped syncs=";

}  // namespace

Result<std::unique_ptr<HubProcess>> HubProcess::start(const std::string& program,
                                                      const std::string& parent_folder,
                                                      bool ephemeral) {
  TempFolder folder = TRY(TempFolder::make(parent_folder));
  const std::string log = folder.path() + "/hub.log";
  std::vector<std::string> words = {program,    "hub",         "--data",   folder.path() + "/data",
                                    "--listen", "127.0.0.1:0", "--no-note"};
  if (ephemeral) words.emplace_back("--ephemeral");
  Child child = TRY(Child::start(words, {.in = "/dev/null", .err = log}));
  auto hub = std::make_unique<HubProcess>(std::move(folder), std::move(child));
  while (true) {
    const auto line = hub->child_.line();
    if (!line.ok()) {
      return Error{Code::unavailable,
                   fmt::format("the hub did not start: {}", hub->child_.last_words())};
    }
    if (line.value().starts_with(kListening)) hub->url_ = line.value().substr(kListening.size());
    if (line.value().starts_with("token")) return hub;
  }
}

Result<uint64_t> HubProcess::stop() {
  child_.interrupt(SIGTERM);
  const int code = child_.wait();
  const std::string last = child_.last_words();
  const size_t at = last.find(kSyncs);
  if (code != 0 || at == std::string::npos) {
    return Error{Code::unavailable, fmt::format("the hub ended with {}: {}", code, last)};
  }
  return parse_number("the number of syncs", std::string_view(last).substr(at + kSyncs.size()));
}

Result<std::unique_ptr<stores::HubStore>> connect_hub(const std::string& url,
                                                      const std::string& token_file) {
  stores::HubOptions options;
  options.token = TRY(stores::read_token(token_file));
  const stores::HubAddress address = TRY(stores::parse_hub_url(url));
  return stores::open_hub(address, options, posix_clock());
}

}  // namespace dunlin::bench
