#include "store/contract_calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <thread>

namespace dunlin::contract {

const Strings& odd_names() {
  static const Strings names = {"",
                                "a b",
                                "a\nb",
                                "a/b",
                                std::string("a\0b", 3),
                                "caf\xc3\xa9",
                                "a:b",
                                "\xff",
                                std::string(kNameMax + 1, 'x')};
  return names;
}

const Strings& odd_keys() {
  static const Strings names = {"", "a b", "a\tb", std::string("a\0b", 3), "caf\xc3\xa9", "a\x7f"};
  return names;
}

std::string outcome_of(const Error& error) {
  if (error.code == Code::invalid) return "invalid";
  if (error.code == Code::not_found) return "not found";
  if (error.code == Code::conflict) return "conflict";
  return error.what;
}

std::vector<Message> messages(size_t count, size_t body_size) {
  std::vector<Message> made;
  made.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    made.push_back(
        {fmt::format("m{:06}", i), std::string(body_size, static_cast<char>('a' + i % 26))});
  }
  return made;
}

Strings ids(const std::vector<Delivery>& deliveries) {
  Strings found;
  for (const Delivery& delivery : deliveries) found.push_back(delivery.lease.id);
  return found;
}

std::vector<Lease> leases(const std::vector<Delivery>& deliveries) {
  std::vector<Lease> found;
  found.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) found.push_back(delivery.lease);
  return found;
}

Depth depth(Store& store, const std::string& queue) { return must(store.queue().depth(queue)); }

Strings keys(const std::vector<Row>& rows) {
  Strings found;
  for (const Row& row : rows) found.push_back(row.key);
  return found;
}

void push(Store& store, const std::string& queue, const std::vector<Message>& sent) {
  EXPECT_EQ(outcome(store.queue().push(queue, sent)), "ok");
}

void push_ids(Store& store, const std::string& queue, const Strings& sent) {
  std::vector<Message> made;
  made.reserve(sent.size());
  for (const std::string& id : sent) made.push_back({id, "body of " + id});
  push(store, queue, made);
}

std::vector<Delivery> pull(Store& store, const std::string& queue, size_t max, Millis hold) {
  return must(store.queue().pull(queue, max, hold, kNoWait));
}

Delivery pull_one(Store& store, const std::string& queue, Millis hold) {
  return pull(store, queue, 1, hold).at(0);
}

std::string finish(Store& store, const std::string& queue, const std::vector<Lease>& done) {
  return outcome(store.queue().finish(queue, done));
}

Row get(Store& store, const std::string& table, const std::string& key) {
  return must(store.table().get(table, Strings{key})).at(0);
}

uint64_t put(Store& store, const std::string& table, const std::string& key,
             const std::string& value, uint64_t version) {
  return must(store.table().put(table, {key, value, version}));
}

std::vector<Row> scan(Store& store, const std::string& table, const std::string& prefix,
                      std::string after, size_t max) {
  std::vector<Row> all;
  while (true) {
    std::vector<Row> page = must(store.table().scan(table, prefix, after, max));
    EXPECT_LE(page.size(), max);
    if (page.empty()) return all;
    if (page.front().key <= after || page.back().key < page.front().key) {
      ADD_FAILURE() << "a page after " << after << " goes from " << page.front().key << " to "
                    << page.back().key;
      return all;
    }
    after = page.back().key;
    std::ranges::move(page, std::back_inserter(all));
  }
}

void do_all(bool threads, size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::thread> started;
  for (size_t i = 0; i < count; ++i) {
    if (threads) {
      started.emplace_back(work, i);
    } else {
      work(i);
    }
  }
  for (std::thread& thread : started) thread.join();
}

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes + bytes;
}

namespace {

char byte_at(uint64_t offset) {
  return static_cast<char>(Random(offset / 8).next() >> offset % 8 * 8);
}

}  // namespace

std::string bytes_at(uint64_t offset, size_t size) {
  std::string bytes;
  bytes.reserve(size);
  for (size_t i = 0; i < size; ++i) bytes += byte_at(offset + i);
  return bytes;
}

Result<void> put_blob(Store& store, const std::string& name, const std::string& bytes) {
  return store.blobs().put(name, bytes.size(),
                           [&](uint64_t offset, size_t max) { return bytes.substr(offset, max); });
}

std::string read_blob(Store& store, const std::string& name, uint64_t offset, size_t size) {
  std::string all;
  while (all.size() < size) {
    const size_t max = std::min(size - all.size(), kBatchBytesMax);
    const std::string bytes = must(store.blobs().get(name, offset + all.size(), max));
    EXPECT_LE(bytes.size(), max);
    if (bytes.empty()) break;
    all += bytes;
  }
  return all;
}

Strings blob_names(Store& store, const std::string& prefix, std::string after, size_t max) {
  Strings all;
  while (true) {
    const std::vector<BlobInfo> page = must(store.blobs().list(prefix, after, max));
    EXPECT_LE(page.size(), max);
    if (page.empty()) return all;
    if (page.front().name <= after || page.back().name < page.front().name) {
      ADD_FAILURE() << "a page after " << after << " goes from " << page.front().name << " to "
                    << page.back().name;
      return all;
    }
    for (const BlobInfo& blob : page) all.push_back(blob.name);
    after = all.back();
  }
}

void increment(Store& store, const std::string& table) {
  while (true) {
    const Row row = get(store, table, "counter");
    const uint64_t value = row.version == 0 ? 0 : std::stoull(row.value);
    const std::string ended =
        outcome(store.table().put(table, {"counter", std::to_string(value + 1), row.version}));
    if (ended == "ok") return;
    ASSERT_EQ(ended, "conflict");
  }
}

}  // namespace dunlin::contract
