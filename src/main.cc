// dunlin: one program, a role for each subcommand.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "base/exit.h"
#include "base/printable.h"
#include "base/standard_files.h"
#include "bench/bench_command.h"
#include "cli/usage.h"
#include "client/job_command.h"
#include "doors/rest/rest_command.h"
#include "hub/hub_command.h"
#include "hub/token_command.h"
#include "run/run_command.h"
#include "run/run_words.h"
#include "store_cli/store_command.h"
#include "tenant/tenant_command.h"
#include "worker/worker_command.h"

namespace dunlin {
namespace {

// It may repeat an argument, and that may be a URL.
int report_usage(const std::string& what) {
  const bool has_url = what.find("://") != std::string::npos;
  return report({Code::invalid, has_url ? printable_url(what) : what});
}

int run_command(int argc, char** argv) {
  run::Leaving leaving;  // First, so that it goes last: what it removes is what a kill needs.
  keep_standard_files();
  std::vector<std::string> arguments(argv, argv + argc);
  cover_arguments(argc, argv);
  std::vector<char*> copies;
  for (std::string& argument : arguments) copies.push_back(argument.data());
  copies.push_back(nullptr);
  argv = copies.data();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error as a full disk is.
  CLI::App app("Run large numbers of tasks, on one machine or many", "dunlin");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dunlin " DUNLIN_VERSION);
  int exit_code = kExitDone;

  hub::ServeOptions hub;
  hub::TokenOptions token;
  client::JobOptions job;
  store_cli::StoreOptions store;
  hub::add_hub_command(app, hub, exit_code);
  hub::add_token_command(app, token, exit_code);
  job.submit.words = client::cut_command(argc, argv);
  client::add_job_commands(app, job, exit_code);
  store_cli::add_store_command(app, store, exit_code);
  run::RunVerb run;
  run::add_run_command(app, run, leaving, exit_code);
  worker::WorkerVerb worker;
  worker::add_worker_command(app, worker, exit_code);
  rest::RestVerb rest;
  rest::add_rest_command(app, rest, exit_code);
  tenant::TenantOptions tenant;
  tenant::add_tenant_commands(app, tenant, exit_code);
  bench::Verbs bench;
  bench::add_bench_command(app, bench, exit_code);
  app.add_subcommand("version", "Print the version")->callback([] {
    fmt::print("dunlin {}\n", DUNLIN_VERSION);
  });

  try {
    std::vector<std::string> words = {argv, argv + argc};
    if (const std::string wrong = cli::help_error(app, words); !wrong.empty())
      return report_usage(wrong);
    words = cli::plain_words(std::move(words));
    words.erase(words.begin());
    if (!words.empty() && words.front() == "run") {
      words.erase(words.begin());
      run.cut = run::cut_run_words(*app.get_subcommand("run"), words);
      words.insert(words.begin(), "run");
    }
    std::ranges::reverse(words);  // As the parser takes them.
    app.parse(std::move(words));
  } catch (const CLI::Success& help) {
    if (app.remaining(true).empty()) return app.exit(help);
    return report_usage(cli::usage_error(app, CLI::ExtrasError(app.remaining(true))));
  } catch (const CLI::ParseError& error) {
    return report_usage(cli::usage_error(app, error));
  }
  return exit_code;
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  try {
    const int code = dunlin::run_command(argc, argv);
    const auto flushed = dunlin::flush_standard_output();
    return flushed.ok() || code != dunlin::kExitDone ? code : dunlin::report(flushed.error());
  } catch (const std::exception& error) {  // Our own code throws none: memory, threads, files.
    std::fprintf(stderr, "dunlin: cannot go on: %s\n", error.what());
    return dunlin::kExitFailed;
  }
}
