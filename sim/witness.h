// Sees every byte that enters and leaves a simulated hub, and complains (as a failure of the test)
// about what no hub may do:
//
//   - answer twice, or unasked, or with the wrong kind of answer
//   - leave a request other than a waiting pull unanswered at the end of a turn
//   - let a pull wait beyond its time or give up before, serve a later pull before an earlier one,
//     or let one wait while there are messages
//   - hand out a message whose lease has not ended, or with an attempt number that was used
//
// One thread, the world's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/network.h"
#include "store/request.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin {

// Whether this is an answer to such a request: by Request::index().
bool fits(size_t request_kind, const Answer& answer);

// Messages whose push is guarded by a row have ids that begin with this: they are never pushed
// again, so their attempts only grow. Others may come back from the start.
inline constexpr char kGuarded = 'g';

class Witness {
 public:
  void opened(LinkId link) { links_.try_emplace(link); }
  void closed(LinkId link);
  void hub_down();

  void received(LinkId link, std::string_view bytes, Instant now);
  void put_off(LinkId link);  // Some of what was last received is kept for later turns.
  void sent(LinkId link, std::string_view bytes, Instant now);

  void drains() { draining_ = true; }  // From now on nobody may wait.

  // After a turn and all that it sent. `wake`: when the hub wants the next one. `core_was_well`: it
  // refused nothing in this turn.
  void turned(Core& core, bool core_was_well, std::optional<Instant> wake, Instant now);

 private:
  using Key = std::pair<LinkId, uint64_t>;
  struct Asked {
    Request request;
    Instant received;
    uint64_t order = 0;  // Among all requests.
    uint64_t turn = 0;
    bool put_off = false;  // Its place and time in the hub are not known.
    bool ended = false;    // It may be answered before its time is over.
  };
  struct LinkState {
    FrameReader asks{FrameReader::From::client};
    FrameReader answers{FrameReader::From::hub};
    bool hello_seen = false;
    bool welcome_seen = false;
    uint64_t turn = 0;  // When something was last received.
  };
  struct Handed {
    uint32_t attempt = 0;
    Instant until;  // Not again before.
  };
  void end_waits(LinkId link, const std::string& queue);
  void answered(const Asked& asked, const Answer& answer, Instant now);
  void served(const Asked& asked, const Deliveries& deliveries, Instant now);
  void check_handed(Instant now);
  void check_waiting(const Asked& asked, Instant now);
  static void check_served(const std::string& queue, Core& core, Instant now);

  Codec codec_;
  uint64_t order_ = 0;
  uint64_t turn_ = 1;
  bool draining_ = false;
  std::map<LinkId, LinkState> links_;
  std::map<Key, Asked> asked_;              // Unanswered.
  std::map<std::string, uint64_t> served_;  // Queues: the latest request that got messages there.
  std::multimap<std::pair<std::string, uint32_t>, Instant> handed_now_;  // In this turn.
  std::map<std::string, Handed> handed_;                                 // By message.
};

}  // namespace dunlin
