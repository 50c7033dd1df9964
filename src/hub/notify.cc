#include "hub/notify.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

namespace dunlin::hub {

void notify_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || *path == '\0') return;
  const size_t size = std::strlen(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (size >= sizeof(address.sun_path)) {
    log::warning("cannot notify the service manager: NOTIFY_SOCKET is too long");
    return;
  }
  std::memcpy(address.sun_path, path, size);
  if (*path == '@') address.sun_path[0] = '\0';  // A name that is not in the file system.
  const auto address_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);

  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const ssize_t sent = socket < 0
                           ? -1
                           : sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
                                    reinterpret_cast<const sockaddr*>(&address), address_size);
  if (sent < 0) {
    log::warning("cannot notify the service manager: {} socket={}", std::strerror(errno), path);
  }
  if (socket >= 0) close(socket);
}

}  // namespace dunlin::hub
