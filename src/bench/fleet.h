// Instances and a hub, each in a process of its own: one run of a workload. Calls block until the
// processes have answered. One thread, and none else when they are started.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/child.h"
#include "bench/hub_process.h"
#include "bench/instance.h"

namespace dunlin::bench {

// A worker or more beside a hub, ready. Processes are gone with it.
class Fleet {
 public:
  struct Options {
    std::string folder = {};  // Where temporary folders go.
    std::string at = {};      // A store that is there, instead of a hub of its own.
    std::string token_file = {};
    bool ephemeral = false;
    uint32_t instances = 1;
    InstanceOptions each = {};  // Without at, token_file and folder.
  };

  // Returns when all are ready.
  static Result<Fleet> start(const Options& options);

  // All begin together; returns when the last result is there.
  Result<InstanceResult> go();

  HubProcess& hub() { return *hub_; }  // REQUIRES: it has one of its own.
  std::vector<int> pids() const;       // Of the instances.
  void kill(size_t instance);          // With -9; it is not one of them any more.
  // The workers leave, then the hub; returns how often a hub of its own has waited for the disk.
  Result<uint64_t> stop();

 private:
  explicit Fleet(TempFolder folder) : folder_(std::move(folder)) {}

  TempFolder folder_;
  std::unique_ptr<HubProcess> hub_;
  std::vector<Child> instances_;
};

// Start, go, stop. `invalid` if not every task of every instance came back.
Result<InstanceResult> run_fleet(const Fleet::Options& options);

}  // namespace dunlin::bench
