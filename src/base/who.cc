#include "base/who.h"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "base/names.h"

namespace dunlin {

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

}  // namespace dunlin
