#include "stores/pg_async_store.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/lane.h"
#include "base/wait.h"
#include "stores/postgres/pg_store.h"

namespace dunlin::stores {
namespace {

constexpr Millis kTryMax = Millis(10'000);
constexpr Millis kLookMax = Millis(5'000);  // Without a bell, in case one was missed.

struct Posted {
  uint64_t id = 0;
  Request request;
};

struct Parked {
  uint64_t id = 0;
  Pull pull;
  Instant until;
  Instant look;  // At the latest.
};

class AsyncPgStore final : public AsyncStore {
 public:
  AsyncPgStore(postgres::PgAddress address, const Clock& clock)
      : clock_(clock), engine_(std::move(address), clock), thread_([this] { run(); }) {}
  ~AsyncPgStore() override {
    ending_ = true;
    inbox_.put({});
    thread_.join();
  }
  AsyncPgStore(const AsyncPgStore&) = delete;
  AsyncPgStore& operator=(const AsyncPgStore&) = delete;

  void post(uint64_t id, Request&& request) override { inbox_.put({id, std::move(request)}); }

  std::vector<NumberedAnswer> gather(Instant until, int also) override {
    std::vector<NumberedAnswer> answers = answers_.take();
    if (!answers.empty()) return answers;
    wait_until(until, clock_, also, answers_.descriptor());
    return answers_.take();
  }

 private:
  void run() {
    while (true) {
      for (Posted& posted : inbox_.take()) {
        if (ending_) return;
        carry_out(std::move(posted));
      }
      look_at_parked();
      if (ending_) return;
      Instant wake = clock_.now() + kLookMax;
      for (const Parked& parked : parked_) wake = std::min({wake, parked.until, parked.look});
      const int bells = parked_.empty() ? -1 : engine_.link().descriptor();
      wait_until(wake, clock_, bells, inbox_.descriptor());
    }
  }

  void carry_out(Posted&& posted) {
    const auto* pull = std::get_if<Pull>(&posted.request);
    if (pull == nullptr || pull->wait == Millis(0)) {
      answers_.put({posted.id, engine_.handle(posted.request, clock_.now() + kTryMax)});
      return;
    }
    Parked parked{posted.id, *pull, clock_.now() + pull->wait, {}};
    if (!answer(parked)) parked_.push_back(std::move(parked));
  }

  // Whether it was answered.
  bool answer(Parked& parked) {
    const Instant deadline = clock_.now() + kTryMax;
    // Listening comes first: what is pushed after the look rings.
    const auto next = engine_.watch(parked.pull.queue, deadline);
    Answer found = next.ok() ? engine_.handle(parked.pull, deadline) : Answer(next.error());
    const auto* deliveries = std::get_if<Deliveries>(&found);
    const bool nothing = deliveries != nullptr && deliveries->deliveries.empty();
    if (!nothing || clock_.now() >= parked.until) {
      answers_.put({parked.id, std::move(found)});
      return true;
    }
    parked.look = clock_.now() + std::min(kLookMax, next.value().value_or(kLookMax));
    return false;
  }

  void look_at_parked() {
    std::vector<Parked> still;
    for (Parked& parked : std::exchange(parked_, {})) {
      const auto rang = engine_.rang(parked.pull.queue);
      const bool due = !rang.ok() || rang.value() || clock_.now() >= parked.look ||
                       clock_.now() >= parked.until || !engine_.link().connected();
      if (!due || !answer(parked)) still.push_back(std::move(parked));
    }
    std::ranges::move(still, std::back_inserter(parked_));
  }

  const Clock& clock_;
  postgres::PgEngine engine_;   // Of the thread.
  std::vector<Parked> parked_;  // Of the thread.
  Box<Posted> inbox_;
  Box<NumberedAnswer> answers_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace

std::unique_ptr<AsyncStore> async_pg_store(postgres::PgAddress address, const Clock& clock) {
  return std::make_unique<AsyncPgStore>(std::move(address), clock);
}

}  // namespace dunlin::stores
