// `dunlin rest`: the REST service beside any store. run() returns when a signal has stopped the
// service. Main thread, before any other begins.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/store_target.h"
#include "doors/rest/server/server_options.h"

namespace dunlin::rest {

struct RestVerb {
  cli::StoreTarget target = {};
  rest::ServerOptions server = {.listen = {"127.0.0.1:7071"}};
};

Result<int> run(const RestVerb& verb);

void add_rest_command(CLI::App& app, RestVerb& verb, int& exit_code);

}  // namespace dunlin::rest
