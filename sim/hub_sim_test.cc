// Goal: whatever happens to the network, the hub, its disk and the clients, what the clients were
// told is true, and when the trouble ends all work gets done.
//
// Method: the real hub (mind, sessions, codec, engine) and real clients in one simulated world. The
// seed picks who takes part, what they do and which faults there are (some of them, not all, so
// that each gets its turn). Faults for a while; then none, and everything must be answered and
// finished. Two judges look on: a witness at the hub's wire (sim/witness.h), a ledger of what the
// clients were told (sim/checker.h). A failure is replayed with `SEED=n build/debug/sim_test`.
#include <gtest/gtest.h>

#include <memory>

#include "base/log.h"
#include "sim/checker.h"
#include "sim/hub_node.h"
#include "sim/network.h"
#include "sim/roles.h"
#include "sim/seeds.h"

namespace dunlin {
namespace {

constexpr uint64_t kStepsMax = 200'000;  // Of one run: more is a loop that goes nowhere.

class HubWorld {
 public:
  explicit HubWorld(uint64_t seed) : random_(seed), hub_(events_, network_, random_, choose_hub()) {
    add_clients();
    choose_faults();
  }

  // Returns a number that depends on everything that happened: equal runs give equal numbers.
  uint64_t run() {
    hub_.start();
    for (const auto& client : clients_) client->start();
    pass(Millis(5'000 + random_.below(15'000)));
    end_faults();
    finish_all();
    if (testing::Test::HasFailure()) return 0;
    hub_.core().expire(events_.now());
    ledger_.check(hub_.core(), events_.now());
    serve_promptly();
    drain();
    return network_.hash() ^ random_.next();
  }

  const Checker& ledger() const { return ledger_; }

