// `dunlin run`: GNU parallel's conventions on an embedded durable store. If a run is killed, the
// same line continues it. run() blocks until the run has ended. Main thread, before any other
// begins.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run_folder.h"
#include "sources/sources.h"
#include "spec/words.h"

namespace dunlin::run {

struct RunVerb {
  sources::SourceOptions sources = {};  // But for those of the fields.
  spec::Words said = {};                // Fields of the job, as of any other (spec/fields.h).
  std::optional<std::vector<std::string>> cut = {};  // The words after --, by cut_run_words().
  uint32_t slots = 0;                                // 0: as many as there are cores.
  bool keep_order = false;
  bool tag = false;
  std::string results = {};
  std::string joblog = {};
  std::string halt = {};
  bool dry_run = false;
  bool bar = false;
  bool progress = false;
  bool eta = false;
  bool fresh = false;
  bool quiet = false;
};

// Keeps the end of a run on record until the process has nothing left to do but to exit with its
// code; the destructor forgets it.
using Leaving = std::unique_ptr<LeavingRun>;

Result<int> run(const RunVerb& verb, Leaving& leaving);

// REQUIRES: all outlive the parsing, and `leaving` everything else.
void add_run_command(CLI::App& app, RunVerb& verb, Leaving& leaving, int& exit_code);

}  // namespace dunlin::run
