// Where the files of each task of `--results` go. Tasks with equal values have equal folders by GNU
// parallel's rule, and one output would replace the other: the first task keeps that folder, each
// later one has its number behind it, as 1/a#3. Pure; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace dunlin::run {

class ResultFolders {
 public:
  // `folder` is what results_folder() says. The same calls in the same order give the same folders,
  // so a run that goes on writes where it has written. REQUIRES: each task once.
  void add(uint64_t task, const std::string& folder);

  // REQUIRES: `folder` is what add() was called with, if it was.
  std::string of(uint64_t task, const std::string& folder) const;

 private:
  std::unordered_set<uint64_t> seen_;                    // Fingerprints of folders.
  std::unordered_map<uint64_t, std::string> elsewhere_;  // Folders of tasks that were not first.
};

}  // namespace dunlin::run
