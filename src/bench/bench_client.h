// A client as small as one can be: a job is one request, because its id is fresh and its route is
// known to be there, and results come from a reply queue of its own. What has been read is removed
// together with the next request. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/hub.h"
#include "base/env.h"
#include "base/result.h"
#include "bench/workload.h"
#include "model/records.pb.h"

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
  // Waits for replies, up to `wait`.
  Result<std::vector<model::Reply>> replies(Millis wait);
  // Both at once for a job of one task: both requests are sent before either is answered.
  Result<model::Reply> round_trip(const std::string& id, model::Spec spec);

 private:
  uint64_t post_job(const std::string& id, model::Spec&& spec);
  uint64_t post_pull(Millis wait);
  Result<void> await_commit(uint64_t id);
  Result<std::vector<model::Reply>> await_replies(uint64_t id);
  std::vector<Write> take_finishes();
  uint64_t post(Request&& request);
  Answer await(uint64_t id);

  std::unique_ptr<RequestStore> store_;
  HubStore* hub_ = nullptr;             // The same, if it is one: then requests go out together.
  std::map<uint64_t, Answer> answers_;  // Else.
  Random random_;
  std::string name_;
  uint64_t made_ = 0;
  std::vector<Lease> read_;  // Replies that can be removed.
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
  Result<void> add(const std::string& job, uint64_t task, const model::Outcome& outcome);
  std::map<std::string, std::vector<bool>> seen_;
  uint64_t expected_ = 0;
  uint64_t counted_ = 0;
  uint64_t repeated_ = 0;
};

}  // namespace dunlin::bench
