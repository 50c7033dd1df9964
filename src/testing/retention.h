// For tests of what is removed: jobs that have ended, stores that count or die, and a look at what
// is left. One thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/jobs/release.h"
#include "retention/remove.h"
#include "retention/sweeper.h"
#include "testing/jobs.h"

namespace dunlin {

// Counts what is asked.
class Counting final : public RequestStore {
 public:
  explicit Counting(RequestStore& store) : RequestStore(another_seed()), store_(store) {}
  int requests = 0;
  int commits = 0;
  size_t rows_most = 0;  // Of a commit.
  size_t rows_read = 0;  // Of the table jobs.

 protected:
  Answer call(Request&& request) override {
    ++requests;
    if (const auto* commit = std::get_if<Commit>(&request)) {
      ++commits;
      rows_most = std::max(rows_most, commit->writes.size());
    }
    const auto* scan = std::get_if<Scan>(&request);
    const bool of_jobs = scan != nullptr && scan->table == kJobs;
    Answer answer = store_.ask(std::move(request));
    const auto* rows = std::get_if<Rows>(&answer);
    if (of_jobs && rows != nullptr) rows_read += rows->rows.size();
    return answer;
  }

 private:
  RequestStore& store_;
};

// Keeps a copy of each commit.
class Copying final : public RequestStore {
 public:
  explicit Copying(RequestStore& store) : RequestStore(another_seed()), store_(store) {}
  std::vector<Commit> commits;

 protected:
  Answer call(Request&& request) override {
    if (const auto* commit = std::get_if<Commit>(&request)) commits.push_back(*commit);
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
};

class TestRetention : public TestJobs {
 protected:
  static WallTime wall_of(int64_t time_us) { return WallTime(Millis(time_us / 1000)); }
  // After the end of jobs: when workers may still write something, and when they do not.
  const WallTime kSoonLater = wall_of(now_us()) + std::chrono::minutes(5);
  const WallTime kMuchLater = wall_of(now_us()) + std::chrono::hours(5);

  struct How {
    std::string key = {};
    model::End::Kind kind = model::End::DONE;
    uint64_t failed = 0;
    uint64_t keep_ms = 0;
    std::string owner = "ann";
  };
  void ended_job(const std::string& id, uint64_t tasks, const How& how) {
    model::Spec spec = spec_of(tasks);
    spec.set_keep_ms(how.keep_ms);
    spec.set_owner(how.owner);
    const auto submitted = submit(*store, spec, {.id = id, .key = how.key});
    ASSERT_TRUE(submitted.ok()) << submitted.error().what;
    drain(read_job(store->table(), id).value().record.queue());
    if (tasks <= 1000) {
      run_tasks(id, tasks, 0, tasks);
    } else {
      put_page(id, 0, {});
      put_page(id, 200, {});
      put(kNodes, node_key(id, 1, 0), "");
      put(kNodes, node_key(id, 2, 0), "");
    }
    end_job(id, how.kind, tasks - how.failed, how.failed);
  }

  void submit_after(const std::string& id, const std::vector<std::string>& others) {
    model::Spec spec = spec_of(1);
    for (const std::string& other : others) spec.add_after(other);
    submit_job(id, spec);
  }

  void drain(const std::string& queue) {
    std::vector<Lease> leases;
    const auto pulled = store->queue().pull(queue, 100, Millis(1000), Millis(0));
    for (const dunlin::Delivery& one : pulled.value()) leases.push_back(one.lease);
    ASSERT_TRUE(store->queue().finish(queue, leases).ok());
  }

  void put_blob(const std::string& name) {
    const auto put = store->blobs().put(
        name, 1, [](uint64_t, size_t) -> Result<std::string> { return std::string("x"); });
    ASSERT_TRUE(put.ok()) << put.error().what;
  }

  void push_reply(const std::string& queue, const std::string& job) {
    model::Reply reply;
    reply.set_job(job);
    const Message message{"r-" + job, reply.SerializeAsString()};
    ASSERT_TRUE(store->queue().push(queue, std::span(&message, 1)).ok());
  }

  // All rows and blobs that name the job, one a line.
  std::string left_of(const std::string& job) {
    std::string left;
    const auto names = [&](const std::string& key) {
      return key == job || key.starts_with(job + "/") || key.ends_with("/" + job);
    };
    const Info info = store->info().value();
    for (const Info::TableInfo& table : info.tables) {
      const std::vector<Row> rows = store->table().scan(table.name, "", "", kBatchMax).value();
      for (const Row& row : rows) {
        const bool value = table.name == kKeys && row.value == job;
        if (names(row.key) || value) left += table.name + " " + row.key + "\n";
      }
    }
    const std::vector<BlobInfo> blobs = store->blobs().list("jobs/", "", 1000).value();
    for (const BlobInfo& blob : blobs) {
      if (names(blob.name.substr(5))) left += blob.name + "\n";
    }
    return left;
  }

  model::History history_of_day() {
    return read_record<model::History>(store->table(), kHistory,
                                       retention::history_key(now_us() + 2'000'000, "ann"))
        .value()
        .record;
  }

  // A sweeper that is alone, for so long from `now` on, with a look each minute. It keeps for ever
  // what no rule says.
  void sweep_for(Millis time, WallTime now) {
    retention::Sweeper sweeper({.sole = true, .not_before = WallTime()});
    // A store without the state of an earlier sweeper: its time is `now`.
    ASSERT_TRUE(store->table().erase(kRetention, "sweep", kAnyVersion).ok());
    for (Millis passed(0); passed <= time; passed += std::chrono::minutes(1)) {
      const auto swept = sweeper.sweep(*store, {Instant(passed), now + passed});
      ASSERT_TRUE(swept.ok()) << swept.error().what;
    }
  }
};

}  // namespace dunlin
