#include "doors/rest/server/server_options.h"

#include "base/text.h"
#include "doors/rest/server/call.h"
#include "net/listen.h"

namespace dunlin::rest {

void add_listen_option(CLI::App& command, ServerOptions& options, const std::string& variable) {
  command
      .add_option("--listen", options.listen,
                  "Address to listen on, host:port; port 0 picks a free port")
      ->envname(variable)
      ->delimiter(',')
      ->capture_default_str();
}

void add_tls_options(CLI::App& command, ServerOptions& options) {
  command.add_option("--tls-cert", options.tls_cert, "TLS certificate with its chain (PEM file)")
      ->envname("DUNLIN_TLS_CERT");
  command.add_option("--tls-key", options.tls_key, "Private key of the TLS certificate (PEM file)")
      ->envname("DUNLIN_TLS_KEY");
  command
      .add_flag("--insecure", options.insecure, "Allow listening beyond this machine without TLS")
      ->envname("DUNLIN_INSECURE");
}

void add_service_options(CLI::App& command, ServerOptions& options) {
  command
      .add_option("--public-url", options.public_url,
                  "External base URL of the REST service, if it is behind a proxy")
      ->envname("DUNLIN_PUBLIC_URL");
  command
      .add_option("--max-upload", options.max_upload, "Largest file that the REST service accepts")
      ->envname("DUNLIN_MAX_UPLOAD")
      ->capture_default_str();
}

void add_debuggable_flag(CLI::App& command, ServerOptions& options, const std::string& what) {
  command
      .add_flag("--debuggable", options.debuggable,
                "Allow debuggers of the same user into " + what + ", and core dumps")
      ->envname("DUNLIN_DEBUGGABLE");
}

Result<std::vector<net::Address>> addresses_of(const ServerOptions& options,
                                               const std::vector<std::string>& texts) {
  return net::resolve_to_listen(texts, !options.tls_cert.empty(), options.insecure);
}

Result<ServiceOptions> service_options(const ServerOptions& options,
                                       const std::optional<net::TlsContext>& tls) {
  return ServiceOptions{.tls = tls ? &*tls : nullptr,
                        .public_url = TRY(check_public_url(options.public_url)),
                        .upload_max = TRY(parse_size(options.max_upload))};
}

}  // namespace dunlin::rest
