// Jobs and outcomes written by hand, for tests of what reads them. One thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/jobs/submit.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/rows.h"
#include "store/memory.h"
#include "testing/clock.h"

namespace dunlin {

// Stores of one engine must not share their numbers.
inline uint64_t another_seed() {
  static uint64_t last = 1000;
  return ++last;
}

// Its owner sleeps before its n-th request, or its n-th commit, and something happens meanwhile.
class Between final : public RequestStore {
 public:
  enum class Before { request, commit };
  using Happenings = std::map<int, std::function<void()>>;  // By the number, from 1 on.
  Between(RequestStore& store, Before before, Happenings what)
      : RequestStore(another_seed()), store_(store), before_(before), what_(std::move(what)) {}
  int asked = 0;  // Requests, or commits.

 protected:
  Answer call(Request&& request) override {
    const bool counts = before_ == Before::request || std::holds_alternative<Commit>(request);
    const auto next = counts ? what_.find(++asked) : what_.end();
    if (next != what_.end()) next->second();
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  const Before before_;
  const Happenings what_;
};

// The answer to the n-th commit is lost, something happens, and the same commit is asked again.
class Repeating final : public RequestStore {
 public:
  Repeating(RequestStore& store, int commit, std::function<void()> what)
      : RequestStore(another_seed()), store_(store), left_(commit), what_(std::move(what)) {}

 protected:
  Answer call(Request&& request) override {
    if (std::holds_alternative<Commit>(request) && --left_ == 0) {
      (void)store_.ask(Request(request));
      what_();
    }
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  int left_;
  const std::function<void()> what_;
};

// Its owner dies after so many requests: it hears nothing any more.
class Dying final : public RequestStore {
 public:
  Dying(RequestStore& store, int requests)
      : RequestStore(another_seed()), store_(store), left_(requests) {}

 protected:
  Answer call(Request&& request) override {
    if (left_ == 0) return Error{Code::unavailable, "dead"};
    --left_;
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  int left_;
};

class TestJobs : public ::testing::Test {
 protected:
  static model::Spec spec_of(uint64_t tasks) {
    model::Spec spec;
    spec.set_owner("ann");
    spec.mutable_command()->add_argv("true");
    spec.set_tasks(tasks);
    spec.set_priority(kPriorityDefault);
    spec.set_created_us(now_us());
    return spec;
  }

  static int64_t now_us() { return 1'000'000'000; }

  void submit_job(const std::string& id, const model::Spec& spec) {
    const auto submitted = submit(*store, spec, {.id = id});
    ASSERT_TRUE(submitted.ok()) << submitted.error().what;
  }
  void submit_job(const std::string& id, uint64_t tasks) { submit_job(id, spec_of(tasks)); }

  void put(std::string_view table, const std::string& key, const std::string& value) {
    ASSERT_TRUE(store->table().put(table, {key, value, kAnyVersion}).ok());
  }

  void end_job(const std::string& id, model::End::Kind kind, uint64_t ok, uint64_t failed) {
    model::End end;
    end.set_kind(kind);
    end.set_ok(ok);
    end.set_failed(failed);
    end.set_ended_us(now_us() + 2'000'000);
    put(kEnds, id, end.SerializeAsString());
  }

  static model::Outcome outcome(uint64_t task, model::State state, const std::string& out = "") {
    model::Outcome outcome;
    outcome.set_offset(offset_of(task));
    outcome.set_state(state);
    outcome.set_attempt(1);
    outcome.mutable_out()->set_bytes(out);
    outcome.set_received_us(now_us() + 1000);
    outcome.set_waited_us(500);
    outcome.set_ran_us(2000);
    if (state == model::STATE_FAILED) {
      outcome.set_exit(3);
      outcome.set_why("exit code 3");
    }
    return outcome;
  }

  void put_page(const std::string& id, uint64_t number, const model::Page& page) {
    put(kPages, page_key(id, number), page.SerializeAsString());
  }

  // All tasks of [first, last) have outcomes; those in `failed` failed. Grows the tree.
  void run_tasks(const std::string& id, uint64_t tasks, uint64_t first, uint64_t last,
                 const std::vector<uint64_t>& failed = {}) {
    std::map<uint64_t, model::Page> pages;
    for (uint64_t task = first; task < last; ++task) {
      const bool bad = std::ranges::find(failed, task) != failed.end();
      *pages[page_of(task)].add_outcomes() =
          outcome(task, bad ? model::STATE_FAILED : model::STATE_OK, std::to_string(task) + "\n");
    }
    for (auto& [number, page] : pages) {
      page.add_workers("w1");
      page.set_committed_us(now_us() + 9000);
      put_page(id, number, page);
      if (is_full(page, number, tasks)) propagate(id, tasks, number, counts_of(page));
    }
  }

  void propagate(const std::string& id, uint64_t tasks, uint64_t number, Counts counts) {
    for (uint32_t level = 1; level <= root_level(tasks); ++level) {
      const std::string key = node_key(id, level, parent_of(number));
      model::Node node = read_record<model::Node>(store->table(), kNodes, key).value().record;
      add_child(node, child_of(number), counts);
      put(kNodes, key, node.SerializeAsString());
      number = parent_of(number);
      if (!is_full(node, level, number, tasks)) return;
      counts = counts_of(node);
    }
  }

  std::vector<model::Range> queued(const std::string& id) {
    const std::string queue = read_job(store->table(), id).value().record.queue();
    std::vector<model::Range> ranges;
    const auto pulled = store->queue().pull(queue, 100, Millis(1000), Millis(0));
    for (const dunlin::Delivery& delivery : pulled.value()) {
      model::Range range;
      EXPECT_TRUE(range.ParseFromString(delivery.body));
      if (range.job() == id) ranges.push_back(range);
    }
    clock.advance(Millis(2000));  // The leases end.
    return ranges;
  }

  SimClock clock;
  std::unique_ptr<RequestStore> store = memory_store(clock);
};

}  // namespace dunlin
