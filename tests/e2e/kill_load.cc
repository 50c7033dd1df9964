// Load for a hub that is killed again and again: kill_load DUNLIN FOLDER RECORD KILLS SEED
//
// Producers, consumers, counters and blobs run against `dunlin hub --data FOLDER`, which this
// program starts, kills with SIGKILL at random instants and starts again. Everything that is tried
// and everything that was answered goes to RECORD, one line each, in the order in which it
// happened; kill_check.py judges it together with what the store holds in the end. A line is
//
//   MILLISECONDS THREAD EVENT ARGUMENTS...
//
// Every write goes with a row that only its writer makes. So after an answer that says nothing
// (unavailable, conflict, a connection that we dropped ourselves) the row tells what happened.

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <openssl/evp.h>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/check.h"
#include "base/env_posix.h"
#include "stores/hub/hub_store.h"
#include "stores/hub_engine.h"
#include "stores/open.h"

namespace dunlin {
namespace {

constexpr size_t kBacklogMax = 4000;  // Messages that are pushed and not finished.

int64_t now_ms() { return posix_clock().now().time_since_epoch().count(); }

void pause_for(int64_t ms) { std::this_thread::sleep_for(Millis(ms)); }

[[noreturn]] void fail(std::string_view why) {
  fmt::print(stderr, "kill_load: {}\n", why);
  std::_Exit(1);
}

class Record {
 public:
  explicit Record(const char* path) : file_(std::fopen(path, "w")) { CHECK(file_ != nullptr); }

  template <typename... Args>
  void add(const std::string& who, fmt::format_string<Args...> format, Args&&... args) {
    const std::string event = fmt::format(format, std::forward<Args>(args)...);
    const std::lock_guard lock(mutex_);
    fmt::print(file_, "{} {} {}\n", now_ms(), who, event);
  }
  void close() { CHECK(std::fclose(file_) == 0); }

 private:
  std::mutex mutex_;
  std::FILE* file_;
};

// What all threads share.
struct World {
  stores::HubAddress address;
  std::string token;
  uint64_t seed = 0;
  Record& record;
  std::atomic<bool> stop = false;
  std::atomic<int64_t> backlog = 0;
};

// One client: a connection that is made anew when it was dropped, and its own chance.
class Client {
 public:
  Client(World& world, std::string name, uint64_t number)
      : world_(world), name_(std::move(name)), random_(world.seed * 1000 + number) {}

 protected:
  // Some clients are patient and see no restart; the others learn that an answer is unknown.
  stores::HubStore& store() {
    const int64_t give_up = now_ms() + 60'000;
    while (!store_) {
      auto opened = stores::open_hub(
          world_.address,
          {.token = world_.token, .deadline = Millis(random_.percent(50) ? 30'000 : 150)},
          posix_clock());
      if (opened.ok()) {
        store_ = std::move(opened).value();
      } else if (opened.error().code != Code::unavailable || now_ms() > give_up) {
        fail(name_ + " cannot connect: " + opened.error().what);
      }
    }
    return *store_;
  }
  void drop() { store_.reset(); }

  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    world_.record.add(name_, format, std::forward<Args>(args)...);
  }

  // Repeats until the answer is known.
  template <typename Call>
  auto insist(const Call& call) {
    const int64_t give_up = now_ms() + 60'000;
    for (tries_ = 1;; ++tries_) {
      auto result = call(store());
      if (result.ok() || result.error().code != Code::unavailable) return result;
      if (now_ms() > give_up) fail(name_ + " got no answer: " + result.error().what);
      if (random_.percent(20)) drop();
    }
  }

  std::string value_at(const std::string& table, const std::string& key) {
    const std::vector<std::string> keys = {key};
    const auto rows =
        insist([&](stores::HubStore& store) { return store.table().get(table, keys); });
    if (!rows.ok()) fail("get: " + rows.error().what);
    return rows.value()[0].value;
  }

  // Commits a group in which the row (table, key) is ours to make. True if it was applied, by this
  // or an earlier try; false if others were first. `nothing`: we dropped the connection before any
  // answer.
  std::optional<bool> settle(const std::string& table, const std::string& key,
                             const std::string& value, std::vector<Write> others) {
    std::vector<Write> writes = {Put{table, key, value, 0}};
    for (Write& write : others) writes.push_back(std::move(write));
    if (random_.percent(2)) {
      store().post(Commit{random_.next(), writes});
      drop();
      return std::nullopt;
    }
    const auto done = insist([&](stores::HubStore& store) { return store.commit(writes); });
    if (done.ok()) return true;
    if (done.error().code != Code::conflict) fail("commit: " + done.error().what);
    return value_at(table, key) == value;
  }

  World& world_;
  const std::string name_;
  Random random_;
  uint64_t count_ = 0;
  uint64_t tries_ = 0;  // Of the last thing that we insisted on.

 private:
  std::unique_ptr<stores::HubStore> store_;
};

class Producer : public Client {
 public:
  using Client::Client;

