// Which uploads of blobs are under way at a hub, whose they are, and when they are given up.
//
// An upload that goes on keeps its place, whoever else wants one. It loses it when no part came for
// kUploadIdle, or when its connection is gone and no other has gone on with it: within kUploadLeft,
// or as soon as somebody needs the place. Pure: no clock, no I/O, one thread.
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "store/uploads.h"

namespace dunlin::hub {

class Uploads {
 public:
  using Owner = uint64_t;  // A session.

  // A connection that broke is made again within seconds.
  static constexpr Millis kUploadLeft = std::chrono::seconds(30);

  bool has(uint64_t upload) const { return uploads_.contains(upload); }
  size_t size() const { return uploads_.size(); }
  size_t size(Owner owner) const;
  // Of those of whom it is true. Asks for each once.
  size_t size_of(const std::function<bool(Owner)>& is_one) const;

  // A part came: the upload is `owner`'s from now on.
  void went_on(uint64_t upload, Owner owner, Instant now);
  void ended(uint64_t upload);
  void left(Owner owner, Instant now);

  // These are to be given up, and are not known here any more.
  std::vector<uint64_t> take_overdue(Instant now);
  std::optional<uint64_t> take_left();  // The one that was left first.

  std::optional<Instant> next_overdue() const;

 private:
  using Deadline = std::pair<Instant, uint64_t>;
  struct Upload {
    std::optional<Owner> owner;  // None: it was left.
    Instant deadline;
  };

  void note(uint64_t upload, std::optional<Owner> owner, Instant deadline);

  absl::flat_hash_map<uint64_t, Upload> uploads_;
  absl::flat_hash_map<Owner, absl::btree_set<uint64_t>> owned_;
  absl::btree_set<Deadline> deadlines_;
  absl::btree_set<Deadline> left_;  // Those of `deadlines_` that have no owner.
};

}  // namespace dunlin::hub
