// From a message to a range whose tasks may be started: what is known of its job is read, whether
// it has ended meanwhile is looked at, and it rests until its time has come, or until its job needs
// what is in reserve. Pure. One thread; all that the constructor gets outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/records.pb.h"
#include "worker/mind/asks.h"
#include "worker/mind/completion.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/job_view.h"
#include "worker/mind/options.h"
#include "worker/mind/sharing.h"

namespace dunlin::worker {

class Arrivals {
 public:
  struct Parts {
    const WorkerOptions& options;
    Asks& asks;
    Jobs& jobs;
    HeldRanges& ranges;
    Completion& completion;
    Sharing& sharing;
  };
  explicit Arrivals(const Parts& parts) : parts_(parts) {}

  // Whether one of them was larger than it should be.
  bool pulled(const std::string& queue, std::vector<Delivery>&& deliveries, Instant valid_until);

 private:
  void take_in(Held& held, model::Range&& range, const Delivery& delivery);
  JobView& job_of(const std::string& queue, model::Range& range);
  bool is_old(const model::Range& range) const;
  void read_job(JobView& job);
  void job_read(JobView& job, const Row& row);
  void job_ready(JobView& job);
  Result<void> check_needs(const model::Requirements& needs) const;

  void adopt(Held& held);
  void adopt_later(const Held& held, Millis delay);
  void make_ready(Held& held);
  void look_for_need(const Held& held);
  void begin_reserve(Held& held, const Row& ledger, const std::vector<Row>& pages);

  Parts parts_;
};

}  // namespace dunlin::worker
