// The model of bench/cloud: how long a request to SQS or DynamoDB takes, what it is billed as, and
// how many DynamoDB lets through. Nothing here was measured at AWS: the times are those that the
// papers report.
//
//   DynamoDB   each request 6 to 10 ms (8 on average): a commit is one conditional write, however
//              many rows it has; likewise a get of up to 100 rows and a page of a scan.
//              A write is a unit for each KiB of each row, twice that in a transaction; a read is a
//              unit for each 4 KiB. A table takes so many units a second (its default quota);
//              requests beyond wait in a line, in the order in which they came.
//   SQS        each request 10 to 30 ms: to send, to receive, to delete, ten messages at most. A
//              receive that waits ends so long after a message is there.
//   processor  each task takes its worker's loop so long, each result its client. Measured
//              (bench/cloud_cost.h), not part of the model.
//
// What a request of ours is made of follows src/mixed and src/cloud (bench/cloud_store.h). Left
// out: limits of a single partition, throttled requests that are tried again, failures, bandwidth,
// the processor time of JSON, signatures and TLS.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/env.h"
#include "bench/cloud_timeline.h"

namespace dunlin::bench {

struct Span {
  double low_ms = 0;
  double high_ms = 0;

  Micros draw(Random& random) const {
    const auto low = static_cast<Micros>(low_ms * 1000);
    const auto width = static_cast<Micros>(high_ms * 1000) - low;
    return low + static_cast<Micros>(random.below(static_cast<uint64_t>(width) + 1));
  }
};

struct CloudModel {
  Span dynamo = {6, 10};
  Span sqs = {10, 30};
  double write_units = 40'000;  // A second; 0: no limit.
  double read_units = 40'000;
};

inline constexpr size_t kWriteUnit = 1024;
inline constexpr size_t kReadUnit = 4096;
inline constexpr size_t kSqsChunk = 64 << 10;  // A larger request is billed as several.

inline uint64_t units_of(size_t bytes, size_t unit) {
  return std::max<size_t>((bytes + unit - 1) / unit, 1);
}

// Lets so many units through each second.
class Meter {
 public:
  explicit Meter(double per_second) : per_second_(per_second) {}

  // How long requests of so many units together have to wait.
  Micros admit(uint64_t units, Micros now, size_t requests) {
    requests_ += requests;
    units_ += units;
    if (per_second_ <= 0) return 0;
    free_at_ = std::max(free_at_, static_cast<double>(now));
    const auto wait = static_cast<Micros>(free_at_) - now;
    free_at_ += static_cast<double>(units) * 1e6 / per_second_;
    if (wait > kNoticed) {
      delayed_ += requests;
      waited_ += wait;
    }
    return std::max<Micros>(wait, 0);
  }

  uint64_t requests() const { return requests_; }
  uint64_t units() const { return units_; }
  uint64_t delayed() const { return delayed_; }
  Micros waited() const { return waited_; }  // Of those that were delayed.
  void forget() { requests_ = units_ = delayed_ = 0, waited_ = 0; }

 private:
  static constexpr Micros kNoticed = 1000;

  double per_second_;
  double free_at_ = 0;
  uint64_t requests_ = 0;
  uint64_t units_ = 0;
  uint64_t delayed_ = 0;
  Micros waited_ = 0;
};

}  // namespace dunlin::bench
