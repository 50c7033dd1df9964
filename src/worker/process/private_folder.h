// The folder that a task starts in, if it names none: empty, its own, gone afterwards. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "worker/process/rights.h"

namespace dunlin::worker {

class PrivateFolder {
 public:
  // Nothing is made before the first ready().
  // It belongs to the user; none: to us.
  explicit PrivateFolder(std::string path, std::optional<TaskUser> user = {})
      : first_path_(path), path_(std::move(path)), user_(std::move(user)) {}
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

  // Makes it, if it is not there or not empty. If that fails it may have another path the next
  // time.
  Result<void> ready();

  // What a task left in it: how many files and folders, and the name of one of them. At most
  // kLeftMost are counted.
  struct Left {
    uint64_t count = 0;
    std::string name = {};
  };
  static constexpr uint64_t kLeftMost = 10'000;
  Left left() const;

  // Removes what a task left. A folder that was left as it was found is kept for the next task,
  // because making one costs more than a look.
  void tidy();

 private:
  bool untouched() const;
  void move_on();

  const std::string first_path_;
  std::string path_;
  const std::optional<TaskUser> user_;
  uint64_t stuck_ = 0;  // Folders that could not be removed.
  int descriptor_ = -1;
  uint64_t inode_ = 0;
};

// With all that is in it, however deep, also what its owner locked away from himself. False if
// something stays. If it is another user's and we are root, folders in it that are not his stay: he
// could not empty them himself.
bool remove_tree(const std::string& path);

}  // namespace dunlin::worker
