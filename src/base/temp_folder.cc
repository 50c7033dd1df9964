#include "base/temp_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace dunlin {

Result<TempFolder> TempFolder::make(const std::string& parent) {
  std::error_code failed;
  std::string path = parent;
  if (path.empty()) path = std::filesystem::temp_directory_path(failed).string();
  if (!failed) std::filesystem::create_directories(path, failed);
  path += "/dunlin-XXXXXX";
  if (!failed && mkdtemp(path.data()) == nullptr) failed.assign(errno, std::generic_category());
  if (failed) {
    return Error{Code::invalid, fmt::format("cannot make a folder {}: {}; choose another place "
                                            "with --folder or TMPDIR",
                                            path, failed.message())};
  }
  return TempFolder(std::move(path));
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace dunlin
