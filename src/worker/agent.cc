#include "worker/agent.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/env_posix.h"
#include "base/log.h"
#include "worker/process/stamps.h"

namespace dunlin::worker {
namespace {

constexpr Millis kUploadPause = Millis(1000);  // Before another try.
constexpr Millis kTroubleSaid = Millis(60'000);
constexpr Millis kNap = Millis(2);  // Endings may wait so long while the slots have enough to do.

void watch(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

bool passing(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::full;
}

Error no_room(const std::string& why) {
  return {Code::full, why + ": make room there, and start it again"};
}

Result<void> send_file(Blobs& blobs, const WorkerMind::Upload& upload) {
  const auto file = TRY(posix_disk().open_to_read(upload.file));
  const uint64_t size = TRY(file->size());
  return blobs.put(upload.blob, size, [&file](uint64_t offset, size_t max) -> Result<std::string> {
    std::string bytes(max, '\0');
    bytes.resize(TRY(file->read(offset, bytes)));
    return bytes;
  });
}

}  // namespace

Now Agent::now() { return {posix_clock().now(), wall_us()}; }

Agent::Agent(Private /*only start() has one*/, AgentOptions options,
             std::unique_ptr<stores::AsyncStore> async_store)
    : stop_when_full_(options.stop_when_full),
      connect_(std::move(options.connect)),
      mind_(std::move(options.worker)),
      async_store_(std::move(async_store)),
      ledgers_(connect_),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      others_(epoll_create1(EPOLL_CLOEXEC)) {
  CHECK(epoll_ >= 0 && others_ >= 0);
  watch(epoll_, others_);
}

Agent::~Agent() {
  slots_.reset();
  leaving_.wake();
  lane_.reset();
  close(epoll_);
  close(others_);
}

Result<std::unique_ptr<Agent>> Agent::start(AgentOptions options,
                                            std::unique_ptr<stores::AsyncStore> async_store) {
  SlotOptions slots = std::move(options.slots);
  const uint32_t used = options.worker.slots;
  std::unique_ptr<SlotAdvisor> advisor;
  if (!options.infrastructure.empty()) {
    const std::string id = fmt::format("{}/{}", options.infrastructure, options.worker.id);
    advisor = std::make_unique<SlotAdvisor>(
        options.connect, tascaas::Follower{id, used, slots.slots, options.scale_time});
  }
  auto agent = std::make_unique<Agent>(Private{}, std::move(options), std::move(async_store));
  slots.ledgers = &agent->ledgers_;
  agent->slots_ = TRY(Slots::start(std::move(slots)));
  agent->slots_->limit(used);
  watch(agent->epoll_, agent->slots_->descriptor());
  watch(agent->others_, agent->sent_.descriptor());
  if (advisor != nullptr) watch(agent->others_, advisor->descriptor());
  agent->advisor_ = std::move(advisor);
  agent->mind_.begin(now());
  agent->carry_out();
  return agent;
}

void Agent::follow_advice() {
  const Instant now = posix_clock().now();
  if (mind_.gone()) {
    advisor_->leave();
    advisor_.reset();
    return;
  }
  if (now >= advisor_->due()) advisor_->ask(mind_.done() + mind_.failed() + mind_.busy());
  const std::optional<uint32_t> slots = advisor_->take(now);
  if (!slots) return;
  slots_->limit(*slots);
  mind_.set_slots(*slots, Agent::now());
  carry_out();
}

void Agent::turn(Instant until, int also) {
  if (also != also_) {
    if (also_ >= 0) epoll_ctl(others_, EPOLL_CTL_DEL, also_, nullptr);
    if (also >= 0) watch(others_, also);
    also_ = also;
  }
  const Instant begun = posix_clock().now();
  Instant wake = idle_.empty() ? std::min(until, mind_.next_wake()) : begun;
  if (advisor_ != nullptr) wake = std::min(wake, advisor_->due());
  // While the slots have enough in front of them, they do not wake us for each task that ends.
  const bool nap = mind_.has_enough_started();
  if (nap) wake = std::min(wake, begun + kNap);
  auto answers = async_store_->gather(wake, nap ? others_ : epoll_);
  std::vector<Ending> endings = slots_->take();
  std::ranges::move(std::exchange(idle_, {}), std::back_inserter(endings));
  const std::vector<Sent> uploads = sent_.take();
  if (stop_when_full_ && must_stop(endings, uploads)) return;
  const Now now = Agent::now();
  for (NumberedAnswer& answer : answers) {
    if (const auto* error = std::get_if<Error>(&answer.answer)) {
      if (stop_when_full_ && error->code == Code::full) failure_ = no_room(error->what);
      say_trouble(*error, now.at);
    }
    mind_.answered(answer.id, std::move(answer.answer), now);
  }
  if (!endings.empty()) mind_.ended(std::move(endings), now);
  for (const Sent& sent : uploads) mind_.uploaded(sent.ticket, sent.result, now);
  if (mind_.next_wake() <= now.at) mind_.tick(now);
  carry_out();
  if (advisor_ != nullptr) follow_advice();
  // One round more, so that a task that does nothing is published with the next bytes we send.
  if (idle_.empty()) return;
  mind_.ended(std::exchange(idle_, {}), Agent::now());
  carry_out();
}

void Agent::carry_out() {
  WorkerMind::Effects effects = mind_.take();
  if (!effects.drop.empty()) slots_->drop(effects.drop);
  if (!effects.start.empty()) start(std::move(effects.start), effects.grab);
  for (const WorkerMind::Upload& one : effects.uploads) upload(one);
  for (WorkerMind::Ask& ask : effects.asks) async_store_->post(ask.id, std::move(ask.request));
  std::ranges::move(effects.published, std::back_inserter(published_));
}

// A task that does nothing needs no slot: waking a thread would be all of its work.
void Agent::start(std::vector<Assignment> assignments, size_t grab) {
  const auto rest = std::stable_partition(
      assignments.begin(), assignments.end(),
      [](const Assignment& one) { return one.job->spec.command().builtin() == "noop"; });
  const int64_t now_us = wall_us();
  for (auto one = assignments.begin(); one != rest; ++one) {
    Ending& ending = idle_.emplace_back();
    ending.ticket = one->ticket;
    ending.outcome.set_state(model::STATE_OK);
    ending.started_us = now_us;
  }
  assignments.erase(assignments.begin(), rest);
  if (!assignments.empty()) slots_->assign(std::move(assignments), grab);
}

Result<void> Agent::try_upload(const WorkerMind::Upload& upload) {
  if (blob_store_ == nullptr) blob_store_ = TRY(connect_());
  return send_file(blob_store_->blobs(), upload);
}

// One after the other, in a thread that may wait for the store as long as it takes: an outcome
// whose output is lost would be none.
void Agent::upload(const WorkerMind::Upload& upload) {
  if (lane_ == nullptr) lane_ = std::make_unique<Lane>();
  lane_->post([this, upload] {
    Result<void> result = try_upload(upload);
    bool said = false;
    while (!result.ok() && passing(result.error()) && !stop_when_full_ &&
           !leaves_within(kUploadPause)) {
      if (!std::exchange(said, true)) {
        log::warning("cannot store an output yet, trying again file={}: {}", upload.file,
                     result.error().what);
      }
      result = try_upload(upload);
    }
    if (!result.ok()) {
      log::warning("could not store an output file={}: {}", upload.file, result.error().what);
    }
    unlink(upload.file.c_str());
    sent_.put({upload.ticket, std::move(result)});
  });
}

// Such a task is not over: it is run again when there is room for what it writes.
bool Agent::must_stop(const std::vector<Ending>& endings, const std::vector<Sent>& sent) {
  for (const Ending& ending : endings) {
    const model::Outcome& outcome = ending.outcome;
    if (outcome.out().cut() + outcome.err().cut() == 0) continue;
    failure_ = no_room(outcome.why());
  }
  for (const Sent& one : sent) {
    if (!one.result.ok()) failure_ = one.result.error();
  }
  return failure_.has_value();
}

bool Agent::leaves_within(Millis pause) const {
  pollfd leaving = {leaving_.descriptor(), POLLIN, 0};
  return poll(&leaving, 1, static_cast<int>(pause.count())) > 0;
}

// The mind asks again; people want to know why nothing happens.
void Agent::say_trouble(const Error& error, Instant now) {
  const bool never = error.code == Code::unsupported;
  if ((!passing(error) && !never) || now < quiet_until_) return;
  log::warning("a request to the store failed, trying again: {}", error.what);
  quiet_until_ = now + kTroubleSaid;
}

}  // namespace dunlin::worker
