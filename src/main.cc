// dunlin: one program, a role for each subcommand.

#include "hub/main.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>

#include "base/exit.h"
#include "base/standard_files.h"
#include "bench/bench_command.h"
#include "client/job_command.h"
#include "client/rest_command.h"
#include "client/run_command.h"
#include "client/store_command.h"
#include "client/tenant_command.h"
#include "client/worker_command.h"
#include "hub/token_command.h"

namespace dunlin {
namespace {

int run_command(int argc, char** argv) {
  keep_standard_files();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error as a full disk is.
  CLI::App app("Runs very many tasks on anyone's machines", "dunlin");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dunlin " DUNLIN_VERSION);
  int exit_code = kExitDone;

  ServeOptions hub;
  TokenOptions token;
  JobOptions job;
  StoreOptions store;
  add_hub_command(app, hub, exit_code);
  add_token_command(app, token, exit_code);
  job.submit.words = cut_command(argc, argv);
  add_job_commands(app, job, exit_code);
  add_store_command(app, store, exit_code);
  RunVerb run;
  add_run_command(app, run, exit_code);
  WorkerVerb worker;
  add_worker_command(app, worker, exit_code);
  RestVerb rest;
  add_rest_command(app, rest, exit_code);
  TenantOptions tenant;
  add_tenant_commands(app, tenant, exit_code);
  bench::Verbs bench;
  bench::add_bench_command(app, bench, exit_code);
  app.add_subcommand("version", "Print the version")->callback([] {
    fmt::print("dunlin {}\n", DUNLIN_VERSION);
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      return report({Code::invalid, fmt::format("there is no command '{}': see `dunlin --help`",
                                                app.remaining().front())});
    }
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  try {
    return dunlin::run_command(argc, argv);
  } catch (const std::exception& error) {  // Our own code throws none: memory, threads, files.
    std::fprintf(stderr, "dunlin: cannot go on: %s\n", error.what());
    return dunlin::kExitFailed;
  }
}
