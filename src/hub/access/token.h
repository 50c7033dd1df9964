// Tokens: who may ask a hub for what.
//
// The admin token is a secret in DIR/token. All others are derived from it and need no state:
//
//   d1.<scopes>[@<owner>].<expiry: unix seconds, or 0>.<nonce>.<mac>
//
// (see wire/token_text.h), where the mac is HMAC-SHA256 of all before its dot, keyed by the admin
// token. A derived token cannot be revoked alone; a new admin token revokes all.
//
// A token with an owner shows and steers what is that owner's, and no more; its scopes are read and
// submit only.
//
// From any thread. Functions that take a folder block on the disk; make_token() takes random
// numbers.
#pragma once

#include <string>
#include <string_view>

#include "base/env.h"
#include "hub/access/rights.h"

namespace dunlin::hub {

// A derived token. Expires at `expires_s` (unix seconds), never if that is 0. `invalid` if nobody
// can be bound to such an owner, or with such scopes.
Result<std::string> make_token(std::string_view admin, Scopes scopes, int64_t expires_s,
                               std::string_view owner = {});

// What a token allows at `now`. `denied` if it is not ours or has expired. The time it takes tells
// nothing about the secret.
Result<Rights> check_token(std::string_view admin, std::string_view token, WallTime now);

// The admin token of a data folder. `not_found` if there is none; `denied` if others than its owner
// may read the file.
Result<std::string> read_admin_token(const std::string& folder);

// The same, made first if there is none: mode 0600, durable. REQUIRES: the folder exists.
Result<std::string> read_or_make_admin_token(const std::string& folder);

std::string token_path(const std::string& folder);

}  // namespace dunlin::hub
