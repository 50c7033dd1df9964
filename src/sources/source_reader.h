// Reads one source of values whole: takes off its header, splits, groups and checks its values.
// Only for sources.cc. Blocks as the file or standard input does; one thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/jobs/inputs.h"
#include "model/tasks/colsep.h"
#include "sources/sources.h"

namespace dunlin::sources {

struct ReadSource {
  SourceWriter::Finished finished;
  std::vector<std::string> columns;  // Their names, if it has a header.
};

// `colsep` is how stored values are split. Errors name the file and its line.
Result<ReadSource> read_source(const SourceOptions& options, const Colsep& colsep,
                               const SourceText& text, std::string blob_name);

}  // namespace dunlin::sources
