#include "cli/target_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "stores/engines.h"

namespace dunlin::cli {

void add_store_options(CLI::App& command, StoreTarget& target) {
  command
      .add_option("--at", target.at,
                  fmt::format("URL of the store: {} (default: your own hub on this machine)",
                              stores::lasting_forms()))
      ->envname("DUNLIN_AT");
  command
      .add_option("--token-file", target.token_file,
                  "File with the hub's token (default: that of your own hub)")
      ->envname("DUNLIN_TOKEN_FILE");
  command
      .add_option("--tls-ca", target.tls_ca,
                  "File with the certificate authorities to trust (PEM; default: the system's)")
      ->envname("DUNLIN_TLS_CA");
  command
      .add_option("--aws-endpoint", target.aws_endpoint,
                  "Services compatible with AWS's: a URL, or sqs=URL,dynamodb=URL,s3=URL")
      ->envname("DUNLIN_AWS_ENDPOINT");
}

void add_form_options(CLI::App& command, StoreTarget& target) {
  CLI::Option* json = command.add_flag("--json", target.json, "Print one JSON object per line");
  command.add_flag("--quiet", target.quiet, "Print only the essential value")->excludes(json);
}

}  // namespace dunlin::cli
