// Puts `dunlin tenant` and `dunlin infra` on the command line: the tenants of the REST service, and
// the infrastructures that have registered with it. The verb that was given runs while the line is
// parsed. Main thread.
#pragma once

#include <CLI/App.hpp>

#include "cli/target_options.h"
#include "tenant/tenant_verbs.h"

namespace dunlin::tenant {

struct TenantOptions {
  cli::Targets targets;
  TenantAddVerb add;
  TenantListVerb list;
  TenantRemoveVerb remove;
  TenantPutVerb put;
  TenantGetVerb get;
  TenantFilesVerb files;
  TenantJobsVerb jobs;
  InfraVerb infra;
};

// Adds the subcommands; they leave their exit code in `exit_code`. REQUIRES: all outlive the
// parsing.
void add_tenant_commands(CLI::App& app, TenantOptions& options, int& exit_code);

}  // namespace dunlin::tenant
