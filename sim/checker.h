// What the clients of a simulated world were told, all of them together, and what follows from it.
// An answer that contradicts it fails the test.
//
//   - A push that was acknowledged is not lost: the message is done in the end.
//   - A message is done once: one holder's finish succeeds, that of the latest attempt.
//   - A row that was acknowledged is there for every read that begins later, and stays.
//   - Each increment of a counter happens at most once, and exactly once if acknowledged.
//
// One thread, the world's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/request.h"

namespace dunlin {

inline constexpr const char* kPushed = "pushed";  // Table: a row for each guarded push.
inline constexpr const char* kDone = "done";      // Table: a row for each message that was done.
inline constexpr const char* kCounters = "counters";

class Checker {
 public:
  // Guarded messages have ids that begin with kGuarded (witness.h).
  void push_tried(const std::string& id) { messages_[id]; }
  void push_acknowledged(const std::string& id) { messages_.at(id).pushed = true; }

  void delivered(const Delivery& delivery);
  // A lease that is not lost; `latest_before` is latest() of before the request.
  void renewed(const Lease& lease, uint32_t attempt, uint32_t latest_before);
  uint32_t latest(const std::string& id) const { return messages_.at(id).latest; }

  // A done row with this value is on its way, with a finish of this attempt.
  void finish_tried(const std::string& id, const std::string& value);
  void finish_acknowledged(const std::string& id, uint32_t attempt, const std::string& value);
  void found_done(const std::string& id);  // By someone else.

  // A counter's value is the list of its increments, each ended by a semicolon.
  void increment_tried(const std::string& increment);
  void increment_acknowledged(const std::string& key, const std::string& value);
  std::string counter(const std::string& key) const;  // As it was last acknowledged.
  static bool continues(const std::string& value, const std::string& before);

  std::vector<std::string> done() const;  // The ids whose done row was acknowledged.

  void blob_acknowledged(const std::string& name, const std::string& bytes) {
    blobs_[name] = bytes;
  }
  void blob_forgotten(const std::string& name) { blobs_.erase(name); }

  // Compares with what the store holds, when all is done.
  void check(Core& core, Instant now) const;

  // For knowing that a run was worth it.
  size_t messages() const { return messages_.size(); }
  size_t finishes() const { return finishes_; }
  size_t increments() const { return increments_acknowledged_; }

 private:
  struct MessageState {
    bool pushed = false;               // Acknowledged.
    uint32_t latest = 0;               // Attempt that was delivered.
    std::set<uint32_t> attempts;       // All that were delivered.
    std::optional<uint32_t> finished;  // Attempt whose finish was acknowledged.
    std::set<std::string> tried;       // Values for the done row.
    std::optional<std::string> done;   // The one that was acknowledged.
  };

  void check_finished(const std::string& id, const MessageState& message) const;
  void check_messages(Core& core, Instant now) const;
  void check_counters(Core& core, Instant now) const;

  std::map<std::string, MessageState> messages_;
  std::set<std::string> increments_;
  std::map<std::string, std::string> counters_;
  std::map<std::string, std::string> blobs_;
  size_t finishes_ = 0;
  size_t increments_acknowledged_ = 0;
};

}  // namespace dunlin
