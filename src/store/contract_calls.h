// The calls that the contract's tests make, in short: each fails the test if the store's answer is
// out of bounds, and yields what a test compares. Only for contract_*.cc. From any thread, each
// store from one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace dunlin::contract {

inline constexpr Millis kLong = std::chrono::minutes(5);  // A lease longer than any test.
inline constexpr Millis kNoWait = Millis(0);

using Strings = std::vector<std::string>;

const Strings& odd_names();  // No queue or table has one of these.
const Strings& odd_keys();   // Nor a row, a message or a blob one of these.

// The value, or a failed test and an empty one.
template <typename T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  ADD_FAILURE() << result.error().what;
  return T{};
}

// "ok", "invalid", "not found" or "conflict"; what the error says if it is another.
std::string outcome_of(const Error& error);
template <typename T>
std::string outcome(const Result<T>& result) {
  return result.ok() ? "ok" : outcome_of(result.error());
}

std::vector<Message> messages(size_t count, size_t body_size = 5);  // Their ids are in order.
Strings ids(const std::vector<Delivery>& deliveries);
std::vector<Lease> leases(const std::vector<Delivery>& deliveries);
void push(Store& store, const std::string& queue, const std::vector<Message>& sent);
void push_ids(Store& store, const std::string& queue, const Strings& sent);
std::vector<Delivery> pull(Store& store, const std::string& queue, size_t max = kBatchMax,
                           Millis hold = kLong);
Delivery pull_one(Store& store, const std::string& queue, Millis hold = kLong);
std::string finish(Store& store, const std::string& queue, const std::vector<Lease>& done);
Depth depth(Store& store, const std::string& queue);

Strings keys(const std::vector<Row>& rows);
Row get(Store& store, const std::string& table, const std::string& key);
uint64_t put(Store& store, const std::string& table, const std::string& key,
             const std::string& value, uint64_t version = 0);

// All pages of a scan.
std::vector<Row> scan(Store& store, const std::string& table, const std::string& prefix,
                      std::string after, size_t max);

// Adds one to the row "counter", as often as it takes.
void increment(Store& store, const std::string& table);

// Does work(0) to work(count - 1), each in a thread of its own or one after the other.
void do_all(bool threads, size_t count, const std::function<void(size_t)>& work);

std::string all_bytes();  // Every byte value, twice.

// Bytes that differ from place to place, so that a part at a wrong place is noticed.
std::string bytes_at(uint64_t offset, size_t size);
Result<void> put_blob(Store& store, const std::string& name, const std::string& bytes);

// The bytes from `offset` on, `size` of them unless the blob ends before.
std::string read_blob(Store& store, const std::string& name, uint64_t offset, size_t size);

// All pages of a list.
Strings blob_names(Store& store, const std::string& prefix, std::string after, size_t max);

}  // namespace dunlin::contract
