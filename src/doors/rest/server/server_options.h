// The options that `dunlin hub` and `dunlin rest` share: where to listen, TLS, and what clients of
// the REST service see. Here are their names, texts, environment and meaning. One thread.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/rest/server/service.h"
#include "net/address.h"
#include "net/tls.h"

namespace dunlin::rest {

struct ServerOptions {
  std::vector<std::string> listen;
  std::string tls_cert = {};  // Empty: without TLS.
  std::string tls_key = {};
  bool insecure = false;
  bool debuggable = false;      // See base/inspection.h.
  std::string public_url = {};  // See Setting.
  std::string max_upload = "1G";
};

// --listen, with a variable of the environment of its own. REQUIRES, as for those that follow:
// `options` outlives the parsing.
void add_listen_option(CLI::App& command, ServerOptions& options, const std::string& variable);
// --tls-cert, --tls-key, --insecure.
void add_tls_options(CLI::App& command, ServerOptions& options);
// --public-url, --max-upload.
void add_service_options(CLI::App& command, ServerOptions& options);
// --debuggable; `what` is what debuggers get into: "the hub".
void add_debuggable_flag(CLI::App& command, ServerOptions& options, const std::string& what);

// The addresses that `texts` stand for; see resolve_to_listen().
Result<std::vector<net::Address>> addresses_of(const ServerOptions& options,
                                               const std::vector<std::string>& texts);
// `tls` must outlive the service.
Result<ServiceOptions> service_options(const ServerOptions& options,
                                       const std::optional<net::TlsContext>& tls);

}  // namespace dunlin::rest
