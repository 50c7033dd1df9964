#include "doors/rest/rest_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/inspection.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/target_options.h"
#include "doors/rest/families.h"
#include "doors/rest/server/service.h"
#include "doors/rest/token_file.h"
#include "net/listen.h"
#include "stores/open.h"

namespace dunlin::rest {
namespace {

constexpr Millis kAnswerMax = std::chrono::seconds(10);

// What opens stores, and the one token that clients need if the store knows none.
struct Access {
  rest::Stores::Open open;
  std::optional<std::string> only = {};
  std::string own = {};         // The token with which the service itself asks.
  std::string token_file = {};  // Where clients find the one token.
};

Result<Access> access_to_hub(const RestVerb& verb, const std::string& at) {
  stores::OpenOptions options = cli::open_options(verb.target);
  options.deadline = kAnswerMax;
  Access access;
  if (!options.token_file.empty()) access.own = TRY(stores::read_token(options.token_file));
  options.token_file.clear();
  access.open = [at, options](const std::string& token) {
    stores::OpenOptions with = options;
    with.token = token;
    return stores::open_store(at, with);
  };
  return access;
}

Result<Access> access_to(const RestVerb& verb, const std::string& at) {
  if (stores::is_hub_url(at)) return access_to_hub(verb, at);
  Access access;
  access.token_file = verb.target.token_file.empty() ? TRY(state_folder("rest")) + "/token"
                                                     : verb.target.token_file;
  access.only = TRY(rest::read_or_make_token(access.token_file));
  stores::OpenOptions options = cli::open_options(verb.target);
  options.token_file.clear();
  options.deadline = kAnswerMax;
  // The AsyncStore is for agents with a loop of their own.
  access.open = [connect = TRY(stores::open_access(at, options)).connect](const std::string&) {
    return connect();
  };
  return access;
}

}  // namespace

Result<int> run(const RestVerb& verb) {
  const rest::ServerOptions& server = verb.server;
  const auto addresses = TRY(addresses_of(server, server.listen));
  const auto tls = TRY(net::TlsContext::server_if(server.tls_cert, server.tls_key));
  const rest::ServiceOptions options = TRY(service_options(server, tls));
  RestVerb found = verb;
  cli::find_own_hub(found.target);
  const std::string at =
      found.target.at.empty() ? "file:" + TRY(state_folder("store")) : found.target.at;
  const int signals = watch_signals({SIGTERM, SIGINT});
  net::raise_file_limit();
  if (!server.debuggable) forbid_inspection();
  Access access = TRY(access_to(found, at));
  rest::Stores stores(access.open, access.only, posix_clock());
  stores.set_own(access.own);
  TRY(stores.own());  // A wrong address or token shows at once.
  const std::vector<rest::Family> families = rest::all_families();
  rest::Service service(posix_clock(), stores, families, options);
  // Scripts wait for these lines.
  std::string lines;
  for (const net::Address& address : addresses) {
    lines += fmt::format("http on {}://{}\n", tls ? "https" : "http",
                         TRY(service.listen(address)).text());
  }
  if (access.only) lines += fmt::format("token in {}\n", access.token_file);
  service.start(signals);
  TRY(cli::print(lines));
  std::fflush(stdout);
  service.wait();
  return kExitDone;
}

void add_rest_command(CLI::App& app, RestVerb& verb, int& exit_code) {
  CLI::App& command = *app.add_subcommand("rest", "Serve the REST service beside any store");
  command.footer(
      "Example:\n  dunlin rest --at dunlin://127.0.0.1:7070 --token-file ~/hub/token\n  dunlin "
      "rest --at postgres://me@db/lab --listen 0.0.0.0:443 --tls-cert s.pem --tls-key s.key\nFor a "
      "store without tokens, --token-file names the file with the token that clients need;\nthe "
      "service makes it if it is missing.\n");
  cli::add_store_options(command, verb.target);
  rest::add_debuggable_flag(command, verb.server, "the service");
  rest::add_listen_option(command, verb.server, "DUNLIN_REST_LISTEN");
  rest::add_tls_options(command, verb.server);
  rest::add_service_options(command, verb.server);
  command.callback([&verb, &exit_code] {
    const Result<int> ran = run(verb);
    exit_code = ran.ok() ? ran.value() : report(ran.error());
  });
}

}  // namespace dunlin::rest
