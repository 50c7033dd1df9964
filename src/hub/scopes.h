// What the holder of a token may ask of a hub. Pure.
//
//   read     look: get, scan, depth, blobs, info
//   submit   read, and write; take messages only from queues named reply.*
//   worker   submit, and take messages from any queue, erase blobs
//   admin    everything
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/request.h"

namespace dunlin {

enum class Scope : uint8_t { read = 1, submit = 2, worker = 4, admin = 8 };

class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr Scopes(Scope scope) : bits_(static_cast<uint8_t>(scope)) {}

  constexpr Scopes operator|(Scopes other) const {
    Scopes both;
    both.bits_ = static_cast<uint8_t>(bits_ | other.bits_);
    return both;
  }
  constexpr bool has(Scope scope) const { return (bits_ & static_cast<uint8_t>(scope)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const Scopes&) const = default;

 private:
  uint8_t bits_ = 0;
};

// Names in a fixed order with commas: "read,submit".
std::string to_text(Scopes scopes);

// `invalid` if a name is unknown or there is none.
Result<Scopes> parse_scopes(std::string_view text);

// Queues from which a submitter may take messages: the answers to what it submitted.
inline constexpr std::string_view kReplyPrefix = "reply.";

// `denied` says which scope is missing and how to get it.
Result<void> allows(Scopes scopes, const Request& request);

}  // namespace dunlin
