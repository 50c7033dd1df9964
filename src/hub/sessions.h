// The hub's connections: bytes to requests for its mind (hub.h), the answers to bytes.
//
// A connection begins with a hello that carries a token. What is not a well-formed frame of our
// protocol ends the connection, and nothing else. A peer that asks for more than a turn can answer
// is read on only when it has its answers. What all have begun to send and not ended has a budget,
// and who is slow about it is dropped (net/holdings.h).
//
// Blocks only as the engine does. One thread, the hub's loop.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <string>
#include <vector>

#include "base/rationed_log.h"
#include "hub/hub.h"
#include "net/holdings.h"
#include "net/server.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin::hub {

// Another one in this process that asks the same mind, under sessions of its own.
class Guest {
 public:
  virtual ~Guest() = default;

  virtual void answered(Reply&& reply, Instant now) = 0;
};

class Sessions final : public net::Service {
 public:
  // All must outlive it.
  Sessions(net::Peers& peers, Core& core, const Clock& clock, std::string admin_token,
           HubLimits limits = {})
      : peers_(peers),
        clock_(clock),
        admin_token_(std::move(admin_token)),
        hub_(core, limits),
        holdings_(limits.unread_all_max) {}

  void opened(net::PeerId peer, bool crowded) override;
  Result<void> received(net::PeerId peer, std::string_view bytes, Instant now) override;
  Result<void> closed(net::PeerId peer) override;
  std::optional<Instant> turn(Instant now) override;
  void stopping() override;

  size_t waiting() const { return hub_.waiting(); }  // Pulls.

  // The mind, for a guest, who gets the answers to all sessions that are not connections here. Its
  // session ids must not be ids of peers. It must outlive the last turn().
  HubMind& mind() { return hub_; }
  void invite(Guest& guest) { guest_ = &guest; }

 private:
  struct Session {
    FrameReader reader{FrameReader::From::client};
    uint64_t unread = 0;  // Bytes that are not yet part of a whole frame.
    bool crowded = false;
    bool greeted = false;
    bool refused = false;
    bool held_back = false;  // Until others have sent what they began.
    std::string kept;        // Frames for the next turns,
    size_t asked = 0;        // from here on.
    Rights rights;
  };

  Result<void> greet(net::PeerId peer, Session& session, std::string_view frame);
  void refuse(net::PeerId peer, Session& session, Refused refused);
  Result<void> read(net::PeerId peer, Session& session, std::string_view bytes, bool& whole,
                    Instant now);
  Result<void> take(net::PeerId peer, Session& session, std::string_view frame, Instant now);
  void account(net::PeerId peer, Session& session, bool anew, Instant now);
  void drop(net::PeerId peer, std::string_view reason);
  void ask(net::PeerId peer, const Session& session, NumberedRequest&& asked, Instant now);
  bool ask_kept(net::PeerId peer, Session& session, Instant now);
  void let_on(Instant now);

  net::Peers& peers_;
  const Clock& clock_;
  const std::string admin_token_;
  HubMind hub_;
  Codec codec_;
  absl::flat_hash_map<net::PeerId, Session> sessions_;
  Guest* guest_ = nullptr;
  std::vector<net::PeerId> keeping_;    // Sessions with `kept` requests.
  std::vector<net::PeerId> held_back_;  // In the order in which they were.
  net::Holdings holdings_;
  RationedLog refusals_{"refused connections"};
};

}  // namespace dunlin::hub
