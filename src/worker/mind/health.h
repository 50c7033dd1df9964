// Whether tasks can be started on this machine: one that could not start several in a row has a
// fault of its own. It rests, then tries one, and rests twice as long if that fails as well. Pure.
// One thread; the asks outlive it.
#pragma once

#include <cstdint>
#include <string>

#include "worker/mind/asks.h"

namespace dunlin::worker {

class Health {
 public:
  explicit Health(Asks& asks) : asks_(asks) {}
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void could_not_start(const std::string& why);  // By no fault of the task.
  void ran();

  bool resting() const { return asks_.now().at < rests_until_; }
  // The last reason, once there were too many. Empty: it is well.
  const std::string& trouble() const { return trouble_; }
  bool is_well() const { return trouble_.empty(); }

 private:
  Asks& asks_;
  uint32_t faults_ = 0;  // Tasks in a row that could not be started here.
  std::string trouble_;
  Millis rest_ = Millis(0);  // How long the next rest lasts.
  Instant rests_until_;
};

}  // namespace dunlin::worker
