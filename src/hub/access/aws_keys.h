// Access keys of the AWS-compatible door. Like tokens they are derived from the hub's admin token
// and need no state: the key id says what it allows and until when,
//
//   DUNLIN <scopes: a hex digit> <expiry: unix seconds, 9 hex digits, or 0> <nonce: 12 hex digits>
//
// and the secret is HMAC-SHA256 of it, keyed by the admin token. Whoever changes the id does not
// know its secret. One key cannot be revoked alone; a new admin token revokes all.
//
// From any thread. Pure, except that a fresh key takes random numbers, and that writing a key to a
// file blocks on the disk.
#pragma once

#include <string>
#include <string_view>

#include "aws_protocol/sigv4.h"
#include "base/env.h"
#include "hub/access/rights.h"

namespace dunlin::hub {

// A fresh one. Expires at `expires_s` (unix seconds), never if that is 0.
aws::Credentials make_aws_key(std::string_view admin, Scopes scopes, int64_t expires_s);

// What a key allows at `now`. `denied` if it is not of this form or has expired.
Result<Rights> check_aws_key(std::string_view key_id, WallTime now);

std::string aws_secret(std::string_view admin, std::string_view key_id);

// In the form of the shared credentials file of AWS's tools.
std::string to_text(const aws::Credentials& credentials);

// Writes the admin's key to a file beside the admin token, mode 0600; the same one each time.
Result<void> write_aws_credentials(const std::string& folder, std::string_view admin);
std::string aws_credentials_path(const std::string& folder);

}  // namespace dunlin::hub
