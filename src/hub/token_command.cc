#include "hub/token_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <map>

#include "base/env_posix.h"
#include "base/exit.h"
#include "hub/aws_keys.h"
#include "hub/hub_command.h"
#include "hub/token.h"

namespace dunlin {
namespace {

constexpr int64_t kDay = 86'400;

Result<std::string> token_for(const TokenOptions& options) {
  const Scopes scopes = TRY(parse_scopes(options.scopes));
  if (options.expires_s < 0 || options.expires_s > 36'500 * kDay) {
    return Error{Code::invalid, "--expires must be between 1s and 36500d, or 0 for never"};
  }
  if (options.aws && !options.owner.empty()) {
    return Error{Code::invalid,
                 "the AWS-compatible door knows no owners: leave out --owner or --aws"};
  }
  const std::string folder = options.data.empty() ? TRY(default_data_folder()) : options.data;
  const Result<std::string> admin = read_admin_token(folder);
  if (!admin.ok() && admin.error().code == Code::not_found) {
    return Error{Code::not_found,
                 fmt::format("there is no {}: give the data folder of a hub that was started once "
                             "with --data",
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
  CLI::App* command = app.add_subcommand("token", "Make a token that allows only some things");
  command->footer(
      "Example:\n  dunlin token --data ~/hub --scope submit,read --expires 30d\n"
      "  dunlin token --data ~/hub --scope submit --owner ann\n");
  command
      ->add_option("--data", options.data, "Folder of the hub (default: the user's state folder)")
      ->envname("DUNLIN_DATA");
  command->add_option("--scope", options.scopes, "Some of read,submit,worker,admin")
      ->envname("DUNLIN_SCOPE")
      ->required();
  command->add_option("--expires", options.expires_s, "Time until it ends, e.g. 90s 5m 2h 30d")
      ->envname("DUNLIN_EXPIRES")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE));
  command
      ->add_option("--owner", options.owner,
                   "Bind it to this owner: it shows and steers what was submitted with tokens of "
                   "the same owner, and nothing else")
      ->envname("DUNLIN_TOKEN_OWNER");
  command->add_flag("--aws", options.aws, "An access key for the AWS-compatible door of the hub")
      ->envname("DUNLIN_AWS_KEY");
  command->callback([&options, &exit_code] {
    const Result<std::string> token = token_for(options);
    exit_code = token.ok() ? kExitDone : report(token.error());
    if (token.ok()) fmt::print("{}", token.value());
  });
}

}  // namespace dunlin
