#include "sim/roles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>

#include "sim/witness.h"

namespace dunlin {
namespace {

constexpr size_t kJobsMax = 6;

Code code_of(const Answer& answer) {
  const auto* error = std::get_if<Error>(&answer);
  CHECK(error != nullptr);
  return error->code;
}

}  // namespace

// --- Producer ---

void Producer::produce() {
  if (retired()) return;
  Commit commit{.nonce = random.next() | 1, .writes = {}};
  Push push{.queue = queues_[random.below(queues_.size())], .messages = {}};
  for (uint64_t left = 1 + random.below(3); left > 0; --left) {
    const std::string id = (guarded_ ? kGuarded : 'p') + next_name();
    ledger.push_tried(id);
    if (guarded_) commit.writes.emplace_back(Put{kPushed, id, "", 0});
    push.messages.push_back({id, "body of " + id});
  }
  commit.writes.emplace_back(push);
  insist(commit, [this, push](const Answer& answer) {
    EXPECT_TRUE(std::holds_alternative<Committed>(answer))
        << "a push was refused: " << std::get<Error>(answer).what;
    for (const Message& message : push.messages) ledger.push_acknowledged(message.id);
    later(some(10, 1'500), [this] { produce(); });
  });
}

// --- Worker ---

void Worker::begin() {
  jobs_ = 0;
  for (uint64_t loops = 1 + random.below(2); loops > 0; --loops) pull();
}

void Worker::pull() {
  if (retired()) return;
  if (jobs_ >= kJobsMax) return later(some(50, 200), [this] { pull(); });
  const Pull pull{.queue = queues_[random.below(queues_.size())],
                  .max = 1 + random.below(3),
                  .hold = some(200, 3'000),
                  .wait = random.percent(20) ? Millis(0) : some(1, 8'000)};
  ask(pull, [this, pull](const Answer& answer) {
    if (const auto* got = std::get_if<Deliveries>(&answer)) {
      for (const Delivery& delivery : got->deliveries) {
        ledger.delivered(delivery);
        ++jobs_;
        work({pull.queue, delivery.lease, delivery.attempt, pull.hold});
      }
    }
    later(some(5, 300), [this] { this->pull(); });
  });
}

void Worker::work(const Job& job) {
  // Sometimes longer than it may.
  const auto most = static_cast<uint64_t>(job.hold.count());
  later(some(5, random.percent(15) ? most * 3 : most / 2), [this, job] {
    const uint64_t next = random.below(10);
    if (next == 0) return give_back(job);
    if (next < 4) return renew(job);
    finish(job);
  });
}

void Worker::renew(const Job& job) {
  const uint32_t latest = ledger.latest(job.lease.id);
  const Renew renew{.queue = job.queue, .leases = {job.lease}, .hold = job.hold};
  ask(renew, [this, job, latest](const Answer& answer) {
    const auto* lost = std::get_if<Lost>(&answer);
    if (lost != nullptr && lost->leases.empty()) ledger.renewed(job.lease, job.attempt, latest);
    if (lost != nullptr && !lost->leases.empty() && random.percent(70)) {
      --jobs_;
      return;
    }
    work(job);  // Also with a lost lease: it must not succeed.
  });
}

void Worker::give_back(const Job& job) {
  insist(Renew{.queue = job.queue, .leases = {job.lease}, .hold = Millis(0)},
         [this](const Answer& /*answer*/) { --jobs_; });
}

void Worker::finish(const Job& job) {
  const std::string& id = job.lease.id;
  const std::string value = fmt::format("attempt {} by {}", job.attempt, next_name());
  ledger.finish_tried(id, value);
  const Commit commit{
      .nonce = random.next() | 1,
      .writes = {Put{kDone, id, value, 0}, Finish{.queue = job.queue, .leases = {job.lease}}}};
  insist(commit, [this, job, value](const Answer& answer) {
    if (!std::holds_alternative<Committed>(answer)) return look(job);
    ledger.finish_acknowledged(job.lease.id, job.attempt, value);
    --jobs_;
  });
}

// Someone else did it, or has it. If it is done it only has to go.
void Worker::look(const Job& job) {
  insist(Get{.table = kDone, .keys = {job.lease.id}}, [this, job](const Answer& answer) {
    const Row& row = std::get<Rows>(answer).rows.at(0);
    if (row.version == 0) {
      --jobs_;
      return;
    }
    ledger.found_done(job.lease.id);
    insist(Commit{.nonce = random.next() | 1,
                  .writes = {Finish{.queue = job.queue, .leases = {job.lease}}}},
           [this](const Answer& /*answer*/) { --jobs_; });
  });
}

// --- Counter ---

void Counter::count() {
  if (retired()) return;
  const std::string key = fmt::format("c{}", random.below(2));
  insist(Get{.table = kCounters, .keys = {key}},
         [this, key](const Answer& answer) { increment(key, std::get<Rows>(answer).rows.at(0)); });
}

void Counter::increment(const std::string& key, const Row& row) {
  const std::string name = next_name();
  const std::string value = row.value + name + ";";
  ledger.increment_tried(name);
  const Commit commit{.nonce = random.next() | 1,
                      .writes = {Put{kCounters, key, value, row.version}}};
  insist(commit, [this, key, value](const Answer& answer) {
    if (std::holds_alternative<Committed>(answer)) {
      ledger.increment_acknowledged(key, value);
    } else {
      EXPECT_EQ(code_of(answer), Code::conflict);
    }
    later(some(10, 800), [this] { count(); });
  });
}

// --- Reader ---

void Reader::read() {
  if (retired()) return;
  const auto again = [this](const Answer& /*answer*/) {
    later(some(20, 1'000), [this] { read(); });
  };
  const uint64_t what = random.below(6);
  if (what == 0) return insist(AskInfo{}, again);
  if (what == 1) return insist(AskDepth{"q0"}, again);
  if (what < 4) return read_counter();
  expected_ = ledger.done();
  seen_.clear();
  scan("");
}

void Reader::read_counter() {
  const std::string key = fmt::format("c{}", random.below(2));
  const std::string least = ledger.counter(key);
  insist(Get{.table = kCounters, .keys = {key}}, [this, key, least](const Answer& answer) {
    const std::string& value = std::get<Rows>(answer).rows.at(0).value;
    EXPECT_TRUE(value.starts_with(least)) << key << " was " << least << " and is " << value;
    EXPECT_TRUE(value.starts_with(counters_[key])) << key << " went back to " << value;
    counters_[key] = value;
    later(some(20, 1'000), [this] { read(); });
  });
}

void Reader::scan(const std::string& after) {
  insist(Scan{.table = kDone, .prefix = {}, .after = after, .max = 20},
         [this](const Answer& answer) {
           const std::vector<Row>& rows = std::get<Rows>(answer).rows;
           for (const Row& row : rows) seen_.insert(row.key);
           if (!rows.empty()) return scan(rows.back().key);
           for (const std::string& id : expected_) {
             EXPECT_TRUE(seen_.contains(id)) << "the done row of " << id << " is not seen";
           }
           later(some(20, 1'000), [this] { read(); });
         });
}

// --- Archivist ---

void Archivist::archive() {
  if (retired()) return;
  const std::string name = "b" + next_name();
  upload(name, std::string(random.below(300), static_cast<char>('a' + random.below(26))) + name);
}

void Archivist::upload(const std::string& name, const std::string& bytes) {
  const uint64_t number = random.next();
  insist(BlobPart{.upload = number, .offset = 0, .bytes = bytes},
         [this, name, bytes, number](const Answer& /*part*/) {
           insist(BlobEnd{.upload = number, .name = name, .size = bytes.size()},
                  [this, name, bytes](const Answer& end) {
                    if (std::holds_alternative<Done>(end)) return read_back(name, bytes);
                    EXPECT_EQ(code_of(end), Code::not_found) << std::get<Error>(end).what;
                    upload(name, bytes);  // Forgotten, or it was too late: then it is there.
                  });
         });
}

void Archivist::read_back(const std::string& name, const std::string& bytes) {
  ledger.blob_acknowledged(name, bytes);
  insist(BlobGet{.name = name, .offset = 0, .max = 1'000}, [this, name, bytes](const Answer& got) {
    const auto* found = std::get_if<Bytes>(&got);
    EXPECT_TRUE(found != nullptr && found->bytes == bytes) << "blob " << name << " is not there";
    const auto again = [this](const Answer& /*answer*/) {
      later(some(100, 2'000), [this] { archive(); });
    };
    if (!random.percent(30)) return again(got);
    ledger.blob_forgotten(name);
    insist(BlobErase{name}, again);
  });
}

}  // namespace dunlin
