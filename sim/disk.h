// A disk that can lose power, fill up, fail and be slow, all from one seed.
//
// Between power losses it behaves like a page cache: what was written is read back. At a power loss
// every write since the file's last sync survives whole, in part, as garbage or not at all, each by
// its own chance; names survive only if their folder was synced.
//
// No call waits, except in on_sync. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"

namespace dunlin {

struct SimFile {
  struct Change {
    bool truncates = false;
    uint64_t offset = 0;  // Or the new size.
    std::string bytes;
  };
  std::string now;              // What a reader sees.
  std::string durable;          // What a power loss leaves for certain.
  std::vector<Change> pending;  // What it may leave.
  bool name_is_durable = false;
};

class SimDisk final : public Disk {
 public:
  explicit SimDisk(uint64_t seed) : random_(seed) {}

  // Chances in percent, per call.
  struct Faults {
    uint64_t write_fails = 0;
    uint64_t sync_fails = 0;
    uint64_t read_fails = 0;
    uint64_t create_fails = 0;
    uint64_t capacity = UINT64_MAX;  // Bytes of all files together.
  };
  Faults faults;

  mutable uint64_t bytes_read = 0;  // Since it was made.

  // Called at every sync, so that a slow disk can move a clock.
  std::function<void()> on_sync;

  // The disk stops in the middle of the call that makes the count reach zero.
  void die_after(uint64_t calls) { calls_left_ = calls; }
  bool dead() const { return dead_; }
  void die() { dead_ = true; }

  // After a kill the caches live on; after a power loss they do not. No handles may be open.
  void revive(bool power_was_lost);

  // What a reader sees of it, on a disk without faults that keeps its power. For looking without
  // touching.
  std::unique_ptr<SimDisk> copy() const;

  // For tests that damage what is stored.
  std::vector<std::string> paths() const;
  std::string& bytes(const std::string& path);

  Result<std::unique_ptr<File>> create(const std::string& path) override;
  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<std::unique_ptr<File>> open_to_read(const std::string& path) const override;
  Result<void> remove(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& folder) const override;
  Result<void> make_folder(const std::string& folder) override;
  Result<void> sync_folder(const std::string& folder) override;
  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override;

 private:
  friend class SimHandle;

  Result<void> step() const;  // One call more: dies when its time has come.
  bool strikes(uint64_t percent) const { return percent > 0 && random_.percent(percent); }
  uint64_t used() const;
  static void apply(const SimFile::Change& change, std::string& contents);
  void lose_power(SimFile& file);

  mutable Random random_;
  mutable uint64_t calls_left_ = UINT64_MAX;
  mutable bool dead_ = false;
  std::map<std::string, std::shared_ptr<SimFile>> files_;
  std::map<std::string, std::shared_ptr<SimFile>> removed_;  // Until their folder is synced.
  std::set<std::string> folders_;
};

}  // namespace dunlin
