#include "base/standard_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <initializer_list>
#include <stdio_ext.h>
#include <unistd.h>

#include "base/check.h"

namespace dunlin {

void keep_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // The lowest free number is given out, which is this one.
    const int opened = ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    CHECK(opened == number);
  }
}

Result<void> flush_standard_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const std::string why = errno == 0 ? "a part of it was lost" : std::strerror(errno);
  return Error{Code::full, fmt::format("cannot write to standard output: {}", why)};
}

void flush_or_drop() {
  if (std::fflush(stdout) == 0) return;
  __fpurge(stdout);
  std::clearerr(stdout);
}

}  // namespace dunlin
