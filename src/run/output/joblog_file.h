// The file of --joblog: a line for each task, exactly once, however often the run was killed. One
// thread, but for sync().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace dunlin::run {

class JoblogFile {
 public:
  JoblogFile() = default;
  ~JoblogFile();
  JoblogFile(const JoblogFile&) = delete;
  JoblogFile& operator=(const JoblogFile&) = delete;

  // Opens it to append; a new one gets its head.
  Result<void> open(const std::string& path);
  bool is_open() const { return descriptor_ >= 0; }

  // Finds lines that are there although no mark says so, and removes the beginning of one that a
  // kill cut off. `line_of` gives the line of a task if it has none on record, else nothing.
  using LineOf = std::function<Result<std::string>(uint64_t task)>;
  Result<void> recover(const LineOf& line_of);

  Result<void> add(uint64_t task, const std::string& line);
  // Which of so many tasks have a line, of this run or another one; none if that cannot be read.
  std::optional<std::vector<bool>> tasks_there(uint64_t tasks) const;
  Result<void> sync() const;  // From any thread.

 private:
  Result<void> write(const std::string& bytes);
  Result<void> take_off(uint64_t size, const std::string& fragment, const LineOf& line_of);

  std::string path_;
  int descriptor_ = -1;
  bool ragged_ = false;       // Its last line has no end; recover() has not looked at it.
  std::set<uint64_t> there_;  // Tasks whose lines recover() has found.
};

}  // namespace dunlin::run
