// The tasks of a worker that were handed to its slots and have not ended: which held range each
// belongs to, what room it has, and which of its outputs are still on their way into the store.
//
// Pure: starts, drops and uploads are taken out and carried out by the owner, the drops before the
// starts. One thread.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "worker/mind/room.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {

// A spool file that must become a blob before its outcome is published.
struct Upload {
  uint64_t ticket = 0;
  std::string file;
  std::string blob;
};

class Tasks {
 public:
  struct Running {
    uint64_t held = 0;  // The held range that it belongs to.
    uint64_t task = 0;
    Room::Grant room;
    Instant since = {};  // When it was handed to the slots.
  };
  struct Ended {
    Running running;
    Ending ending;
  };
  struct Effects {
    std::vector<uint64_t> drop;  // Before the starts.
    std::vector<Assignment> start;
    size_t grab = 1;
    std::vector<Upload> uploads;
  };

  // The assignment gets its ticket and its GPUs here.
  void start(Running&& running, Assignment&& assignment);
  void set_grab(size_t grab) { effects_.grab = grab; }

  const Running* find(uint64_t ticket) const;  // None, if it was dropped meanwhile.
  // A task has ended; nothing if its outputs must be stored first. `blob` names them by "out" and
  // "err". REQUIRES: find(ending.ticket)
  template <typename Name>
  std::optional<Ended> ended(Ending&& ending, const Name& blob);
  // One of them is, or cannot be; nothing if the task waits for another, or was dropped.
  std::optional<Ended> uploaded(uint64_t ticket, const Result<void>& result);

  // No ending will come for these; what they have left is dropped.
  void drop_of(uint64_t held);
  // All. Returns the tasks by held range, in order.
  std::map<uint64_t, std::vector<uint64_t>> drop_all();

  size_t size() const { return running_.size(); }
  bool empty() const { return running_.empty(); }
  size_t uploading() const { return uploading_.size(); }
  // When the last one was handed out. REQUIRES: !empty()
  Instant last_start() const;

  Effects take();
  const absl::flat_hash_map<uint64_t, Running>& all() const { return running_; }  // By ticket.
  void check() const;  // What it counts against what it holds; for tests.

 private:
  struct Uploading {
    Ending ending;
    uint32_t left = 0;
    std::string trouble = {};
  };

  Ended end(Ending&& ending);

  uint64_t last_ticket_ = 0;
  absl::flat_hash_map<uint64_t, Running> running_;
  std::map<uint64_t, Uploading> uploading_;  // By ticket; still in running_.
  Effects effects_;
};

template <typename Name>
std::optional<Tasks::Ended> Tasks::ended(Ending&& ending, const Name& blob) {
  uint32_t uploads = 0;
  const auto upload = [&](const std::string& spool, const char* which) {
    if (spool.empty()) return;
    ++uploads;
    effects_.uploads.push_back({ending.ticket, spool, blob(which)});
  };
  upload(ending.out_spool, "out");
  upload(ending.err_spool, "err");
  if (uploads > 0) {
    const uint64_t ticket = ending.ticket;
    uploading_.emplace(ticket, Uploading{std::move(ending), uploads});
    return {};
  }
  return end(std::move(ending));
}

}  // namespace dunlin::worker
