// A network between clients and one hub that loses, delays and breaks, all from one seed.
//
// A link is a connection as TCP gives it: bytes arrive in order, whole or not at all, and a side
// learns of the end late. Links do not wait for each other. What can go wrong is in NetworkFaults;
// a client can also be cut off for a while, and the hub can go down with all its links.
//
// One thread, the world's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/env.h"
#include "sim/events.h"

namespace dunlin {

using LinkId = uint64_t;  // Never used for another link.

class Node {
 public:
  virtual ~Node() = default;

  virtual void linked(LinkId link) = 0;
  virtual void arrived(LinkId link, std::string_view bytes) = 0;
  virtual void parted(LinkId link) = 0;  // Or never linked. Nothing more comes.
};

// Chances in percent.
struct NetworkFaults {
  uint64_t request_breaks = 0;  // Of chunks to the hub: the link breaks there, in its middle too.
  uint64_t answer_breaks = 0;   // Of chunks to a client.
  uint64_t late = 0;            // Of breaks: the client is told, but what it sent comes later.
  uint64_t half_open = 0;       // Of breaks and crashes: the other side learns it by a timeout.
  uint64_t slow = 0;            // Of chunks: take seconds.
  uint64_t no_link = 0;         // Of tries to connect.
};

class Network {
 public:
  enum class Side { client, hub };
  static constexpr Millis kLateMax = Millis(6'000);  // What a broken link still brings.
  static constexpr Millis kConnectMax =
      std::chrono::seconds(10);  // As stores/hub/hub_store.cc has it.
  // A side that is not told that its link broke learns it by then. As the sockets are set: half a
  // minute for bytes that nobody acknowledges, a minute of silence otherwise.
  static constexpr Millis kUnnoticedMax = std::chrono::seconds(60);

  Network(Events& events, Random& random) : events_(events), random_(random) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  NetworkFaults faults;

  // Tells the client linked() or parted(). `machine` is where the client is.
  LinkId connect(uint64_t machine, Node& client);
  void send(LinkId link, Side from, std::string bytes);
  void close(LinkId link, Side by);  // What was sent arrives, mostly. No parted() for who closes.
  void crash(LinkId link, Side of);  // What was sent may be lost, and the other may not be told.

  void cut_off(uint64_t machine, Millis time);
  void heal() { cut_off_.clear(); }

  void hub_up(Node& hub) { hub_ = &hub; }
  void hub_down(bool crashed);

  size_t to_client_bytes(LinkId link) const;  // Under way.
  bool hub_hears(LinkId link) const;          // Or nothing more can come, which it may not know.

  // Depends on every byte that arrived, and when.
  uint64_t hash() const { return hash_; }

 private:
  struct Chunk {
    std::string bytes;
    bool last = false;  // The end of the link.
  };
  struct Direction {
    Node* to = nullptr;  // Null: does not know the link, or not any more.
    std::deque<Chunk> chunks;
    Instant not_before;    // For the next chunk.
    bool cut = false;      // Nothing arrives any more.
    bool closing = false;  // Nothing is sent any more.
  };
  struct Link {
    uint64_t machine = 0;
    Direction to_hub;
    Direction to_client;
  };

  void knock(LinkId id, Instant give_up);
  void put(LinkId id, Side to, Chunk chunk);
  void deliver(LinkId id, Side to);
  void break_link(LinkId id, bool half_open);
  void break_late(LinkId id);
  void tell(LinkId id, Side side, Millis delay);
  Millis timeout();
  Millis soon() { return Millis(random_.below(200)); }
  Instant healed(uint64_t machine) const;

  Link* find(LinkId id);
  static Direction& direction(Link& link, Side to) {
    return to == Side::hub ? link.to_hub : link.to_client;
  }

  Events& events_;
  Random& random_;
  Node* hub_ = nullptr;
  LinkId last_ = 0;
  std::map<LinkId, Link> links_;
  std::map<uint64_t, Instant> cut_off_;  // Machines, and until when.
  uint64_t hash_ = 0;
};

}  // namespace dunlin
