// The reply queue of a client: workers send the outcomes of its jobs there, as soon as they are
// committed. Says what to ask of the store and reads what comes; whoever has it asks, blocking or
// not. Pure; one thread at a time, but the name is anybody's to read.
//
// Replies are hints: an outcome may come twice, late or never, and is in the pages in any case. A
// ResultFollower for each job takes each outcome once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/records.pb.h"
#include "store/request.h"

namespace dunlin {

class ReplyQueue {
 public:
  explicit ReplyQueue(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  // The next replies, waiting up to `wait` for one.
  Pull pull(Millis wait) const;
  // What came: what is no reply is left out, with a warning. All of it may be finished now.
  std::vector<model::Reply> read(const std::vector<Delivery>& deliveries);

  size_t unfinished() const { return read_.size(); }  // Read, and not in a finish() yet.
  // Removes from the queue what was read; none if that is nothing. It need not succeed: a stale
  // lease means that we were slow, and what comes again is known.
  std::optional<Finish> finish();

 private:
  const std::string name_;
  std::vector<Lease> read_;
};

}  // namespace dunlin
