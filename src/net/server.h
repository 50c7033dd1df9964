// TCP, served by one loop in one thread: bytes in, bytes out. What they mean is the Service's.
//
// A turn of the loop: gather what arrived, once from each peer and only so much; Service::turn();
// send, once to each peer. Between its turns a peer costs no buffer.
//
// Nobody can hold up the others: a peer that does not read its answers is not read either, and is
// dropped when it takes nothing for a while, as is one that does not greet in time and one whose
// machine is gone. When there are too many, in all or of one address, the one that has not greeted
// for longest makes room. A peer that is dropped for cause is a line in the log, as long as they
// are not a flood.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "net/address.h"
#include "net/tls.h"

namespace dunlin::net {

using PeerId = uint64_t;  // Never used for another connection.

struct ServerLimits {
  size_t peers_max = 20'000;
  size_t strangers_max = 5'000;       // Peers of one address that have not greeted.
  size_t read_max = 1 << 20;          // From one peer in a turn.
  size_t gather_max = 64 << 20;       // From all peers in a turn, about.
  size_t unsent_max = 8 << 20;        // A peer with more to take is not read.
  size_t unsent_all_max = 512 << 20;  // With more in all, no peer that has to take some is read.
  Millis greet_max = Millis(10'000);  // Until Server::greeted().
  Millis stall_max = Millis(30'000);  // Without taking a byte while there are some.
  Millis linger_max = Millis(2'000);  // For the last words to a peer that is let go.
  Millis stop_max = Millis(5'000);    // For the last answers to all.
};

class Service {
 public:
  virtual ~Service() = default;

  // `crowded`: there are too many; tell it so and finish() it.
  virtual void opened(PeerId peer, bool crowded) = 0;

  // An error drops the peer.
  virtual Result<void> received(PeerId peer, std::string_view bytes, Instant now) = 0;

  // An error says that the peer left in the middle of something.
  virtual Result<void> closed(PeerId peer) = 0;

  // Returns when it wants another turn even if nothing is received; not later than now: at once.
  virtual std::optional<Instant> turn(Instant now) = 0;

  // Nothing more will be received; the loop ends when turn() wants no other turn at once.
  virtual void stopping() = 0;
};

// What a Service may ask of whoever carries its bytes: the Server, or a simulated network.
class Peers {
 public:
  virtual ~Peers() = default;

  // What waits to go out to a peer, to append to; nothing if the peer is gone.
  virtual std::string* outgoing(PeerId peer) = 0;
  virtual void greeted(PeerId peer) = 0;
  virtual void pause(PeerId peer, bool paused) = 0;  // While paused nothing is received from it.
  virtual bool clogged(PeerId peer) const = 0;       // It has more than unsent_max to take.
  virtual void finish(PeerId peer) = 0;  // Receives no more; closed when all has gone out.
  // Closed after this turn, without another word. Nothing more is received from it.
  virtual void drop(PeerId peer, std::string_view /*reason*/) { finish(peer); }
  virtual std::string name_of(PeerId peer) const = 0;
};

class Server final : public Peers {
 public:
  // Speaks TLS if there is a context, which must outlive it, as must the clock.
  Server(const Clock& clock, const TlsContext* tls, ServerLimits limits = {});
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the address with the port that was picked if it had none. Peers that come there are
  // those of `service`, which must outlive run(); without one, of the service of run(). `plain`:
  // they do not speak TLS, even if others do.
  Result<Address> listen(const Address& address, Service* service = nullptr, bool plain = false);

  // Serves until stop(). Then answers what was received, within stop_max. In a turn of the loop the
  // services of addresses have theirs before this one.
  void run(Service& service);

  // The only call that may come from another thread, also before run().
  void stop();

  // Such a signal is a stop(); a second one has its usual effect.
  void stop_on(const std::vector<int>& signals);

  // For the Service.
  std::string* outgoing(PeerId peer) override;
  void greeted(PeerId peer) override;
  void pause(PeerId peer, bool paused) override;
  bool clogged(PeerId peer) const override;
  void finish(PeerId peer) override;
  void drop(PeerId peer, std::string_view reason) override;
  std::string name_of(PeerId peer) const override;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace dunlin::net
