// The requests of one connection, one after the other, each answered by the handler of its route.
// Blocks until the connection has ended. One thread for each connection.
#pragma once

#include <functional>

#include "doors/rest/server/call.h"
#include "doors/rest/server/connection.h"
#include "doors/rest/server/stores.h"

namespace dunlin::rest {

// What a connection waits for, if it does: a request, or the end of what its client sends in vain.
enum class Waits { no, request, in_vain };

struct ExchangeLimits {
  Millis first_max = std::chrono::seconds(10);  // To the first byte, with the handshake of TLS.
  Millis idle_max = std::chrono::seconds(60);
  Millis head_max = std::chrono::seconds(10);
  std::function<void(Waits)> waiting = [](Waits) {};  // Told when that changes.
};

// Returns when the client has left, was too slow or did not speak HTTP, or, between two requests,
// when the descriptor `stopping` can be read.
void serve_connection(Connection& connection, const Setting& setting, const ExchangeLimits& limits,
                      Stores& stores, int stopping);

}  // namespace dunlin::rest
