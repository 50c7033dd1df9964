// `dunlin tenant` and `dunlin infra`: who uses the REST service, and with what machines.
#pragma once

#include <CLI/App.hpp>

#include "cli/target_options.h"
#include "tenant/tenant_verbs.h"

namespace dunlin {

struct TenantOptions {
  Targets targets;
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

}  // namespace dunlin
