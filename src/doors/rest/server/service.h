// HTTP/1.1 over any store: a thread for each connection, straight through from the request to the
// reply. Holds no state but open stores: any number of services may stand on one store, and each
// may be killed between any two requests.
//
// Everything is bounded: connections, heads, bodies that are kept whole and large replies (of all
// requests together, too), and the time for each. When there are too many connections, in all or
// from one address, the one that has waited for longest without a request makes room.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "doors/rest/server/route.h"
#include "doors/rest/server/stores.h"
#include "net/address.h"
#include "net/tls.h"

namespace dunlin::rest {

struct ServiceOptions {
  const net::TlsContext* tls = nullptr;  // Must outlive the service.
  std::string public_url = {};           // See Setting.
  uint64_t upload_max = uint64_t{1} << 30U;
  size_t connections_max = 1024;                // From one address three quarters of them.
  Millis first_max = std::chrono::seconds(10);  // To the first request.
  Millis idle_max = std::chrono::seconds(60);   // Between two requests.
  Millis head_max = std::chrono::seconds(10);   // From the first byte of a head to its last.
  Millis stop_max = std::chrono::seconds(5);    // For requests that run when it stops.
};

class Service {
 public:
  // The clock, the stores and the families must outlive it.
  Service(const Clock& clock, Stores& stores, const std::vector<Family>& families,
          ServiceOptions options);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Before start(). Returns the address with the port that was picked if it had none.
  Result<net::Address> listen(const net::Address& address);

  // Serves in threads of its own. When `signals` can be read (base/signals.h) it stops by itself,
  // then calls `stopped` from one of them.
  void start(int signals = -1, std::function<void()> stopped = {});

  // Takes no more connections; running requests get a while, then all are cut off. Returns when
  // nothing runs any more. From any thread, more than once.
  void stop();
  // Until it has stopped because of a signal.
  void wait();

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace dunlin::rest
