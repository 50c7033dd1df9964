#include "tenant/tenant_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/verb_adder.h"

namespace dunlin::tenant {
namespace {

void add_verb_add(CLI::App& tenant, TenantAddVerb& verb, cli::VerbAdder& adder) {
  CLI::App& command = adder.add(tenant, "add", "Make a tenant, and print its secret once",
                                "dunlin tenant add physics --max-partitions 40", verb);
  command.add_option("NAME", verb.name)->required();
  command
      .add_option("--init-partitions", verb.init_partitions,
                  "Partitions that a job begins with, unless its file says otherwise")
      ->capture_default_str();
  command
      .add_option("--max-partitions", verb.max_partitions,
                  "The most partitions that a job may have")
      ->capture_default_str();
  command
      .add_option("--scale-time", verb.scale_time,
                  "How often infrastructures get new advice; one that is silent for twice as long "
                  "is not counted, and for five times as long is forgotten")
      ->capture_default_str();
  command
      .add_option("--timeout", verb.timeout,
                  "Give up a job whose partitions are all silent for this long")
      ->capture_default_str();
  command
      .add_option("--start-time", verb.start_time,
                  "Hand out a partition again if it does not start within this time, or if its "
                  "results are missing this long after its end")
      ->capture_default_str();
}

}  // namespace

void add_tenant_commands(CLI::App& app, TenantOptions& options, int& exit_code) {
  CLI::App& tenant = *app.add_subcommand("tenant", "Manage the tenants of the REST service");
  tenant.require_subcommand(1);
  cli::VerbAdder adder(options.targets, exit_code);
  add_verb_add(tenant, options.add, adder);
  adder.add(tenant, "list", "List the tenants", "dunlin tenant list", options.list);

  CLI::App& remove = adder.add(tenant, "remove", "Remove a tenant, its jobs and its files",
                               "dunlin tenant remove physics", options.remove);
  remove.add_option("NAME", options.remove.name)->required();

  CLI::App& put =
      adder.add(tenant, "put", "Store files in input/; a file NAME.config becomes a job",
                "dunlin tenant put physics water.in water.config", options.put);
  put.add_option("NAME", options.put.name)->required();
  put.add_option("FILE", options.put.files)->required();
  put.add_flag("--again", options.put.again, "Make another job of a job file that was put before");

  CLI::App& get = adder.add(tenant, "get", "Print a file, or write it to OUT",
                            "dunlin tenant get physics output/results/JOB/worker-0/results.dat -o "
                            "results.dat",
                            options.get);
  get.add_option("NAME", options.get.name)->required();
  get.add_option("KEY", options.get.key)->required();
  get.add_option("--output,-o", options.get.file, "File to write to (default: standard output)");

  CLI::App& files =
      adder.add(tenant, "files", "List the files", "dunlin tenant files physics", options.files);
  files.add_option("NAME", options.files.name)->required();

  CLI::App& jobs =
      adder.add(tenant, "jobs", "Show what became of the job files, or the partitions of a job",
                "dunlin tenant jobs physics --json", options.jobs);
  jobs.add_option("NAME", options.jobs.name)->required();
  jobs.add_option("JOB", options.jobs.job);

  adder.add(app, "infra", "List the infrastructures of all tenants", "dunlin infra --json",
            options.infra);
}

}  // namespace dunlin::tenant
