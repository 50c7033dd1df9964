#include "base/standard_files.h"

#include <fcntl.h>
#include <initializer_list>
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

}  // namespace dunlin
