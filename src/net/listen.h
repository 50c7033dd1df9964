// Opens sockets that listen, and tunes the connections that they accept. Only resolving a name may
// block. From any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace dunlin::net {

struct Listening {
  int socket = -1;  // Never blocks; the caller closes it.
  Address address;  // With the port that was picked if there was none.
};

// All that the names stand for. `denied` if one is beyond this machine, where what is not encrypted
// can be read by others, and neither `tls` nor `insecure` is said.
Result<std::vector<Address>> resolve_to_listen(const std::vector<std::string>& texts, bool tls,
                                               bool insecure);

// An IPv6 address takes no IPv4 connections. The error says what to do about it.
Result<Listening> open_listener(const Address& address);

// Small answers leave at once; a peer whose machine is gone is noticed within a minute.
void tune_connection(int socket);

// Lets this process have as many connections as the system allows.
void raise_file_limit();

}  // namespace dunlin::net
