// What `dunlin run` leaves for other programs, in the forms of GNU parallel: lines of a joblog,
// names of result folders, tags in front of lines. Pure; from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/records.pb.h"

namespace dunlin::run {

inline constexpr std::string_view kJoblogHeader =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

// `host` is ":" for this machine. A task that ran too long has exit -1 and signal 15, a lost one -1
// and 9, and one that could not be started 127.
std::string joblog_line(uint64_t task, const model::Outcome& outcome, std::string_view host,
                        std::string_view command);

inline constexpr size_t kResultsNameMax = 255;  // Bytes of a name, as file systems have it.

// The folder of a task below that of --results, like 1/VALUE/2/VALUE, or NAME/VALUE if the columns
// have names; there are its files stdout, stderr and seq. Each name is escaped (\\ \_ \t \0) and
// cut so that it is a name of a file and never leads out of its folder.
std::string results_folder(const std::vector<std::string>& names,
                           const std::vector<std::string>& values);
std::string results_name(std::string_view value);

// Puts a tag and a tab in front of each line of an output that comes in pieces.
class Tagger {
 public:
  explicit Tagger(std::string tag) : tag_(std::move(tag) + '\t') {}
  std::string feed(std::string_view piece);

 private:
  std::string tag_;
  bool at_start_ = true;  // Of a line.
};

}  // namespace dunlin::run
