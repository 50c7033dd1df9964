#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <fstream>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends/open.h"
#include "base/env_posix.h"
#include "bench/store_cases.h"
#include "net/socket.h"

namespace dunlin::bench {
namespace {

// A real hub in a process of its own, until destroyed.
class HubProcess {
 public:
  HubProcess(const std::string& program, const std::string& folder, bool ephemeral) {
    std::array<int, 2> out{};
    CHECK(::pipe(out.data()) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      const std::string log = folder + ".log";
      if (std::freopen(log.c_str(), "a", stderr) == nullptr) ::_exit(126);
      ::close(out[0]);
      ::close(out[1]);
      std::vector<const char*> arguments = {program.c_str(), "hub",      "--data",
                                            folder.c_str(),  "--listen", "127.0.0.1:0"};
      if (ephemeral) arguments.push_back("--ephemeral");
      arguments.push_back(nullptr);
      ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
      ::_exit(127);
    }
    ::close(out[1]);
    FILE* lines = ::fdopen(out[0], "r");
    std::array<char, 512> line{};
    while (std::fgets(line.data(), line.size(), lines) != nullptr) {
      const std::string text = line.data();
      const size_t at = text.find("dunlin://");
      if (at != std::string::npos) url_ = text.substr(at, text.find_first_of(" \n", at) - at);
      if (!url_.empty() && text.starts_with("token")) break;
    }
    std::fclose(lines);
    if (url_.empty()) fmt::print(stderr, "the hub '{}' did not start\n", program);
    CHECK(!url_.empty());
    options_.token_file = folder + "/token";
  }
  ~HubProcess() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  HubProcess(const HubProcess&) = delete;
  HubProcess& operator=(const HubProcess&) = delete;

