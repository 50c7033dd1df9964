// Whether an address is this very machine: the one rule by which Dunlin speaks without TLS. A name
// or a spelling that the rule does not know is another machine. Pure; from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dunlin {

// Of an IP address as the wire has it, 4 or 16 bytes: 127/8, ::1, and 127/8 inside IPv6.
bool is_loopback(std::span<const uint8_t> address);

// Of a host as a user writes it, an IPv6 address without brackets: "localhost", or an IP address in
// its usual spelling. Looks nothing up, as what a name stands for may change.
bool is_loopback_host(std::string_view host);

}  // namespace dunlin
