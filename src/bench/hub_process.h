// A real hub in a process of its own, with its data in a folder of its own. Both are gone with the
// object. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/temp_folder.h"
#include "bench/child.h"
#include "stores/hub/hub_store.h"

namespace dunlin::bench {

class HubProcess {
 public:
  HubProcess(TempFolder folder, Child child)
      : folder_(std::move(folder)), child_(std::move(child)) {}

  // Returns when it listens. `program`: the dunlin to run.
  static Result<std::unique_ptr<HubProcess>> start(const std::string& program,
                                                   const std::string& parent_folder,
                                                   bool ephemeral);

  const std::string& url() const { return url_; }
  std::string token_file() const { return folder_.path() + "/data/token"; }
  const std::string& folder() const { return folder_.path(); }
  std::string pid() const { return std::to_string(child_.pid()); }

  // Ends it; returns how often it has waited for the disk in its life.
  Result<uint64_t> stop();

 private:
  TempFolder folder_;
  Child child_;
  std::string url_;
};

Result<std::unique_ptr<stores::HubStore>> connect_hub(const std::string& url,
                                                      const std::string& token_file);

}  // namespace dunlin::bench
