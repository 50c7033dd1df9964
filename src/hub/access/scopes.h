// The scopes of tokens. Each includes those before it. What exactly they allow, table by table:
// hub/access/table_rules.h and docs/SECURITY.md. Pure.
//
//   read     look: get, scan, depth, blobs, info
//   submit   read, and what submitting and steering jobs writes; take replies
//   worker   submit, and what running tasks writes; take messages, erase blobs
//   admin    everything
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin::hub {

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

  // Whether one of them is this one, or includes it.
  constexpr bool reach(Scope least) const { return bits_ >= static_cast<uint8_t>(least); }

 private:
  uint8_t bits_ = 0;
};

std::string_view name_of(Scope scope);

// Names in a fixed order with commas: "read,submit".
std::string to_text(Scopes scopes);

// `invalid` if a name is unknown or there is none.
Result<Scopes> parse_scopes(std::string_view text);

// Queues from which a submitter may take messages: the answers to what it submitted.
inline constexpr std::string_view kReplyPrefix = "reply.";

}  // namespace dunlin::hub
