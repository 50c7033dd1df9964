// dunlin: one program, a role for each subcommand.

#include "hub/main.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
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

int main(int argc, char** argv) {
  dunlin::keep_standard_files();
  CLI::App app("Runs very many tasks on anyone's machines", "dunlin");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dunlin " DUNLIN_VERSION);
  int exit_code = dunlin::kExitDone;

  dunlin::ServeOptions hub;
  dunlin::TokenOptions token;
  dunlin::JobOptions job;
  dunlin::StoreOptions store;
  dunlin::add_hub_command(app, hub, exit_code);
  dunlin::add_token_command(app, token, exit_code);
  job.submit.words = dunlin::cut_command(argc, argv);
  dunlin::add_job_commands(app, job, exit_code);
  dunlin::add_store_command(app, store, exit_code);
  dunlin::RunVerb run;
  dunlin::add_run_command(app, run, exit_code);
  dunlin::WorkerVerb worker;
  dunlin::add_worker_command(app, worker, exit_code);
  dunlin::RestVerb rest;
  dunlin::add_rest_command(app, rest, exit_code);
  dunlin::TenantOptions tenant;
  dunlin::add_tenant_commands(app, tenant, exit_code);
  dunlin::bench::Verbs bench;
  dunlin::bench::add_bench_command(app, bench, exit_code);
  app.add_subcommand("version", "Print the version")->callback([] {
    fmt::print("dunlin {}\n", DUNLIN_VERSION);
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      return dunlin::report(
          {dunlin::Code::invalid,
           fmt::format("there is no command '{}': see `dunlin --help`", app.remaining().front())});
    }
    return app.exit(error) == 0 ? dunlin::kExitDone : dunlin::kExitUsage;
  }
  return exit_code;
}