  void run() {
    while (!world_.stop) {
      if (world_.backlog > static_cast<int64_t>(kBacklogMax)) {
        pause_for(5);
        continue;
      }
      push();
      pause_for(static_cast<int64_t>(random_.below(30)));  // Else the log grows more than the test.
    }
  }

 private:
  void push() {
    const std::string batch = fmt::format("{}.{}", name_, ++count_);
    const uint64_t kind = random_.below(100);
    const uint64_t size = 1 + random_.below(kind < 80 ? 8 : kind < 98 ? 60 : 1000);
    std::vector<Message> messages;
    for (uint64_t i = 0; i < size; ++i) {
      const size_t body = random_.below(random_.percent(1) ? 50'000 : 200);
      messages.push_back({fmt::format("{}.{}", batch, i), std::string(body, 'b')});
    }
    note("push_try {} {}", batch, size);
    const auto pushed = settle("pushed", batch, std::to_string(size), {Push{"work", messages}});
    if (pushed) {
      note("{} {} {}", *pushed ? "push_ok" : "push_bad", batch, size);
      world_.backlog += static_cast<int64_t>(size);
    } else {
      note("push_dropped {} {}", batch, size);
    }
  }
};

class Consumer : public Client {
 public:
  using Client::Client;

  void run() {
    while (!world_.stop) pull();
  }

 private:
  void pull() {
    constexpr std::array<size_t, 5> kSizes = {1, 10, 10, 100, 1000};
    const size_t max = kSizes.at(random_.below(kSizes.size()));
    const auto hold = Millis(300 + random_.below(1000));
    const int64_t asked = now_ms();
    const auto got = insist([&](stores::HubStore& store) {
      return store.queue().pull("work", max, hold, Millis(100));
    });
    if (!got.ok()) fail("pull: " + got.error().what);
    for (const Delivery& one : got.value()) {
      note("pulled {} {} {} {} {}", one.lease.id, one.lease.token, one.attempt, asked,
           hold.count());
    }
    if (!got.value().empty()) work(got.value(), hold);
  }

  void work(const std::vector<Delivery>& deliveries, Millis hold) {
    const uint64_t fate = random_.below(100);
    if (fate < 4) return;  // Forgotten: they come back when the lease ends.
    if (fate < 8) return renew(deliveries, Millis(0));
    if (fate < 14) renew(deliveries, hold);
    if (fate < 18) pause_for(hold.count() + 50);  // Too slow: others may have them by now.
    if (finish(deliveries)) return;
    for (const Delivery& one : deliveries) finish({one});
  }

  void renew(const std::vector<Delivery>& deliveries, Millis hold) {
    std::vector<Lease> leases;
    for (const Delivery& one : deliveries) leases.push_back(one.lease);
    for (const Lease& lease : leases) {
      if (hold == Millis(0)) note("gave_back {} {}", lease.id, lease.token);
    }
    const int64_t asked = now_ms();
    const auto lost =
        insist([&](stores::HubStore& store) { return store.queue().renew("work", leases, hold); });
    if (!lost.ok()) fail("renew: " + lost.error().what);
    for (const Lease& lease : leases) {
      if (hold == Millis(0) || std::ranges::find(lost.value(), lease) != lost.value().end()) {
        continue;
      }
      note("renewed {} {} {} {}", lease.id, lease.token, asked, hold.count());
    }
  }

  // All or none. False if some lease was lost.
  bool finish(const std::vector<Delivery>& deliveries) {
    const std::string mine = fmt::format("{}.{}", name_, ++count_);
    std::vector<Write> writes;
    std::vector<Lease> leases;
    for (const Delivery& one : deliveries) {
      leases.push_back(one.lease);
      note("finish_try {} {} {}", one.lease.id, one.lease.token, mine);
      if (leases.size() > 1) writes.push_back(Put{"done", one.lease.id, mine, 0});
    }
    writes.push_back(Finish{"work", leases});
    const auto done = settle("done", leases[0].id, mine, std::move(writes));
    const char* outcome = !done ? "finish_dropped" : *done ? "finish_ok" : "finish_lost";
    for (const Lease& lease : leases) note("{} {} {} {}", outcome, lease.id, lease.token, mine);
    if (done.value_or(true)) world_.backlog -= static_cast<int64_t>(leases.size());
    return done.value_or(true);
  }
};

// Several of these change the same counters.
class Counter : public Client {
 public:
  using Client::Client;

  void run() {
    while (!world_.stop) increment();
  }

 private:
  void increment() {
    const std::string counter = fmt::format("counter{}", random_.below(2));
    const std::string mine = fmt::format("{}.{}", name_, ++count_);
    const std::vector<std::string> keys = {counter};
    const auto rows =
        insist([&](stores::HubStore& store) { return store.table().get("counters", keys); });
    if (!rows.ok()) fail("get: " + rows.error().what);
    const Row& row = rows.value()[0];
    const uint64_t next = row.version == 0 ? 1 : std::stoull(row.value) + 1;
    note("count_try {} {} {}", counter, mine, next);
    const auto counted = settle("steps", mine, fmt::format("{}={}", counter, next),
                                {Put{"counters", counter, std::to_string(next), row.version}});
    note("{} {} {} {}",
         !counted   ? "count_dropped"
         : *counted ? "count_ok"
                    : "count_lost",
         counter, mine, next);
  }
};

class Blobber : public Client {
 public:
  using Client::Client;

