// A client as quick as one can be over the code that users have: a job is one request, because its
// id is fresh and its route is known to be there, and results come from a reply queue of its own.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "bench/workload.h"
#include "model/jobs/results.h"
#include "model/records.pb.h"
#include "model/replies.h"
#include "stores/hub/hub_store.h"

namespace dunlin::bench {

// The route of all benchmark jobs; before any client or worker starts.
Result<void> put_route(Store& store);

class BenchClient {
 public:
  explicit BenchClient(std::unique_ptr<RequestStore> store);
  static Result<std::unique_ptr<BenchClient>> connect(const std::string& url,
                                                      const std::string& token_file);

  std::string next_id();  // Of a job, never used before.

  // Its blobs, then one request.
  Result<void> submit(const std::string& id, WorkJob job);
  // Waits for replies, up to `wait`, and removes those that were read before.
  Result<std::vector<model::Reply>> replies(Millis wait);
  // Both for a job of one task: the reply is asked for before the job is there.
  Result<model::Reply> round_trip(const std::string& id, WorkJob job);
  // Removes the replies that were read.
  Result<void> finish();

 private:
  uint64_t post_pull(Millis wait) { return post(replies_.pull(wait)); }
  std::optional<uint64_t> post_finish();
  Result<void> await_commit(uint64_t id);
  Result<std::vector<model::Reply>> await_replies(uint64_t id);
  uint64_t post(Request&& request);
  Answer await(uint64_t id);

  std::unique_ptr<RequestStore> store_;
  stores::HubStore* hub_ = nullptr;     // The same, if it is one: then requests go out together.
  std::map<uint64_t, Answer> answers_;  // Else.
  Random random_;
  std::string name_;
  uint64_t made_ = 0;
  ReplyQueue replies_;
};

// Which results have come back. Each task counts once, however often it is reported.
class Tally {
 public:
  void expect(const std::string& job, uint64_t tasks);
  // `invalid` if it reports a task that did not end well, or that nobody asked for.
  Result<void> add(const model::Reply& reply);

  bool complete() const { return counted_ == expected_; }
  uint64_t counted() const { return counted_; }
  uint64_t repeated() const { return repeated_; }

 private:
  struct Job {
    uint64_t tasks;
    ResultFollower follower;
  };
  std::map<std::string, Job> jobs_;
  uint64_t expected_ = 0;
  uint64_t counted_ = 0;
  uint64_t repeated_ = 0;
};

}  // namespace dunlin::bench
