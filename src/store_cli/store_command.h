// Puts `dunlin store` on the command line: verbs that look into a store, and change it by hand. The
// one that was given runs while the line is parsed. Main thread.
#pragma once

#include <CLI/App.hpp>

#include "cli/target_options.h"
#include "store_cli/store_verbs.h"

namespace dunlin::store_cli {

// What the command line said; only the verb that was given counts.
struct StoreOptions {
  cli::Targets targets;
  PushVerb push;
  PullVerb pull;
  FinishVerb finish;
  RenewVerb renew;
  DepthVerb depth;
  GetVerb get;
  PutVerb put;
  EraseVerb erase;
  ScanVerb scan;
  BlobPutVerb blob_put;
  BlobGetVerb blob_get;
  BlobEraseVerb blob_erase;
  BlobListVerb blob_list;
  InfoVerb info;
  InitVerb init;
  KeepVerb keep;
  DestroyVerb destroy;
  CheckVerb check;
};

// Adds the subcommand; it leaves its exit code in `exit_code`. REQUIRES: all outlive the parsing.
void add_store_command(CLI::App& app, StoreOptions& options, int& exit_code);

}  // namespace dunlin::store_cli
