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

#include "doors/aws/call/call.h"
#include "doors/aws/call/door_host.h"
#include "doors/aws/call/later.h"
#include "net/holdings.h"
#include "net/server.h"

namespace dunlin::aws {

class Door final : public net::Service {
 public:
  static constexpr size_t kKeptMax = 128 << 20;

  // All must outlive it. `tls`: clients speak TLS with whoever carries the bytes. `kept_max`: bytes
  // of all requests that are not here whole; who is slow about one is dropped (net/holdings.h).
  Door(net::Peers& peers, DoorHost& host, const Clock& clock, bool tls, size_t kept_max = kKeptMax);
  ~Door() override;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  void opened(net::PeerId peer, bool crowded) override;
  Result<void> received(net::PeerId peer, std::string_view bytes, Instant now) override;
  Result<void> closed(net::PeerId peer) override;
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

  void advance(net::PeerId peer);
  bool step(net::PeerId peer, Connection& connection);
  void begin(net::PeerId peer, Connection& connection, http::HttpHead&& head);
  void gather(net::PeerId peer, Connection& connection);
  void settle_session(net::PeerId peer, Connection& connection);
  void settle(net::PeerId peer, Connection& connection);
  void erase(net::PeerId peer);
  void account(net::PeerId peer, Connection& connection);
  void let_on();
  void drop_the_slow();
  std::optional<Instant> next_look() const;
  void ask(uint64_t session, uint64_t id, Request&& request);
  void ask_kept();
  void forget_some();
  void release(const std::string& blob);
  void sweep(std::string after);
  void swept(const Rows& rows);

  net::Peers& peers_;
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
  net::Holdings holdings_;
  std::vector<net::PeerId> held_back_;  // Until others have sent what they began.
  Instant sweep_at_;                    // For connections that say nothing.
  absl::flat_hash_map<net::PeerId, std::unique_ptr<Connection>> connections_;
  absl::flat_hash_map<uint64_t, net::PeerId> sessions_;
  absl::flat_hash_set<net::PeerId> clogged_;  // Wait until their clients take more.
};

}  // namespace dunlin::aws
