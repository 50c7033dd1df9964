// What the text of a hub's token says to its holder, without the hub: whom it is bound to and until
// when it is good. Only the hub knows whether it is genuine. Pure; from any thread.
//
//   d1.<scopes>[@<owner>].<expiry: unix seconds, or 0>.<nonce>.<mac>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"

namespace dunlin {

struct TokenText {
  std::string scopes = {};
  std::string owner = {};  // Empty: it is bound to nobody.
  int64_t expires_s = 0;   // 0: never.

  bool has_expired(WallTime now) const;
};

// Nothing if the token has another form, as that of an admin.
std::optional<TokenText> parse_token_text(std::string_view token);

// The owner that the token is bound to, or nobody.
std::string owner_in_token(std::string_view token);

}  // namespace dunlin
