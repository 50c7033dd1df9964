#include "doors/rest/token_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "base/digest.h"
#include "stores/open.h"

namespace dunlin::rest {
namespace {

constexpr size_t kTokenBytes = 32;

Error failed(const std::string& path) {
  return {Code::denied, fmt::format("cannot make the token file {}: {}; choose another with "
                                    "--token-file",
                                    path, std::strerror(errno))};
}

// False if there is one already.
Result<bool> make_token(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) return failed(path);
  const std::string text = hex(random_bytes(kTokenBytes)) + "\n";
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(file) == 0 && written) return true;
  unlink(path.c_str());
  return failed(path);
}

}  // namespace

Result<std::string> read_or_make_token(const std::string& path) {
  std::error_code ignored;  // What is wrong shows when the file is made.
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  TRY(make_token(path));
  return stores::read_token(path);
}

}  // namespace dunlin::rest