 private:
  HubNodeOptions choose_hub() {
    HubNodeOptions options;
    options.durable = random_.percent(50);
    if (random_.percent(30)) options.commit_fails = 3;
    if (random_.percent(30)) {
      options.disk_faults = {.write_fails = 10, .sync_fails = 10, .create_fails = 20};
    } else if (random_.percent(20)) {
      options.disk_faults.capacity = 0;
    } else if (random_.percent(20)) {
      options.disk_faults.read_fails = 10;
    }
    options.disk_is_slow = random_.percent(15);
    if (random_.percent(25)) {
      options.limits = {.waiting_max = 1 + random_.below(3),
                        .unanswered_max = 2 + random_.below(4),
                        .staged_max = 1 + random_.below(500),
                        .staged_all_max = 1 + random_.below(1'000),
                        .uploads_max = 1 + random_.below(2),
                        .uploads_all_max = 1 + random_.below(2),
                        .beginners_max = random_.below(3)};
      options.unsent_max = random_.below(500);
    }
    return options;
  }

  void add_clients() {
    const ClientWorld world{events_, network_, random_, ledger_};
    std::vector<std::string> queues{"q0"};
    if (random_.percent(50)) queues.emplace_back("q1");
    const auto add = [&]<typename Role>(std::type_identity<Role>, uint64_t count, auto... more) {
      for (; count > 0; --count) {
        clients_.push_back(std::make_unique<Role>(world, clients_.size() + 1, more...));
      }
    };
    add(std::type_identity<Producer>(), 1 + random_.below(2), queues, true);
    add(std::type_identity<Producer>(), random_.below(2), queues, false);
    add(std::type_identity<Counter>(), random_.below(3));
    add(std::type_identity<Reader>(), random_.below(2));
    add(std::type_identity<Archivist>(), random_.below(4));
    first_worker_ = clients_.size();
    add(std::type_identity<Worker>(), 1 + random_.below(4), queues);
    for (size_t i = 0; i < 4; ++i) {
      hands_.push_back(std::make_unique<Hand>(world, 100 + i));
    }
  }

  // Each kind is there in about half of the worlds.
  void choose_faults() {
    const auto maybe = [this](uint64_t percent) { return random_.percent(50) ? percent : 0; };
    network_.faults = {.request_breaks = maybe(1 + random_.below(8)),
                       .answer_breaks = maybe(1 + random_.below(8)),
                       .late = maybe(50),
                       .half_open = maybe(30),
                       .slow = maybe(10),
                       .no_link = maybe(20)};
    const auto maybe_repeat = [this](uint64_t most_ms, const std::function<void()>& what) {
      if (random_.percent(50)) repeat(most_ms, what);
    };
    maybe_repeat(8'000, [this] { hub_.crash(pause()); });
    maybe_repeat(8'000, [this] { hub_.crash_in_turn(pause()); });
    maybe_repeat(10'000, [this] { hub_.stop(pause()); });
    maybe_repeat(5'000, [this] { clients_[random_.below(clients_.size())]->crash(); });
    maybe_repeat(6'000, [this] {
      network_.cut_off(1 + random_.below(clients_.size()), Millis(random_.below(15'000)));
    });
    repeat(4'000, [this] { hub_.start_disk_faults(); });
    repeat(2'000, [this] { hub_.end_disk_faults(); });
  }

  Millis pause() { return Millis(random_.below(random_.percent(20) ? 8'000 : 500)); }

  void repeat(uint64_t most_ms, const std::function<void()>& what) {
    events_.after(Millis(random_.below(most_ms)), [this, most_ms, what] {
      if (!faulty_) return;
      what();
      repeat(most_ms, what);
    });
  }

  void end_faults() {
    faulty_ = false;
    network_.faults = {};
    network_.heal();
    hub_.end_all_faults();
  }

  void pass(Millis time) {
    const Instant until = events_.now() + time;
    while (!testing::Test::HasFailure() && ++steps_ < kStepsMax && events_.step(until)) {
    }
    if (steps_ >= kStepsMax) ADD_FAILURE() << "so much happens that nothing gets done";
  }

  // False if it is not so within five minutes.
  template <typename Condition>
  bool wait_until(Condition condition) {
    for (int seconds = 0; seconds < 300; ++seconds) {
      if (testing::Test::HasFailure() || condition()) return true;
      pass(Millis(1'000));
    }
    return false;
  }

  // A queue that is left alone becomes empty: the workers have all day.
  void finish_all() {
    for (size_t i = 0; i < first_worker_; ++i) clients_[i]->retire();
    const auto all_done = [this] {
      for (size_t i = 0; i < first_worker_; ++i) {
        if (!clients_[i]->idle()) return false;
      }
      return hub_.up() && depth("q0") == Depth{} && depth("q1") == Depth{};
    };
    // What clients gave up on may still be on its way, to a hub that is still down.
    for (const Millis late : {3 * Network::kLateMax, Millis(0)}) {
      EXPECT_TRUE(wait_until(all_done))
          << "without faults, some work is not done: "
          << (hub_.up() ? depth("q0").ready + depth("q1").ready : 0) << " messages are ready";
      pass(late);
    }
    for (const auto& client : clients_) client->retire();
    EXPECT_TRUE(wait_until([this] {
      return std::ranges::all_of(clients_, [](const auto& client) { return client->idle(); });
    })) << "without faults, some request has no answer";
  }

  Depth depth(const std::string& queue) {
    const Answer answer = hub_.core().handle(AskDepth{queue}, events_.now());
    const auto* found = std::get_if<Depth>(&answer);
    return found == nullptr ? Depth{.ready = 1} : *found;
  }

  // Who waits is served as soon as there is work, each with a share, and over a crash of the hub.
  void serve_promptly() {
    size_t served = 0;
    for (size_t i = 1; i < hands_.size(); ++i) {
      hands_[i]->insist(Pull{.queue = "prompt", .max = 10, .hold = Millis(1), .wait = kLong},
                        [&served](const Answer& answer) {
                          served += std::get<Deliveries>(answer).deliveries.size();
                        });
    }
    pass(Millis(1'000));
    hub_.crash(Millis(100));
    pass(Millis(5'000));  // Enough to come back.
    EXPECT_EQ(served, 0U);
    Push push{.queue = "prompt", .messages = {}};
    for (size_t i = 1; i < hands_.size(); ++i) push.messages.push_back({std::to_string(i), ""});
    hands_[0]->insist(Commit{.nonce = 1, .writes = {push}}, [](const Answer&) {});
    pass(Millis(1'000));
    for (const auto& hand : hands_) EXPECT_TRUE(hand->idle()) << "a pull waits beside work";
    EXPECT_EQ(served, push.messages.size());
  }

  // A hub that is stopped answers those who wait.
  void drain() {
    bool answered = false;
    hands_[0]->insist(Pull{.queue = "empty", .max = 1, .hold = Millis(1), .wait = kLong},
                      [&answered](const Answer& answer) {
                        answered = std::get<Deliveries>(answer).deliveries.empty();
                      });
    pass(Millis(2'000));
    EXPECT_FALSE(answered);
    hub_.stop(Millis(1'000));
    pass(Millis(500));
    EXPECT_TRUE(answered) << "a pull got no answer from a hub that stopped";
  }

  static constexpr Millis kLong = std::chrono::minutes(1);

  Random random_;
  Events events_;
  Network network_{events_, random_};
  Checker ledger_;
  HubNode hub_;
  std::vector<std::unique_ptr<Client>> clients_;
  size_t first_worker_ = 0;
  std::vector<std::unique_ptr<Hand>> hands_;
  bool faulty_ = true;
  uint64_t steps_ = 0;
};

TEST(HubSim, WhatClientsWereToldIsTrueAndAllWorkGetsDone) {
  log::set_level(log::Level::off);
  const uint64_t errors = log::errors();
  size_t finishes = 0;
  size_t increments = 0;
  const std::vector<uint64_t> all = seeds(1000);
  for (const uint64_t seed : all) {
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    HubWorld world(seed);
    const uint64_t first = world.run();
    EXPECT_EQ(log::errors(), errors) << "an error was logged";
    if (HasFailure()) break;
    if (runs_twice(seed)) {
      EXPECT_EQ(first, HubWorld(seed).run()) << "something escaped the seed";
    }
    finishes += world.ledger().finishes();
    increments += world.ledger().increments();
  }
  EXPECT_TRUE(HasFailure() || finishes + increments > 10 * all.size()) << "too little was tried";
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace dunlin
