#include "sim/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/witness.h"

namespace dunlin {
namespace {

bool is_guarded(const std::string& id) { return id.front() == kGuarded; }

std::map<std::string, std::string> rows_of(Core& core, const std::string& table, Instant now) {
  std::map<std::string, std::string> rows;
  const Answer answer =
      core.handle(Scan{.table = table, .prefix = {}, .after = {}, .max = kBatchMax}, now);
  for (const Row& row : std::get<Rows>(answer).rows) rows[row.key] = row.value;
  return rows;
}

}  // namespace

// A message that was not guarded may have been pushed again, and then it begins anew.
void Checker::check_finished(const std::string& id, const MessageState& message) const {
  if (!is_guarded(id) || !message.finished) return;
  EXPECT_LE(message.latest, *message.finished)
      << "message " << id << " was delivered again although attempt " << *message.finished
      << " was finished";
}

void Checker::delivered(const Delivery& delivery) {
  const std::string& id = delivery.lease.id;
  ASSERT_TRUE(messages_.contains(id)) << "nobody pushed message " << id;
  EXPECT_EQ(delivery.body, "body of " + id);
  MessageState& message = messages_.at(id);
  if (is_guarded(id)) {
    EXPECT_TRUE(message.attempts.insert(delivery.attempt).second)
        << "attempt " << delivery.attempt << " of message " << id << " was delivered twice";
  }
  message.latest = std::max(message.latest, delivery.attempt);
  check_finished(id, message);
}

void Checker::renewed(const Lease& lease, uint32_t attempt, uint32_t latest_before) {
  if (!is_guarded(lease.id)) return;
  EXPECT_LE(latest_before, attempt) << "a stale lease on message " << lease.id << " was renewed";
}

void Checker::finish_tried(const std::string& id, const std::string& value) {
  messages_.at(id).tried.insert(value);
}

void Checker::finish_acknowledged(const std::string& id, uint32_t attempt,
                                  const std::string& value) {
  MessageState& message = messages_.at(id);
  EXPECT_FALSE(message.done) << "message " << id << " was done twice: " << *message.done << " and "
                             << value;
  message.done = value;
  message.finished = attempt;
  check_finished(id, message);
  ++finishes_;
}

void Checker::found_done(const std::string& id) {
  EXPECT_FALSE(messages_.at(id).tried.empty()) << "nobody did message " << id;
}

void Checker::increment_tried(const std::string& increment) { increments_.insert(increment); }

void Checker::increment_acknowledged(const std::string& key, const std::string& value) {
  std::string& last = counters_[key];
  // Acknowledgements may come in another order than they happened.
  EXPECT_TRUE(continues(value, last) || continues(last, value))
      << "counter " << key << " was " << last << " and is " << value;
  if (value.size() > last.size()) last = value;
  ++increments_acknowledged_;
}

std::string Checker::counter(const std::string& key) const {
  const auto found = counters_.find(key);
  return found == counters_.end() ? "" : found->second;
}

bool Checker::continues(const std::string& value, const std::string& before) {
  return value.starts_with(before);
}

std::vector<std::string> Checker::done() const {
  std::vector<std::string> ids;
  for (const auto& [id, message] : messages_) {
    if (message.done) ids.push_back(id);
  }
  return ids;
}

void Checker::check(Core& core, Instant now) const {
  check_messages(core, now);
  check_counters(core, now);
  for (const auto& [name, bytes] : blobs_) {
    const Answer answer = core.handle(BlobGet{.name = name, .offset = 0, .max = 1000}, now);
    const auto* found = std::get_if<Bytes>(&answer);
    ASSERT_TRUE(found != nullptr) << "blob " << name << " is lost";
    EXPECT_EQ(found->bytes, bytes) << "blob " << name;
  }
}

void Checker::check_messages(Core& core, Instant now) const {
  const auto pushed = rows_of(core, kPushed, now);
  const auto done = rows_of(core, kDone, now);
  for (const auto& [id, message] : messages_) {
    const auto row = done.find(id);
    if (is_guarded(id)) {
      EXPECT_TRUE(pushed.contains(id) || !message.pushed) << "the push of " << id << " is lost";
      EXPECT_EQ(pushed.contains(id), row != done.end()) << "message " << id << " is lost";
    } else if (message.pushed) {
      EXPECT_TRUE(row != done.end()) << "message " << id << " is lost";
    }
    if (row == done.end()) {
      EXPECT_FALSE(message.done) << "the row of message " << id << " is lost";
      continue;
    }
    EXPECT_TRUE(message.tried.contains(row->second)) << id << " has a strange row " << row->second;
    EXPECT_EQ(message.done.value_or(row->second), row->second) << "message " << id;
  }
  for (const auto& [id, value] : done) {
    EXPECT_TRUE(messages_.contains(id)) << "nobody pushed message " << id << ", but it is done";
  }
}

void Checker::check_counters(Core& core, Instant now) const {
  auto rows = rows_of(core, kCounters, now);
  for (const auto& [key, acknowledged] : counters_) {
    EXPECT_TRUE(continues(rows[key], acknowledged))
        << "counter " << key << " is " << rows[key] << " and was " << acknowledged;
  }
  std::set<std::string> seen;
  for (const auto& [key, value] : rows) {
    for (size_t at = 0; at < value.size();) {
      const size_t end = value.find(';', at);
      const std::string increment = value.substr(at, end - at);
      EXPECT_TRUE(increments_.contains(increment)) << "nobody asked for increment " << increment;
      EXPECT_TRUE(seen.insert(increment).second) << increment << " happened twice";
      at = end + 1;
    }
  }
}

}  // namespace dunlin
