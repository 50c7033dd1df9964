// What a component may ask of the outside world, so that a test can be that world.
//
// Code above base/ reads time, chance and files only through what it was given. Production uses
// base/env_posix.h. In simulation every node has its own (sim/), and a whole run is a function of
// one seed.
//
// Calls of a disk may block. The real clock and the real disk serve any thread; simulated ones, and
// every Random, belong to one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dunlin {

using Millis = std::chrono::milliseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Millis>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Millis>;

class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back. For leases, timeouts and durations; means nothing on another machine.
  virtual Instant now() const = 0;

  // May jump. For people and for records; no decision depends on it.
  virtual WallTime wall() const = 0;
};

// An open file. What was written is readable at once and durable only after sync(): after a power
// loss each unsynced write may be missing, short or garbage, in any order.
//
// A failed call may have had a part of its effect; `full` means that there was no room.
class File {
 public:
  virtual ~File() = default;

  virtual Result<void> write(uint64_t offset, std::string_view bytes) = 0;
  virtual Result<void> sync() = 0;
  virtual Result<void> truncate(uint64_t size) = 0;

  // Fills `into` from `offset` and returns how many bytes there were: fewer only at the end.
  virtual Result<size_t> read(uint64_t offset, std::span<char> into) const = 0;
  virtual Result<uint64_t> size() const = 0;
};

// Held until destroyed. Dies with the process that took it.
class FolderLock {
 public:
  virtual ~FolderLock() = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;  // Empties an old one.
  virtual Result<std::unique_ptr<File>> open(const std::string& path) = 0;    // `not_found`
  virtual Result<std::unique_ptr<File>> open_to_read(const std::string& path) const = 0;
  virtual Result<void> remove(const std::string& path) = 0;  // Not there is fine.

  // The names in a folder, sorted. `not_found` if there is no such folder.
  virtual Result<std::vector<std::string>> list(const std::string& folder) const = 0;
  virtual Result<void> make_folder(const std::string& folder) = 0;  // Durable; there is fine.
  virtual Result<void> sync_folder(const std::string& folder) = 0;  // Makes names durable.

  // `denied` with the name of the holder if another process has it.
  virtual Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) = 0;
};

// SplitMix64: the same seed gives the same numbers on every platform, unlike <random>'s
// distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool percent(uint64_t chance) { return below(100) < chance; }

 private:
  uint64_t state_;
};

}  // namespace dunlin