  void run() {
    while (!world_.stop) {
      put();
      pause_for(static_cast<int64_t>(random_.below(250)));
    }
  }

 private:
  void put() {
    const std::string name = fmt::format("{}/{}", name_, ++count_);
    std::string bytes(random_.below(random_.percent(20) ? 4'000'000 : 100'000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.next());
    const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
      return bytes.substr(offset, max);
    };
    note("blob_try {} {} {}", name, bytes.size(), digest(bytes));
    const auto stored = insist(
        [&](stores::HubStore& store) { return store.blobs().put(name, bytes.size(), source); });
    if (!stored.ok()) fail("blob put: " + stored.error().what);
    note("blob_ok {} {} {}", name, bytes.size(), digest(bytes));
    // An earlier try may still be on its way, and would make the blob again.
    if (tries_ > 1 || !random_.percent(20)) return;
    note("erase_try {}", name);
    const auto erased = insist([&](stores::HubStore& store) { return store.blobs().erase(name); });
    if (!erased.ok()) fail("blob erase: " + erased.error().what);
    note("erase_ok {}", name);
  }

  static std::string digest(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
    unsigned size = 0;
    CHECK(EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(), nullptr) == 1);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", hash.at(i));
    return text;
  }
};

// The hub as a process of its own.
class HubProcess {
 public:
  HubProcess(std::string program, std::string folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  void start(uint16_t port) {
    std::array<int, 2> ends{};
    CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const std::string listen = fmt::format("127.0.0.1:{}", port);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(program_.c_str(), program_.c_str(), "hub", "--data", folder_.c_str(), "--listen",
              listen.c_str(), nullptr);
      std::_Exit(127);
    }
    CHECK(pid_ > 0);
    ::close(ends[1]);
    output_ = ends[0];
  }

  // The port it listens on, once it does.
  uint16_t wait_until_ready() const {
    std::string text;
    while (text.find("token in") == std::string::npos) {
      std::array<char, 256> part{};
      const ssize_t size = ::read(output_, part.data(), part.size());
      if (size <= 0) fail("the hub ended by itself after a kill");
      text.append(part.data(), static_cast<size_t>(size));
    }
    const std::string url = text.substr(text.find("dunlin://"), text.find('\n') - text.find("dun"));
    return stores::parse_hub_url(url).value().port;
  }

  void kill() {
    CHECK(::kill(pid_, SIGKILL) == 0);
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    if (!WIFSIGNALED(status)) fail("the hub ended by itself before it was killed");
    ::close(output_);
  }

 private:
  const std::string program_;
  const std::string folder_;
  pid_t pid_ = 0;
  int output_ = -1;
};

template <typename Kind>
std::thread start(World& world, const std::string& name, uint64_t number) {
  return std::thread([&world, name, number] { Kind(world, name, number).run(); });
}

void run(const char* program, const std::string& folder, Record& record, uint64_t kills,
         uint64_t seed) {
  HubProcess hub(program, folder);
  hub.start(0);
  const uint16_t port = hub.wait_until_ready();
  World world{.address = {.host = "127.0.0.1", .port = port},
              .token = stores::read_token(folder + "/token").value(),
              .seed = seed,
              .record = record};
  std::vector<std::thread> threads;
  uint64_t number = 0;
  for (const char* name : {"p0", "p1", "p2"}) {
    threads.push_back(start<Producer>(world, name, ++number));
  }
  for (const char* name : {"c0", "c1", "c2"}) {
    threads.push_back(start<Consumer>(world, name, ++number));
  }
  for (const char* name : {"n0", "n1"}) threads.push_back(start<Counter>(world, name, ++number));
  threads.push_back(start<Blobber>(world, "b0", ++number));

  Random random(seed);
  for (uint64_t killed = 0; killed < kills; ++killed) {
    const bool while_it_starts = random.percent(20);
    if (!while_it_starts && killed > 0) hub.wait_until_ready();
    pause_for(static_cast<int64_t>(random.below(while_it_starts ? 40 : 2000)));
    hub.kill();
    record.add("main", "killed {}", killed + 1);
    hub.start(port);
  }
  hub.wait_until_ready();
  pause_for(500);
  world.stop = true;
  for (std::thread& thread : threads) thread.join();
  hub.kill();
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  if (argc != 6) dunlin::fail("give DUNLIN FOLDER RECORD KILLS SEED");
  dunlin::Record record(argv[3]);
  dunlin::run(argv[1], argv[2], record, std::stoull(argv[4]), std::stoull(argv[5]));
  record.close();
  return 0;
}