  std::unique_ptr<CallStore> connect() const { return open_store(url_, options_).value(); }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
  std::string url_;
  OpenOptions options_;
};

double through_hub(const HubProcess& hub, size_t threads, size_t total, size_t batch) {
  std::vector<std::thread> clients;
  const double start = seconds_now();
  for (size_t i = 0; i < threads; ++i) {
    clients.emplace_back([&, i] {
      auto store = hub.connect();
      cycle(*store, fmt::format("q{}", i), total / threads, batch);
    });
  }
  for (std::thread& client : clients) client.join();
  return static_cast<double>(total) / (seconds_now() - start);
}

// p50 of a bare TCP round trip between two processes, with messages of these sizes.
double ping_pong_us(size_t request, size_t answer, int rounds) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(::listen(listener, 1) == 0);
  socklen_t size = sizeof(address);
  CHECK(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const int one = 1;
  const pid_t peer = ::fork();
  if (peer == 0) {
    const int fd = ::accept(listener, nullptr, nullptr);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    std::string bytes(std::max(request, answer), 'p');
    while (::recv(fd, bytes.data(), request, MSG_WAITALL) == static_cast<ssize_t>(request)) {
      if (::send(fd, bytes.data(), answer, 0) < 0) break;
    }
    ::_exit(0);
  }
  ::close(listener);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  std::string bytes(std::max(request, answer), 'p');
  std::vector<double> samples;
  for (int i = 0; i < rounds; ++i) {
    const double start = seconds_now();
    CHECK(::send(fd, bytes.data(), request, 0) == static_cast<ssize_t>(request));
    CHECK(::recv(fd, bytes.data(), answer, MSG_WAITALL) == static_cast<ssize_t>(answer));
    samples.push_back(1e6 * (seconds_now() - start));
  }
  ::close(fd);
  ::waitpid(peer, nullptr, 0);
  return percentile(std::move(samples), 0.5);
}

template <typename Call>
double p50_us(int rounds, Call call) {
  std::vector<double> samples;
  for (int i = 0; i < rounds; ++i) {
    const double start = seconds_now();
    call();
    samples.push_back(1e6 * (seconds_now() - start));
  }
  return percentile(std::move(samples), 0.5);
}

void single_calls(Table& table, const std::string& program, const std::string& folder, bool quick) {
  const int rounds = quick ? 3'000 : 20'000;
  const HubProcess hub(program, folder + "/ephemeral", true);
  const auto store = hub.connect();
  const Row row{"key", std::string(100, 'v'), kAnyVersion};
  CHECK(store->table().put("t", row).ok());
  const std::string key = "key";
  // The three take turns, so that a change of the machine's mood meets all of them.
  std::vector<double> get, put, bare;
  for (int i = 0; i < 5; ++i) {
    bare.push_back(ping_pong_us(140, 140, rounds / 5));
    get.push_back(p50_us(rounds / 5, [&] { CHECK(store->table().get("t", {&key, 1}).ok()); }));
    put.push_back(p50_us(rounds / 5, [&] { CHECK(store->table().put("t", row).ok()); }));
  }
  const double floor = percentile(bare, 0.5);
  for (const auto& [name, samples] : {std::pair{"get", &get}, std::pair{"put", &put}}) {
    const double p50 = percentile(*samples, 0.5);
    const bool met = p50 <= 3 * floor;
    table.add({.what = fmt::format("hub: one {} at a time, p50", name),
               .batch = 1,
               .durability = "none",
               .payload = "100 B",
               .result = fmt::format("{:.1f} us", p50),
               .limit = fmt::format("TCP ping-pong {:.1f} us ({:.2f}x)", floor, p50 / floor),
               .verdict = verdict(met, "<= 3x"),
               .met = met});
  }
}

}  // namespace

double resident_mib(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

void hub(Table& table, const std::string& program, const std::string& folder, bool quick) {
  {
    const HubProcess hub(program, folder + "/hub", false);
    for (const size_t batch : {size_t{1}, size_t{100}, size_t{1000}}) {
      const size_t total = (quick ? 200 : 1000) * batch;
      double best = 0;
      for (int round = 0; round < 3; ++round) {
        best = std::max(best, through_hub(hub, 4, total, batch));
      }
      const bool met = batch != 1000 || best >= 200'000;
      table.add({.what = "hub: push+pull+finish, 4 clients",
                 .batch = batch,
                 .durability = "synced",
                 .payload = "100 B",
                 .result = rate(best),
                 .limit = "client and hub share the cores",
                 .verdict = batch == 1000 ? verdict(met, ">= 200 k/s") : "",
                 .met = met});
    }
  }
  single_calls(table, program, folder, quick);
}

void idle_workers(Table& table, const std::string& program, const std::string& folder, bool quick) {
  constexpr size_t kIdle = 5000;
  const size_t total = quick ? 200'000 : 1'000'000;
  const HubProcess hub(program, folder + "/idle", false);
  const double empty = resident_mib(hub.pid());
  double before = 0;
  for (int i = 0; i < 3; ++i) before = std::max(before, through_hub(hub, 4, total, 1000));

  // Each waits in a pull, as an idle worker does.
  std::vector<std::unique_ptr<CallStore>> workers;
  for (size_t i = 0; i < kIdle; ++i) {
    workers.push_back(hub.connect());
    auto& store = dynamic_cast<HubStore&>(*workers.back());
    store.post(Pull{.queue = fmt::format("work{}", i % 50),
                    .max = 1,
                    .hold = std::chrono::seconds(60),
                    .wait = kWaitMax});
  }
  CHECK(workers.back()->queue().depth("work0").ok());
  const double full = resident_mib(hub.pid());
  double after = 0;
  for (int i = 0; i < 3; ++i) after = std::max(after, through_hub(hub, 4, total, 1000));
  const bool small = full - empty < 250;
  const bool fast = after >= 0.9 * before;
  table.add({.what = "hub: 5000 idle workers, memory",
             .batch = 1,
             .durability = "synced",
             .payload = "-",
             .result = fmt::format("{:.0f} MB", (full - empty) * 1.048576),
             .limit = fmt::format("empty hub {:.0f} MB", empty * 1.048576),
             .verdict = verdict(small, "< 250 MB"),
             .met = small});
  table.add({.what = "hub: 5000 idle workers, speed",
             .batch = 1000,
             .durability = "synced",
             .payload = "100 B",
             .result = rate(after),
             .limit = fmt::format("without them {} ({:.0f} %)", rate(before), 100 * after / before),
             .verdict = verdict(fast, ">= 90 %"),
             .met = fast});
}

}  // namespace dunlin::bench
