// A folder for temporary files that goes with the object, with all that is in it. One thread at a
// time.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace dunlin {

class TempFolder {
 public:
  // A new one below `parent` (empty: where temporary files go), which is made if it is not there.
  static Result<TempFolder> make(const std::string& parent);
  ~TempFolder();
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // Empty: it is another object's now.
};

}  // namespace dunlin
