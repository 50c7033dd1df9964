// A worker's mind over a store in memory that answers when the test says so: no seed, no threads,
// no sleeping. Whatever the mind counts is counted again after each event. One thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/jobs.h"
#include "worker/mind/worker.h"

namespace dunlin {

class MindTest : public TestJobs {
 protected:
  using Match = std::function<bool(const Request&)>;

  void begin() {
    mind = std::make_unique<worker::WorkerMind>(options);
    mind->begin(now());
    settle();
  }

  worker::Now now() const { return {clock.now(), to_us(clock.wall())}; }

  // Every request is answered, and what follows from that, until all that is open are pulls that
  // wait and what the test holds back.
  void settle() {
    while (act() || retry_pulls()) {
    }
  }

  void pass(Millis time) {
    constexpr Millis kStep(50);
    for (; time > Millis(0); time -= kStep) {
      clock.advance(kStep);
      tick();
    }
  }
  void tick() {
    mind->tick(now());
    settle();
  }

  // Requests of this kind are not answered, and not carried out either, until they are let go.
  void hold_back(Match match) { held_back_ = std::move(match); }
  void let_go() {
    held_back_ = {};
    for (worker::WorkerMind::Ask& ask : std::exchange(open, {})) answer(std::move(ask));
    settle();
  }
  // The oldest that is held back gets this answer instead of the store's.
  void answer_with(Answer answer) {
    const uint64_t id = open.at(0).id;
    open.erase(open.begin());
    mind->answered(id, std::move(answer), now());
    settle();
  }

  void end(uint64_t task, model::State state = model::STATE_OK,
           const std::function<void(worker::Ending&)>& change = {}) {
    const auto one =
        std::ranges::find_if(running, [&](const auto& each) { return each.second.task == task; });
    ASSERT_NE(one, running.end()) << "task " << task << " does not run";
    worker::Ending ending;
    ending.ticket = one->first;
    ending.started_us = now().wall_us;
    ending.outcome.set_state(state);
    ending.outcome.set_ran_us(2'000'000);
    ending.outcome.set_blame(state == model::STATE_OK ? model::BLAME_NOBODY : model::BLAME_TASK);
    if (change) change(ending);
    running.erase(one);
    std::vector<worker::Ending> endings;
    endings.push_back(std::move(ending));
    mind->ended(std::move(endings), now());
    settle();
  }

  // Another worker has the next message of the job.
  Delivery rival_pulls(const std::string& job) {
    auto pulled = store->queue().pull(queue(job), 1, std::chrono::hours(1), Millis(0));
    CHECK(pulled.ok() && pulled.value().size() == 1);
    return pulled.value()[0];
  }
  std::string queue(const std::string& job) {
    return read_job(store->table(), job).value().record.queue();
  }
  Depth depth(const std::string& job) { return store->queue().depth(queue(job)).value(); }
  std::optional<model::End> end_of(const std::string& job) {
    const auto end = read_record<model::End>(store->table(), kEnds, job).value();
    return end.version == 0 ? std::nullopt : std::optional(end.record);
  }
  model::Page page(const std::string& job, uint64_t number = 0) {
    return read_record<model::Page>(store->table(), kPages, page_key(job, number)).value().record;
  }
  std::vector<uint64_t> running_tasks() const {
    std::vector<uint64_t> tasks;
    for (const auto& [ticket, one] : running) tasks.push_back(one.task);
    return tasks;
  }
  template <typename Kind>
  static bool is(const Request& request) {
    return std::holds_alternative<Kind>(request);
  }
  // A commit that puts something into the table.
  static Match puts(std::string_view table) {
    return [table](const Request& request) {
      const auto* commit = std::get_if<Commit>(&request);
      return commit != nullptr && std::ranges::any_of(commit->writes, [&](const Write& write) {
               const auto* put = std::get_if<Put>(&write);
               return put != nullptr && put->table == table;
             });
    };
  }

  worker::WorkerOptions options{
      .id = "w", .slots = 2, .tags = {"fast"}, .mem_bytes = 1000, .gpus = 2};
  std::unique_ptr<worker::WorkerMind> mind;
  std::map<uint64_t, worker::Assignment> running;  // By ticket.
  std::vector<uint64_t> started;                   // Tasks, in this order.
  std::vector<uint32_t> attempts;                  // Of those.
  std::vector<worker::WorkerMind::Upload> uploads;
  std::vector<worker::WorkerMind::Ask> open;  // Held back.
  std::vector<Request> seen;                  // All that were asked.

 private:
  struct Parked {
    Pull pull;
    Instant until;
  };

  bool act() {
    mind->check();
    worker::WorkerMind::Effects effects = mind->take();
    for (const uint64_t ticket : effects.drop) running.erase(ticket);
    for (worker::Assignment& one : effects.start) {
      started.push_back(one.task);
      attempts.push_back(one.attempt);
      running.emplace(one.ticket, std::move(one));
    }
    for (worker::WorkerMind::Upload& one : effects.uploads) uploads.push_back(std::move(one));
    for (worker::WorkerMind::Ask& ask : effects.asks) {
      EXPECT_TRUE(validate(ask.request).ok());
      seen.push_back(ask.request);
      if (held_back_ && held_back_(ask.request)) {
        open.push_back(std::move(ask));
      } else {
        answer(std::move(ask));
      }
    }
    return !effects.asks.empty();
  }

  void answer(worker::WorkerMind::Ask&& ask) {
    const auto* pull = std::get_if<Pull>(&ask.request);
    if (pull != nullptr && pull->wait > Millis(0)) {
      parked_.emplace(ask.id, Parked{*pull, clock.now() + pull->wait});
      return;
    }
    mind->answered(ask.id, store->ask(std::move(ask.request)), now());
    mind->check();
  }

  bool retry_pulls() {
    bool any = false;
    for (auto& [id, one] : std::exchange(parked_, {})) {
      Answer answer = store->ask(Request(one.pull));
      const auto* found = std::get_if<Deliveries>(&answer);
      if (found != nullptr && found->deliveries.empty() && clock.now() < one.until) {
        parked_.emplace(id, one);
        continue;
      }
      any = true;
      mind->answered(id, std::move(answer), now());
      mind->check();
    }
    return any;
  }

  Match held_back_;
  std::map<uint64_t, Parked> parked_;
};

}  // namespace dunlin
