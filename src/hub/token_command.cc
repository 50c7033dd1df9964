#include "hub/token_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <map>

#include "base/env_posix.h"
#include "base/exit.h"
#include "hub/access/aws_keys.h"
#include "hub/access/token.h"
#include "hub/hub_command.h"

namespace dunlin::hub {
namespace {

constexpr int64_t kDay = 86'400;

Result<std::string> token_for(const TokenOptions& options) {
  const Scopes scopes = TRY(parse_scopes(options.scopes));
  if (options.expires_s < 0 || options.expires_s > 36'500 * kDay) {
    return Error{Code::invalid, "--expires must be between 1s and 36500d, or 0 for never"};
  }
  if (options.aws && !options.owner.empty()) {
    return Error{Code::invalid,
                 "the AWS-compatible door has no owners: leave out --owner or --aws"};
  }
  const std::string folder = options.data.empty() ? TRY(default_data_folder()) : options.data;
  const Result<std::string> admin = read_admin_token(folder);
  if (!admin.ok() && admin.error().code == Code::not_found) {
    return Error{
        Code::not_found,
        fmt::format(
            "there is no {}: name with --data the data folder of a hub that has been started once",
            token_path(folder))};
  }
  const auto now = std::chrono::floor<std::chrono::seconds>(posix_clock().wall());
  const int64_t expires_s =
      options.expires_s == 0 ? 0 : now.time_since_epoch().count() + options.expires_s;
  const std::string secret = TRY(admin);
  if (options.aws) return to_text(make_aws_key(secret, scopes, expires_s));
  const std::string token = TRY(make_token(secret, scopes, expires_s, options.owner));
  return token + "\n";
}

}  // namespace

void add_token_command(CLI::App& app, TokenOptions& options, int& exit_code) {
  const std::map<std::string, int64_t> units = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", kDay}};
  CLI::App* command = app.add_subcommand("token", "Make a token with limited rights");
  command->footer(
      "Example:\n  dunlin token --data ~/hub --scope submit,read --expires 30d\n"
      "  dunlin token --data ~/hub --scope submit --owner ann\n");
  command
      ->add_option("--data", options.data, "Data folder of the hub (default: in your state folder)")
      ->envname("DUNLIN_DATA");
  command
      ->add_option("--scope", options.scopes,
                   "What the token allows: read, submit, worker or admin; several with commas")
      ->envname("DUNLIN_SCOPE")
      ->required();
  command
      ->add_option("--expires", options.expires_s,
                   "How long the token is valid: 90s, 5m, 2h, 30d (default: for ever)")
      ->envname("DUNLIN_EXPIRES")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE));
  command
      ->add_option("--owner", options.owner,
                   "Bind the token to this owner: it shows and steers only jobs that were "
                   "submitted with tokens of the same owner")
      ->envname("DUNLIN_TOKEN_OWNER");
  command
      ->add_flag("--aws", options.aws,
                 "Make an access key for the hub's AWS-compatible door instead")
      ->envname("DUNLIN_AWS_KEY");
  command->callback([&options, &exit_code] {
    const Result<std::string> token = token_for(options);
    exit_code = token.ok() ? kExitDone : report(token.error());
    if (token.ok()) fmt::print("{}", token.value());
  });
}

}  // namespace dunlin::hub
