#include "hub/notify.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dunlin::hub {
namespace {

// What a manager that listens on `name` hears.
std::string heard(const std::string& name, std::string_view state) {
  const int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(bind(manager, reinterpret_cast<sockaddr*>(&address), size), 0);
  setenv("NOTIFY_SOCKET", name.c_str(), 1);
  notify_manager(state);
  unsetenv("NOTIFY_SOCKET");
  std::array<char, 100> text{};
  const ssize_t got = recv(manager, text.data(), text.size(), 0);
  close(manager);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

TEST(Notify, AManagerHearsTheState) {
  const std::string path = testing::TempDir() + "dunlin_notify_" + std::to_string(getpid());
  EXPECT_EQ(heard(path, "READY=1"), "READY=1");
  unlink(path.c_str());
}

TEST(Notify, AManagerWithAnAbstractSocketHearsIt) {
  EXPECT_EQ(heard("@dunlin_notify_" + std::to_string(getpid()), "STOPPING=1"), "STOPPING=1");
}

TEST(Notify, WithoutAManagerNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  notify_manager("READY=1");
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  notify_manager("READY=1");
  unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace dunlin::hub
