#include "bench/fleet.h"

#include <fmt/format.h>
#include <limits>

#include "bench/bench_client.h"

namespace dunlin::bench {

Result<Fleet> Fleet::start(const Options& options) {
  Fleet fleet(TRY(HubProcess::start(own_program(), options.folder, options.ephemeral)));
  HubProcess& hub = *fleet.hub_;
  const auto store = TRY(connect_hub(hub.url(), hub.token_file()));
  TRY(put_route(*store));
  for (uint32_t i = 0; i < options.instances; ++i) {
    InstanceOptions instance = options.each;
    instance.at = hub.url();
    instance.token_file = hub.token_file();
    instance.folder = fmt::format("{}/instance-{}", hub.folder(), i);
    std::vector<std::string> words = {own_program(), "bench", "instance"};
    for (std::string& word : to_words(instance)) words.push_back(std::move(word));
    fleet.instances_.push_back(TRY(Child::start(words, {.err = instance.folder + ".log"})));
  }
  for (Child& child : fleet.instances_) TRY(child.line());
  return fleet;
}

Result<InstanceResult> Fleet::go() {
  for (Child& child : instances_) TRY(child.say("go"));
  InstanceResult all{.first = std::numeric_limits<double>::max()};
  for (Child& child : instances_) {
    const std::string line = TRY(child.line());
    all = merge(all, TRY(parse_result(line)));
  }
  return all;
}

Result<uint64_t> Fleet::stop() {
  for (Child& child : instances_) child.hang_up();
  for (Child& child : instances_) {
    if (const int code = child.wait(); code != 0) {
      return Error{Code::unavailable,
                   fmt::format("an instance ended with {}: {}", code, child.last_words())};
    }
  }
  instances_.clear();
  return hub_->stop();
}

Result<InstanceResult> run_fleet(const Fleet::Options& options) {
  Fleet fleet = TRY(Fleet::start(options));
  const InstanceResult result = TRY(fleet.go());
  TRY(fleet.stop());
  const uint64_t wanted = options.instances * options.each.work.tasks;
  if (result.results != wanted) {
    return Error{Code::invalid, fmt::format("{} of {} results came back", result.results, wanted)};
  }
  return result;
}

}  // namespace dunlin::bench
