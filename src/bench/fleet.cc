#include "bench/fleet.h"

#include <csignal>
#include <fmt/format.h>
#include <limits>

#include "bench/bench_client.h"
#include "stores/open.h"

namespace dunlin::bench {

Result<Fleet> Fleet::start(const Options& options) {
  Fleet fleet(TRY(TempFolder::make(options.folder)));
  std::string at = options.at;
  std::string token_file = options.token_file;
  if (at.empty()) {
    fleet.hub_ = TRY(HubProcess::start(own_program(), options.folder, options.ephemeral));
    at = fleet.hub_->url();
    token_file = fleet.hub_->token_file();
  }
  const auto store = TRY(stores::open_store(at, {.token_file = token_file, .make = false}));
  TRY(put_route(*store));
  for (uint32_t i = 0; i < options.instances; ++i) {
    InstanceOptions instance = options.each;
    instance.at = at;
    instance.token_file = token_file;
    instance.folder = fmt::format("{}/instance-{}", fleet.folder_.path(), i);
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

std::vector<int> Fleet::pids() const {
  std::vector<int> pids;
  for (const Child& child : instances_) pids.push_back(child.pid());
  return pids;
}

void Fleet::kill(size_t instance) {
  instances_[instance].interrupt(SIGKILL);
  instances_[instance].wait();
  std::vector<Child> left;
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (i != instance) left.push_back(std::move(instances_[i]));
  }
  instances_.swap(left);
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
  return hub_ == nullptr ? Result<uint64_t>(uint64_t{0}) : hub_->stop();
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
