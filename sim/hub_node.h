// A hub in a simulated world: the real sessions and mind (src/hub) over the reference engine or the
// durable one, on a disk that can fail. It crashes, loses power, is stopped, and starts again. All
// of that happens in events of the world. One thread, the world's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "hub/sessions.h"
#include "sim/disk.h"
#include "sim/events.h"
#include "sim/failing_core.h"
#include "sim/network.h"
#include "sim/witness.h"
#include "stores/engine/engine.h"

namespace dunlin {

struct HubNodeOptions {
  bool durable = false;           // The engine on a disk; else memory that outlives the crashes.
  uint64_t commit_fails = 0;      // Percent of commits, if not durable.
  SimDisk::Faults disk_faults;    // If durable. In spells.
  bool disk_is_slow = false;      // A sync takes up to a second.
  hub::HubLimits limits;          // Of one connection.
  size_t unsent_max = SIZE_MAX;   // A peer with more to take is not read.
  Millis gather_max = Millis(3);  // From the first thing that arrives to the turn.
};

class HubNode final : public Node, public net::Peers {
 public:
  static constexpr const char* kToken = "the-admin-token-of-a-simulated-hub";
  static constexpr Millis kGreetMax = net::ServerLimits{}.greet_max;

  HubNode(Events& events, Network& network, Random& random, const HubNodeOptions& options);

  void start();  // Tries again later if the disk is not there.
  bool up() const { return sessions_ != nullptr; }

  // Ends at once: a kill, or a power loss. After `down` it starts again.
  void crash(Millis down);
  // In the middle of a turn that is to come: of its disk calls, or before its answers leave.
  void crash_in_turn(Millis down);
  // Answers what it has, then ends. After `down` it starts again.
  void stop(Millis down);

  void start_disk_faults();
  void end_disk_faults();
  void end_all_faults();

  // REQUIRES: up()
  Core& core() { return *core_; }

 private:
  struct Peer {
    std::string out;
    std::string held;  // Arrived, but not read.
    bool paused = false;
    bool greeted = false;
  };

  void linked(LinkId link) override;
  void arrived(LinkId link, std::string_view bytes) override;
  void parted(LinkId link) override;

  std::string* outgoing(net::PeerId peer) override;
  void greeted(net::PeerId peer) override { peers_.at(peer).greeted = true; }
  void pause(net::PeerId peer, bool paused) override { peers_.at(peer).paused = paused; }
  bool clogged(net::PeerId peer) const override;
  void finish(net::PeerId peer) override;
  void drop(net::PeerId peer, std::string_view reason) override;
  std::string name_of(net::PeerId peer) const override { return "link " + std::to_string(peer); }

  bool open_core();
  void go_down(bool crashed, Millis down);
  void receive(LinkId link, Peer& peer, std::string_view bytes);
  bool read_held();  // Says whether there was something.
  void wake_at(Instant when);
  void turn();
  void part_dropped();
  void speak();

  Events& events_;
  Network& network_;
  Random& random_;
  const HubNodeOptions options_;
  SimDisk disk_;
  std::unique_ptr<FailingCore> memory_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<WatchedCore> core_;
  std::unique_ptr<hub::Sessions> sessions_;
  std::map<LinkId, Peer> peers_;
  std::vector<LinkId> dropped_;  // In this turn.
  Witness witness_;

  uint64_t life_ = 0;            // How often it started: what was planned in another is void.
  std::optional<Instant> wake_;  // The turn that is planned.
  Instant busy_until_;           // The disk works for it.
  Millis synced_for_ = Millis(0);
  std::optional<Millis> crash_in_turn_;
};

}  // namespace dunlin
