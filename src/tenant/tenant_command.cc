#include "tenant/tenant_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/verb_adder.h"

namespace dunlin {
namespace {

void add_verb_add(CLI::App& tenant, TenantAddVerb& verb, VerbAdder& adder) {
  CLI::App& command = adder.add(tenant, "add", "Make a tenant; prints its secret, once",
                                "dunlin tenant add physics --max-partitions 40", verb);
  command.add_option("NAME", verb.name)->required();
  command.add_option("--init-partitions", verb.init_partitions, "Of a job that does not say")
      ->capture_default_str();
  command.add_option("--max-partitions", verb.max_partitions, "Of a job, in the end")
      ->capture_default_str();
  command
      .add_option("--scale-time", verb.scale_time,
                  "How often infrastructures get new advice; twice as long without a sign of life "
                  "and one is not counted on, five times and it is forgotten")
      ->capture_default_str();
  command
      .add_option("--timeout", verb.timeout, "A job that nobody hears of for so long is given up")
      ->capture_default_str();
  command
      .add_option("--start-time", verb.start_time,
                  "A partition that does not start for so long is handed out again, and one "
                  "whose results are missing for so long after its end")
      ->capture_default_str();
}

}  // namespace

void add_tenant_commands(CLI::App& app, TenantOptions& options, int& exit_code) {
  CLI::App& tenant = *app.add_subcommand("tenant", "Who may use the REST service's /node and /lb");
  tenant.require_subcommand(1);
  VerbAdder adder(options.targets, exit_code);
  add_verb_add(tenant, options.add, adder);
  adder.add(tenant, "list", "List the tenants", "dunlin tenant list", options.list);

  CLI::App& remove = adder.add(tenant, "remove", "Remove a tenant, its jobs and its files",
                               "dunlin tenant remove physics", options.remove);
  remove.add_option("NAME", options.remove.name)->required();

  CLI::App& put =
      adder.add(tenant, "put", "Put files into input/; what ends with .config becomes a job",
                "dunlin tenant put physics water.in water.config", options.put);
  put.add_option("NAME", options.put.name)->required();
  put.add_option("FILE", options.put.files)->required();
  put.add_flag("--again", options.put.again, "The same job file as before becomes another job");

  CLI::App& get = adder.add(tenant, "get", "Read a file",
                            "dunlin tenant get physics output/results/JOB/worker-0/results.dat -o "
                            "results.dat",
                            options.get);
  get.add_option("NAME", options.get.name)->required();
  get.add_option("KEY", options.get.key)->required();
  get.add_option("--output,-o", options.get.file, "Where to (default: stdout)");

  CLI::App& files =
      adder.add(tenant, "files", "List the files", "dunlin tenant files physics", options.files);
  files.add_option("NAME", options.files.name)->required();

  CLI::App& jobs =
      adder.add(tenant, "jobs", "What became of the job files; of one job, its partitions",
                "dunlin tenant jobs physics --json", options.jobs);
  jobs.add_option("NAME", options.jobs.name)->required();
  jobs.add_option("JOB", options.jobs.job);

  adder.add(app, "infra", "List the infrastructures of all tenants", "dunlin infra --json",
            options.infra);
}

}  // namespace dunlin
