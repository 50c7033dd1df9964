#include "base/who.h"

#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr size_t kProcFileMax = 4 << 10;
constexpr int kStartTimeField = 22;  // In /proc/PID/stat, whose state is the third.

std::string read_proc(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text(kProcFileMax, '\0');
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace

std::string user_name() {
  const char* user = std::getenv("USER");
  return user != nullptr && is_name(user) ? user : fmt::format("uid{}", getuid());
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::string host = name;
  std::erase_if(host, [](char c) { return !is_name(std::string_view(&c, 1)); });
  return host.empty() ? "host" : host.substr(0, 40);
}

std::string process_birth(pid_t process) {
  std::istringstream boot(read_proc("/proc/sys/kernel/random/boot_id"));
  const std::string stat = read_proc(fmt::format("/proc/{}/stat", process));
  const size_t name_end = stat.rfind(')');  // A name may have spaces and parentheses.
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string boot_id;
  std::string state;
  std::string field;
  if (!(boot >> boot_id) || !(fields >> state) || state == "Z" || state == "X") return {};
  for (int number = 4; number <= kStartTimeField; ++number) {
    if (!(fields >> field)) return {};
  }
  return boot_id + ' ' + field;
}

}  // namespace dunlin
