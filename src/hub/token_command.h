// Puts `dunlin token` on the command line: it makes a token for somebody who should not have the
// admin's. The command runs while the line is parsed. Main thread.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

namespace dunlin::hub {

struct TokenOptions {
  std::string data;  // Folder of the hub; empty: the user's own.
  std::string scopes;
  int64_t expires_s = 0;  // From now; 0: never.
  std::string owner;      // Empty: bound to nobody.
  bool aws = false;       // An access key for the AWS-compatible door instead.
};

// Adds the subcommand; it leaves its exit code in `exit_code`. REQUIRES: all outlive the parsing.
void add_token_command(CLI::App& app, TokenOptions& options, int& exit_code);

}  // namespace dunlin::hub
