// Messages of SQS that were sent with a delay: rows of a table in the order in which they are due,
// each moved to its queue in one commit when it is. By the wall clock, so that a delay goes on
// while the hub is down. Pure but for what it asks of its host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/request.h"

namespace dunlin::aws {

class DoorHost;

inline constexpr std::string_view kLaterTable = "aws.sqs.later";

std::string queue_of_later(const Row& row);
Put put_later(std::string_view queue, const Message& message, int64_t due_ms);

class Later {
 public:
  // Ids of what it asks.
  static constexpr uint64_t kLookId = 2;
  static constexpr uint64_t kMoveId = 3;

  // A message is due at that time.
  void note(int64_t due_ms) { due_ms_ = due_ms_ ? std::min(*due_ms_, due_ms) : due_ms; }

  // Asks under `session`. Returns when it wants another turn.
  std::optional<Instant> turn(DoorHost& host, uint64_t session, Instant now, WallTime wall);
  void answered(DoorHost& host, uint64_t session, uint64_t id, const Answer& answer, Instant now,
                WallTime wall);

 private:
  std::optional<int64_t> due_ms_ = 0;  // When to look; at once in the beginning.
  bool looking_ = false;
};

}  // namespace dunlin::aws
