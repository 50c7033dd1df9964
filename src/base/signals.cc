#include "base/signals.h"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace dunlin {

int watch_signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    struct sigaction now = {};
    const bool known = sigaction(signal, nullptr, &now) == 0;
    if (!known || now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  CHECK(descriptor >= 0);
  return descriptor;
}

std::optional<int> take_signal(int descriptor) {
  signalfd_siginfo info{};
  if (read(descriptor, &info, sizeof(info)) != sizeof(info)) return {};
  return static_cast<int>(info.ssi_signo);
}

}  // namespace dunlin
