// A process that the benchmark starts, speaks to in lines, and ends. It does not outlive us. One
// thread, and none else when it is started.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"

namespace dunlin::bench {

// This very program, to start other roles of it.
std::string own_program();

class Child {
 public:
  struct Files {
    std::string in = {};   // Empty: say() writes to it.
    std::string out = {};  // Empty: line() reads from it.
    std::string err = "/dev/null";
  };

  // The program is looked for in PATH.
  static Result<Child> start(const std::vector<std::string>& words, const Files& files);
  ~Child();  // Kills it if it still runs.
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  Result<std::string> line();  // The next one, without its end; `unavailable` after the last.
  Result<void> say(const std::string& line);
  void hang_up();  // Its standard input ends.
  int wait();      // Until it ends: its exit code, or 128 and the signal.
  void interrupt(int signal) const;
  pid_t pid() const { return pid_; }
  std::string last_words() const;  // The last line that it wrote to Files::err.

 private:
  Child(std::string log, pid_t pid, int in, int out)
      : log_(std::move(log)), pid_(pid), in_(in), out_(out) {}

  std::string log_;
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string rest_;  // Read and not yet given out.
};

// True if there is such a program in PATH.
bool is_installed(const std::string& program);

}  // namespace dunlin::bench
