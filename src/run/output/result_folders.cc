#include "run/output/result_folders.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "run/output/joblog.h"

namespace dunlin::run {

void ResultFolders::add(uint64_t task, const std::string& folder) {
  if (seen_.insert(fingerprint(folder)).second) return;
  const std::string mark = fmt::format("#{}", task + 1);
  const size_t name_at = folder.rfind('/') + 1;
  std::string own = folder;
  // A value may look like a folder of ours: then there is one more mark.
  for (size_t marks = 1;; ++marks) {
    const size_t room = kResultsNameMax - std::min(kResultsNameMax, marks * mark.size());
    own = folder.substr(0, std::min(folder.size(), name_at + room));
    for (size_t i = 0; i < marks; ++i) own += mark;
    if (seen_.insert(fingerprint(own)).second) break;
  }
  elsewhere_.emplace(task, std::move(own));
}

std::string ResultFolders::of(uint64_t task, const std::string& folder) const {
  const auto found = elsewhere_.find(task);
  return found == elsewhere_.end() ? folder : found->second;
}

}  // namespace dunlin::run
