// What the clients of a simulated world do. Each role is a loop of requests and pauses, tells the
// ledger what it tries and what it is told, and relies only on what the store promises. One thread,
// the world's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/client.h"

namespace dunlin {

// Pushes messages. Guarded: together with a row each that says so, hence exactly once.
class Producer final : public Client {
 public:
  Producer(ClientWorld world, uint64_t machine, std::vector<std::string> queues, bool guarded)
      : Client(world, machine), queues_(std::move(queues)), guarded_(guarded) {}

 private:
  void begin() override { produce(); }
  void produce();

  const std::vector<std::string> queues_;
  const bool guarded_;
};

// Pulls messages, holds them for longer or shorter than it may, and publishes that they are done
// together with their finish.
class Worker final : public Client {
 public:
  Worker(ClientWorld world, uint64_t machine, std::vector<std::string> queues)
      : Client(world, machine), queues_(std::move(queues)) {}

 private:
  struct Job {
    std::string queue;
    Lease lease;
    uint32_t attempt = 0;
    Millis hold = Millis(0);
  };

  void begin() override;
  void pull();
  void work(const Job& job);
  void renew(const Job& job);
  void give_back(const Job& job);
  void finish(const Job& job);
  void look(const Job& job);

  const std::vector<std::string> queues_;
  size_t jobs_ = 0;
};

// Increments counters by get and compare-and-set.
class Counter final : public Client {
 public:
  using Client::Client;

 private:
  void begin() override { count(); }
  void count();
  void increment(const std::string& key, const Row& row);
};

// Looks whether what was acknowledged is there.
class Reader final : public Client {
 public:
  using Client::Client;

 private:
  void begin() override { read(); }
  void read();
  void read_counter();
  void scan(const std::string& after);

  std::map<std::string, std::string> counters_;  // As last read.
  std::vector<std::string> expected_;            // Of the scan under way.
  std::set<std::string> seen_;
};

// Writes blobs, reads them back, and erases some.
class Archivist final : public Client {
 public:
  using Client::Client;

 private:
  void begin() override { archive(); }
  void archive();
  void upload(const std::string& name, const std::string& bytes);
  void read_back(const std::string& name, const std::string& bytes);
};

// Does what the test tells it.
class Hand final : public Client {
 public:
  using Client::Client;
  using Client::insist;

 private:
  void begin() override {}
};

}  // namespace dunlin
