#include "run/output/result_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace dunlin::run {
namespace {

Error cannot_write(const std::string& path, int number) {
  return {Code::full, fmt::format("cannot write {}: {}; run the same command again to write it",
                                  path, std::strerror(number))};
}

// Under another name first, so that whoever sees the file sees all of it.
Result<void> write_file(const std::string& path,
                        const std::function<Result<void>(const TakeBytes&)>& copy) {
  const std::string part = path + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return cannot_write(part, errno);
  Result<void> written = copy([&](std::string_view bytes) -> Result<void> {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return cannot_write(part, errno);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  });
  if (close(file) != 0 && written.ok()) written = cannot_write(part, errno);
  if (written.ok() && std::rename(part.c_str(), path.c_str()) != 0) {
    written = cannot_write(path, errno);
  }
  if (!written.ok()) unlink(part.c_str());
  return written;
}

}  // namespace

ResultFiles::~ResultFiles() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> ResultFiles::open(const std::string& folder) {
  folder_ = folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ >= 0) return {};
  return Error{Code::invalid,
               fmt::format("cannot make the folder {} of --results: {}", folder,
                           failed ? failed.message() : std::string(std::strerror(errno)))};
}

Result<void> ResultFiles::add(const std::string& below, uint64_t task, const Copy& copy) const {
  const std::string folder = folder_ + "/" + below;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return cannot_write(folder, failed.value());
  for (const auto& [name, which] : {std::pair("stdout", "out"), {"stderr", "err"}}) {
    TRY(write_file(folder + "/" + name,
                   [&, which = which](const TakeBytes& take) { return copy(which, take); }));
  }
  return write_file(folder + "/seq",
                    [&](const TakeBytes& take) { return take(std::to_string(task + 1)); });
}

bool ResultFiles::has(const std::string& below) const {
  std::error_code ignored;
  return std::filesystem::exists(folder_ + "/" + below + "/seq", ignored);
}

// One call for all files, instead of one for each.
Result<void> ResultFiles::sync() const {
  if (descriptor_ < 0 || syncfs(descriptor_) == 0) return {};
  return cannot_write(folder_, errno);
}

}  // namespace dunlin::run
