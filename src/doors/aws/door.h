// The AWS-compatible door of a hub: SQS, DynamoDB and S3 over the hub's own store, for programs
// that use AWS's SDKs. A Service beside the native one, on the same loop and thread.
//
// A connection carries one request at a time; each is checked (SigV4) before anything is done. What
// a key allows is the hub's to say: the door asks under a session with the rights of the key.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doors/aws/call.h"
#include "doors/aws/later.h"
#include "net/holdings.h"
#include "net/server.h"

namespace dunlin::aws {

// The hub, as the door sees it.
class DoorHost {
 public:
  virtual ~DoorHost() = default;

  // The secret that belongs to an access key. `denied` if it is none of this hub or has expired.
  virtual Result<std::string> secret_of(std::string_view key_id, WallTime now) = 0;

  // A session with the rights of a key that secret_of() knew; an empty one: all rights.
  virtual uint64_t open(std::string_view key_id, WallTime now) = 0;
  virtual void close(uint64_t session) = 0;  // What it asked is forgotten.

  // `denied` names the one scope that all of these need. REQUIRES: the session is open.
  virtual Result<void> may(uint64_t session, const std::vector<Request>& requests) const = 0;

  // Has as much to answer in this turn as one should hold: what it would ask is better kept.
  virtual bool busy(uint64_t session) const = 0;

  // Door::answered() comes with the same id, in a later turn.
  virtual void ask(uint64_t session, uint64_t id, Request&& request, Instant now) = 0;
};

class Door final : public Service {
 public:
  static constexpr size_t kKeptMax = 128 << 20;

  // All must outlive it. `tls`: clients speak TLS with whoever carries the bytes. `kept_max`: bytes
  // of all requests that are not here whole; who is slow about one is dropped (net/holdings.h).
  Door(Peers& peers, DoorHost& host, const Clock& clock, bool tls, size_t kept_max = kKeptMax);
  ~Door() override;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  void opened(PeerId peer, bool crowded) override;
  Result<void> received(PeerId peer, std::string_view bytes, Instant now) override;
  Result<void> closed(PeerId peer) override;
  std::optional<Instant> turn(Instant now) override;
  void stopping() override { stopping_ = true; }

  void answered(uint64_t session, uint64_t id, Answer&& answer, Instant now);

 private:
  class Exchange;
  struct Connection;
  struct Kept {
    uint64_t session = 0;
    uint64_t id = 0;
    Request request;
  };

  void advance(PeerId peer);
  bool step(PeerId peer, Connection& connection);
  void begin(PeerId peer, Connection& connection, HttpHead&& head);
  void gather(PeerId peer, Connection& connection);
  void settle_session(PeerId peer, Connection& connection);
  void settle(PeerId peer, Connection& connection);
  void erase(PeerId peer);
  void account(PeerId peer, Connection& connection);
  void let_on();
  void drop_the_slow();
  std::optional<Instant> next_look() const;
  void ask(uint64_t session, uint64_t id, Request&& request);
  void ask_kept();
  void forget_some();
  void release(const std::string& blob);
  void sweep(std::string after);
  void swept(const Rows& rows);

  Peers& peers_;
  DoorHost& host_;
  const Clock& clock_;
  const bool tls_;
  Instant now_;
  bool stopping_ = false;
  uint64_t last_number_ = 0;
  std::optional<uint64_t> own_session_;  // For what the door does by itself.
  Later later_;
  std::deque<Kept> kept_;              // For the next turns, in the order in which they came.
  const std::string blob_prefix_;      // Of names that this door gives.
  std::deque<std::string> to_forget_;  // Blobs.
  absl::flat_hash_map<std::string, size_t> held_;  // Blobs, and by how many.
  absl::flat_hash_set<std::string> forget_later_;  // Some of those.
  size_t forgetting_ = 0;                          // Asked and not answered.
  bool swept_ = false;                             // Has begun to.
  Holdings holdings_;
  std::vector<PeerId> held_back_;  // Until others have sent what they began.
  Instant sweep_at_;               // For connections that say nothing.
  absl::flat_hash_map<PeerId, std::unique_ptr<Connection>> connections_;
  absl::flat_hash_map<uint64_t, PeerId> sessions_;
  absl::flat_hash_set<PeerId> clogged_;  // Wait until their clients take more.
};

}  // namespace dunlin::aws
