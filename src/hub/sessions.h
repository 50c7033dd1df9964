// The hub's connections: bytes to requests for its mind (hub.h), the answers to bytes.
//
// A connection begins with a hello that carries a token. What is not a well-formed frame of our
// protocol ends the connection, and nothing else. A peer that asks for more than a turn can answer
// is read on only when it has its answers.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <list>
#include <string>
#include <vector>

#include "hub/hub.h"
#include "net/server.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin {

// Another one in this process that asks the same mind, under sessions of its own.
class Guest {
 public:
  virtual ~Guest() = default;

  virtual void answered(Reply&& reply, Instant now) = 0;
};

class Sessions final : public Service {
 public:
  // All must outlive it.
  Sessions(Peers& peers, Core& core, const Clock& clock, std::string admin_token,
           HubLimits limits = {})
      : peers_(peers), clock_(clock), admin_token_(std::move(admin_token)), hub_(core, limits) {}

  void opened(PeerId peer, bool crowded) override;
  Result<void> received(PeerId peer, std::string_view bytes, Instant now) override;
  Result<void> closed(PeerId peer) override;
  std::optional<Instant> turn(Instant now) override;
  void stopping() override;

  size_t waiting() const { return hub_.waiting(); }  // Pulls.

  // The mind, for a guest, who gets the answers to all sessions that are not connections here. Its
  // session ids must not be ids of peers. It must outlive the last turn().
  Hub& mind() { return hub_; }
  void invite(Guest& guest) { guest_ = &guest; }

 private:
  struct Session {
    FrameReader reader{FrameReader::From::client};
    uint64_t unread = 0;  // Bytes that are not yet part of a whole frame.
    bool crowded = false;
    bool greeted = false;
    bool refused = false;
    std::list<NumberedRequest> kept;  // For the next turns.
  };

  Result<void> greet(PeerId peer, Session& session, std::string_view frame);
  void refuse(PeerId peer, Session& session, Refused refused);
  bool ask_kept(PeerId peer, Session& session, Instant now);

  Peers& peers_;
  const Clock& clock_;
  const std::string admin_token_;
  Hub hub_;
  Codec codec_;
  absl::flat_hash_map<PeerId, Session> sessions_;
  Guest* guest_ = nullptr;
  std::vector<PeerId> keeping_;  // Sessions with `kept` requests.
};

}  // namespace dunlin
