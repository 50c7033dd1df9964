// `dunlin hub`: the store, served over the network. run_hub() blocks until the hub has stopped.
// Main thread, before any other begins.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/rest/server/server_options.h"

namespace dunlin::hub {

struct ServeOptions {
  std::string data;  // Folder; empty: the user's own.
  rest::ServerOptions server = {.listen = {"127.0.0.1:7070"}};
  std::vector<std::string> aws;   // Addresses of the AWS-compatible door; empty: there is none.
  std::vector<std::string> http;  // Addresses of the REST service; empty: there is none.
  std::string keep;         // How long jobs are kept after their end; empty: as the store says.
  std::string keep_failed;  // If a task failed, or they were cancelled or skipped.
  bool ephemeral = false;
  bool no_note = false;  // Other programs of the user are not to find it.
};

// Serves until SIGTERM or SIGINT. Everything is checked before anything is changed.
Result<void> run_hub(const ServeOptions& options);

// Adds the subcommand; it leaves its exit code in `exit_code`. REQUIRES: all outlive the parsing.
void add_hub_command(CLI::App& app, ServeOptions& options, int& exit_code);

// Where a hub keeps its data unless told otherwise: $XDG_STATE_HOME/dunlin/hub.
Result<std::string> default_data_folder();

}  // namespace dunlin::hub
