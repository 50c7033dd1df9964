// The folder that a task starts in, if it names none: empty, its own, gone afterwards. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dunlin {

class PrivateFolder {
 public:
  // Nothing is made before the first ready().
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

  // Makes it, if it is not there.
  Result<void> ready();

  // Removes what a task left. A folder that was left as it was found is kept for the next task,
  // because making one costs more than a look.
  void tidy();

 private:
  bool untouched() const;

  std::string path_;
  int descriptor_ = -1;
  uint64_t inode_ = 0;
};

// With all that is in it, also what its owner locked away from himself. False if something stays.
bool remove_tree(const std::string& path);

}  // namespace dunlin
