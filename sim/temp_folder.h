// For tests: a folder on the real disk, which is there from the start (a CHECK, if it cannot be
// made) and is removed with all that is in it at the end. One thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace dunlin {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dunlin-test-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dunlin
