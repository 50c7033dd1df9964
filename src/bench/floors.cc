#include "bench/floors.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/env_posix.h"
#include "bench/samples.h"

namespace dunlin::bench {
namespace {

void answer_pings(int listener, size_t request, size_t answer) {
  const int one = 1;
  const int fd = accept(listener, nullptr, nullptr);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  std::string bytes(std::max(request, answer), 'p');
  while (recv(fd, bytes.data(), request, MSG_WAITALL) == static_cast<ssize_t>(request)) {
    if (send(fd, bytes.data(), answer, MSG_NOSIGNAL) < 0) break;
  }
}

// So many threads call work(i) for each i below `count`, once. Returns the seconds it took.
template <typename Work>
double share_out(size_t count, size_t threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> all;
  all.reserve(threads);
  const double start = seconds_now();
  for (size_t i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (size_t mine = next++; mine < count; mine = next++) work(mine);
    });
  }
  all.clear();
  return seconds_now() - start;
}

}  // namespace

std::vector<double> ping_pong_us(size_t request, size_t answer, size_t rounds) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener, generic, size) == 0 && listen(listener, 1) == 0);
  CHECK(getsockname(listener, generic, &size) == 0);
  const pid_t peer = fork();
  if (peer == 0) {
    answer_pings(listener, request, answer);
    _exit(0);
  }
  CHECK(peer > 0);
  close(listener);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(connect(fd, generic, size) == 0);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  std::string bytes(std::max(request, answer), 'p');
  std::vector<double> samples;
  samples.reserve(rounds);
  for (size_t i = 0; i < rounds; ++i) {
    const double start = seconds_now();
    CHECK(send(fd, bytes.data(), request, 0) == static_cast<ssize_t>(request));
    CHECK(recv(fd, bytes.data(), answer, MSG_WAITALL) == static_cast<ssize_t>(answer));
    samples.push_back(1e6 * (seconds_now() - start));
  }
  close(fd);
  waitpid(peer, nullptr, 0);
  return samples;
}

Result<SyncFloor> SyncFloor::open(const std::string& folder, uint64_t rounds) {
  auto file = TRY(posix_disk().create(folder + "/syncs"));
  TRY(file->write(0, std::string(rounds * kBytes, '\0')));
  TRY(file->sync());
  return SyncFloor(std::move(file));
}

Result<double> SyncFloor::sample_us() {
  const std::string bytes(kBytes, 's');
  const double start = seconds_now();
  TRY(file_->write(at_, bytes));
  TRY(file_->sync());
  at_ += kBytes;
  return 1e6 * (seconds_now() - start);
}

double bare_sleep(const std::vector<double>& lengths_ms, size_t threads) {
  return share_out(lengths_ms.size(), threads, [&](size_t i) {
    const auto ns = std::llround(lengths_ms[i] * 1e6);
    timespec left = {.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                     .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
  });
}

Result<double> bare_spawn(const std::string& program, size_t processes, size_t threads) {
  std::atomic<size_t> failed = 0;
  std::vector<char> name(program.begin(), program.end());
  name.push_back('\0');
  const double took = share_out(processes, threads, [&](size_t) {
    char* const argv[] = {name.data(), nullptr};
    pid_t pid = 0;
    int status = 1;
    const bool ran = posix_spawn(&pid, name.data(), nullptr, nullptr, argv, environ) == 0 &&
                     waitpid(pid, &status, 0) == pid && status == 0;
    if (!ran) ++failed;
  });
  if (failed > 0) return Error{Code::invalid, fmt::format("cannot run {}", program)};
  return took;
}

}  // namespace dunlin::bench
