#include "bench/cloud_client.h"

#include <fmt/format.h>
#include <utility>

#include "base/check.h"
#include "bench/workload.h"
#include "model/jobs/submit.h"
#include "model/keys.h"

namespace dunlin::bench {
namespace {

constexpr size_t kRepliesPerPull = 256;
constexpr Millis kHold = Millis(60'000);
constexpr Millis kWait = Millis(5000);
constexpr uint64_t kRestUs = 1'000'000;  // Between jobs, at most: none meets a habit of the worker.

}  // namespace

CloudClient::CloudClient(Timeline& timeline, CloudStore& store, ClientOptions options,
                         std::function<void()> done)
    : timeline_(timeline),
      options_(std::move(options)),
      done_(std::move(done)),
      random_(options_.seed),
      lane_(store, site_) {}

void CloudClient::begin() { submit(); }

std::vector<Write> CloudClient::take_finishes() {
  if (read_.empty()) return {};
  return {Finish{"reply." + options_.name, std::exchange(read_, {})}};
}

void CloudClient::submit() {
  submitted_ = timeline_.now();
  model::Job job;
  job.set_id(fmt::format("{}.{}", options_.name, job_ms_.size()));
  *job.mutable_spec() = make_job({}, {}, job.id(), 0, options_.tasks).value().spec;
  job.set_queue(queue_of(route_of(job.spec())));
  job.mutable_spec()->set_reply("reply." + options_.name);
  job.mutable_spec()->set_created_us(timeline_.wall_us());
  CHECK(validate_spec(job.spec()).ok());
  tally_.expect(job.id(), options_.tasks);
  std::vector<Write> writes = take_finishes();
  writes.emplace_back(Put{std::string(kJobs), job.id(), job.SerializeAsString(), 0});
  writes.emplace_back(Push{job.queue(), first_messages(job, job.spec().created_us())});
  lane_.post(Commit{random_.next() | 1U, std::move(writes)}, [this](Answer&& answer) {
    if (const auto* error = std::get_if<Error>(&answer)) failure_ = *error;
    pull();
  });
}

void CloudClient::pull() {
  if (std::vector<Write> finishes = take_finishes(); !finishes.empty()) {
    lane_.post(Commit{0, std::move(finishes)}, [this](Answer&& answer) {
      if (const auto* error = std::get_if<Error>(&answer)) failure_ = *error;
    });
  }
  lane_.post(Pull{"reply." + options_.name, kRepliesPerPull, kHold, kWait},
             [this](Answer&& answer) { read(std::move(std::get<Deliveries>(answer).deliveries)); });
}

void CloudClient::read(std::vector<Delivery>&& deliveries) {
  const uint64_t before = tally_.counted() + tally_.repeated();
  for (const Delivery& delivery : deliveries) {
    read_.push_back(delivery.lease);
    model::Reply reply;
    CHECK(reply.ParseFromString(delivery.body));
    const Result<void> added = tally_.add(reply);
    if (!added.ok()) failure_ = added.error();
  }
  const auto results = static_cast<double>(tally_.counted() + tally_.repeated() - before);
  timeline_.after(static_cast<Micros>(results * options_.result_us), [this] { go_on(); });
}

void CloudClient::go_on() {
  if (!tally_.complete()) return pull();
  job_ms_.push_back(static_cast<double>(timeline_.now() - submitted_) / 1000);
  if (job_ms_.size() == options_.jobs) return done_();
  timeline_.after(static_cast<Micros>(random_.below(kRestUs)), [this] { submit(); });
}

}  // namespace dunlin::bench
