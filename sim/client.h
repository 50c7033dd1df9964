// A client in a simulated world: the real HubClientMind (src/wire), and what a role (sim/roles.h)
// does with it. A crash forgets everything, as a killed process does.
//
// It acts in events of the world only. One thread, the world's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "sim/checker.h"
#include "sim/events.h"
#include "sim/network.h"
#include "wire/hub_client_mind.h"

namespace dunlin {

// What all clients of a world share. All must outlive them.
struct ClientWorld {
  Events& events;
  Network& network;
  Random& random;
  Checker& ledger;
};

class Client : public Node {
 public:
  Client(ClientWorld world, uint64_t machine);

  void start() { begin(); }
  void crash();                       // And starts again, after a while.
  void retire() { retired_ = true; }  // Begins nothing new.

  // Nothing is under way.
  bool idle() const { return unanswered_.empty() && plans_ == 0; }

  using Then = std::function<void(const Answer&)>;

  // One request, one answer. Complains if it is of the wrong kind, or one that an honest client
  // should never get.
  void ask(const Request& request, Then then);

 protected:
  virtual void begin() = 0;  // At the start, and after a crash.

  // Repeats the same request as long as it may or may not have happened, or should come later.
  void insist(const Request& request, Then then);
  void later(Millis delay, std::function<void()> what);

  Millis some(uint64_t least_ms, uint64_t most_ms);
  uint64_t machine() const { return machine_; }
  std::string next_name();  // Never the same.
  bool retired() const { return retired_; }

  Random& random;
  Checker& ledger;

 private:
  void linked(LinkId link) override;
  void arrived(LinkId link, std::string_view bytes) override;
  void parted(LinkId link) override;

  void make_mind();
  void carry_out();
  void plan_wake();

  struct Unanswered {
    size_t kind = 0;  // Of the request.
    Instant by;       // When there must be an answer.
    Then then;
  };

  Events& events_;
  Network& network_;
  const uint64_t machine_;
  std::unique_ptr<HubClientMind> mind_;
  std::optional<LinkId> link_;
  std::map<uint64_t, Unanswered> unanswered_;
  std::optional<Instant> wake_;
  bool carrying_out_ = false;
  bool retired_ = false;
  uint64_t life_ = 0;   // How often it started: what was planned in another is void.
  uint64_t plans_ = 0;  // Of this life.
  uint64_t names_ = 0;
};

}  // namespace dunlin
