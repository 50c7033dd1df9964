// `dunlin rest`: the REST service beside any store. run() returns when a signal has stopped the
// service. Main thread, before any other begins.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/store_target.h"

namespace dunlin {

struct RestVerb {
  StoreTarget target = {};
  std::vector<std::string> listen = {"127.0.0.1:7071"};
  std::string tls_cert = {};
  std::string tls_key = {};
  bool insecure = false;
  bool debuggable = false;  // See base/inspection.h.
  std::string public_url = {};
  std::string max_upload = "1G";
};

Result<int> run(const RestVerb& verb);

void add_rest_command(CLI::App& app, RestVerb& verb, int& exit_code);

}  // namespace dunlin
