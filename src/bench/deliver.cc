// How every experiment ends: its report printed, its CSV and its plots written to files.
#include <fmt/format.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "bench/verbs.h"
#include "cli/output.h"

namespace dunlin::bench {
namespace {

Result<void> write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  const auto file = TRY(posix_disk().create(path));
  return file->write(0, text);
}

}  // namespace

Result<int> deliver(const Output& output, const Report& report, const std::vector<Plot>& plots) {
  TRY(cli::print(output.json ? report.json() : report.plain()));
  TRY(write_file(output.csv, report.csv()));
  TRY(write_file(output.plot, to_svg(plots)));
  return kExitDone;
}

void say_now(const Output& output, const std::string& what) {
  if (!output.json && isatty(STDERR_FILENO) == 1) cli::complain(what);
}

}  // namespace dunlin::bench
