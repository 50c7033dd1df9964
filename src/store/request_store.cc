#include "store/request_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr int kUploadsMax = 6;  // Tries to send one blob.

template <typename T>
Result<T> take(Answer&& answer, std::string_view call) {
  if (auto* error = std::get_if<Error>(&answer)) return std::move(*error);
  if (auto* wanted = std::get_if<T>(&answer)) return std::move(*wanted);
  return Error{
      Code::unavailable,
      fmt::format("the store gave {} an answer of another kind: is it of another version?", call)};
}

// One write is a commit like any other, so that repeating it is exact.
Result<uint64_t> commit_writes(RequestStore& store, Random& random, std::vector<Write> writes,
                               std::string_view call) {
  const uint64_t nonce = std::max<uint64_t>(random.next(), 1);
  return TRY(take<Committed>(store.ask(Commit{nonce, std::move(writes)}), call)).version;
}

Result<uint64_t> commit_one(RequestStore& store, Random& random, Write write,
                            std::string_view call) {
  std::vector<Write> writes;
  writes.push_back(std::move(write));
  return commit_writes(store, random, std::move(writes), call);
}

class CallQueue final : public Queue {
 public:
  CallQueue(RequestStore& store, Random& random) : store_(store), random_(random) {}

  Result<void> push(std::string_view queue, std::span<const Message> messages) override {
    TRY(commit_one(store_, random_, Push{std::string(queue), {messages.begin(), messages.end()}},
                   "push"));
    return {};
  }

  Result<std::vector<Delivery>> pull(std::string_view queue, size_t max, Millis hold,
                                     Millis wait) override {
    return TRY(take<Deliveries>(store_.ask(Pull{std::string(queue), max, hold, wait}), "pull"))
        .deliveries;
  }

  Result<std::vector<Lease>> renew(std::string_view queue, std::span<const Lease> leases,
                                   Millis hold) override {
    Renew renew = {std::string(queue), {leases.begin(), leases.end()}, hold};
    return TRY(take<Lost>(store_.ask(std::move(renew)), "renew")).leases;
  }

  Result<void> finish(std::string_view queue, std::span<const Lease> leases) override {
    TRY(commit_one(store_, random_, Finish{std::string(queue), {leases.begin(), leases.end()}},
                   "finish"));
    return {};
  }

  Result<Depth> depth(std::string_view queue) override {
    return take<Depth>(store_.ask(AskDepth{std::string(queue)}), "depth");
  }

 private:
  RequestStore& store_;
  Random& random_;
};

class CallTable final : public Table {
 public:
  CallTable(RequestStore& store, Random& random) : store_(store), random_(random) {}

  // An answer holds as many rows as fit into it, so the rest is asked for again.
  Result<std::vector<Row>> get(std::string_view table, std::span<const std::string> keys) override {
    std::vector<Row> all;
    do {
      const auto left = keys.subspan(all.size());
      Get get = {std::string(table), {left.begin(), left.end()}};
      std::vector<Row> rows = TRY(take<Rows>(store_.ask(std::move(get)), "get")).rows;
      if (rows.size() > left.size() || (rows.empty() && !left.empty())) {
        return Error{Code::unavailable,
                     fmt::format("the store gave {} rows of table {} for {} keys", rows.size(),
                                 table, left.size())};
      }
      std::ranges::move(rows, std::back_inserter(all));
    } while (all.size() < keys.size());
    return all;
  }

  Result<uint64_t> put(std::string_view table, const Row& row) override {
    return commit_one(store_, random_, Put{std::string(table), row.key, row.value, row.version},
                      "put");
  }

  Result<void> erase(std::string_view table, std::string_view key, uint64_t version) override {
    TRY(commit_one(store_, random_, Erase{std::string(table), std::string(key), version}, "erase"));
    return {};
  }

  Result<uint64_t> erase_all(std::string_view table, std::string_view prefix) override {
    EraseAll erase = {std::string(table), std::string(prefix)};
    return TRY(take<Erased>(store_.ask(std::move(erase)), "erase_all")).rows;
  }

  Result<std::vector<Row>> scan(std::string_view table, std::string_view prefix,
                                std::string_view after, size_t max) override {
    Scan scan = {std::string(table), std::string(prefix), std::string(after), max};
    return TRY(take<Rows>(store_.ask(std::move(scan)), "scan")).rows;
  }

 private:
  RequestStore& store_;
  Random& random_;
};

class CallBlobs final : public Blobs {
 public:
  CallBlobs(RequestStore& store, Random& random) : store_(store), random_(random) {}

  Result<void> put(std::string_view name, uint64_t size, const BlobSource& source) override {
    for (int tries = 1;; ++tries) {
      // Each try has a number of its own: a part of the last one that comes late cannot spoil it.
      const BlobEnd end = {random_.next(), std::string(name), size};
      TRY(validate(end));  // Before any part is sent.
      Result<void> sent = send(end, source);
      if (sent.ok()) return sent;
      give_up(end, sent.error());
      if (sent.error().code != Code::not_found) return sent;
      if (tries == kUploadsMax) {
        return Error{Code::unavailable, fmt::format("blob {} could not be sent in {} tries: {}",
                                                    quote(name), tries, sent.error().what)};
      }
    }
  }

  Result<std::string> get(std::string_view name, uint64_t offset, size_t max) override {
    return TRY(take<Bytes>(store_.ask(BlobGet{std::string(name), offset, max}), "get")).bytes;
  }

  Result<void> erase(std::string_view name) override {
    TRY(take<Done>(store_.ask(BlobErase{std::string(name)}), "erase"));
    return {};
  }

  Result<std::vector<BlobInfo>> list(std::string_view prefix, std::string_view after,
                                     size_t max) override {
    BlobList list = {std::string(prefix), std::string(after), max};
    return TRY(take<BlobNames>(store_.ask(std::move(list)), "list")).blobs;
  }

 private:
  Result<void> send(const BlobEnd& end, const BlobSource& source) {
    for (uint64_t offset = 0; offset < end.size; offset += kBlobPart) {
      BlobPart part = {end.upload, offset, TRY(read_part(end, offset, source))};
      TRY(take<Done>(store_.ask(std::move(part)), "put"));
    }
    TRY(take<Done>(store_.ask(BlobEnd(end)), "put"));
    return {};
  }

  // The store has nothing left of it if it forgot it, or if it cannot be reached.
  void give_up(const BlobEnd& end, const Error& why) {
    const bool is_gone = why.code == Code::not_found || why.code == Code::unavailable;
    if (!is_gone && end.size > kBlobPart) store_.ask(BlobPart{end.upload, 0, ""});
  }

  // A source may give less than it was asked for, but never nothing before its end.
  static Result<std::string> read_part(const BlobEnd& end, uint64_t offset,
                                       const BlobSource& source) {
    const size_t size = std::min<uint64_t>(kBlobPart, end.size - offset);
    std::string part;
    while (part.size() < size) {
      const size_t left = size - part.size();
      const Result<std::string> bytes = source(offset + part.size(), left);
      if (!bytes.ok()) return about_source(bytes.error(), end);
      if (bytes.value().empty() || bytes.value().size() > left) {
        return Error{Code::invalid,
                     fmt::format("the source of blob {} gave {} bytes at {} of {}, not 1 to {}",
                                 quote(end.name), bytes.value().size(), offset + part.size(),
                                 end.size, left)};
      }
      part += bytes.value();
    }
    return part;
  }

  // A source's `not_found` is not the store's, which means "send again".
  static Error about_source(const Error& error, const BlobEnd& end) {
    return {error.code == Code::not_found ? Code::invalid : error.code,
            fmt::format("the source of blob {} failed: {}", quote(end.name), error.what)};
  }

  RequestStore& store_;
  Random& random_;
};

class CoreStore final : public RequestStore {
 public:
  CoreStore(Core& core, const Clock& clock, uint64_t seed)
      : RequestStore(seed), core_(core), clock_(clock) {}

 protected:
  Answer call(Request&& request) override {
    core_.expire(clock_.now());
    Answer answer = core_.handle(std::move(request), clock_.now());
    const Result<void> committed = core_.commit(clock_.now());
    if (!committed.ok()) return committed.error();
    return answer;
  }

 private:
  Core& core_;
  const Clock& clock_;
};

}  // namespace

RequestStore::RequestStore(uint64_t seed)
    : random_(seed),
      queue_(std::make_unique<CallQueue>(*this, random_)),
      table_(std::make_unique<CallTable>(*this, random_)),
      blobs_(std::make_unique<CallBlobs>(*this, random_)) {}

Answer RequestStore::ask(Request&& request) {
  const Result<void> valid = validate(request);
  if (!valid.ok()) return valid.error();
  return call(std::move(request));
}

Result<uint64_t> RequestStore::commit(std::span<const Write> writes) {
  return commit_writes(*this, random_, {writes.begin(), writes.end()}, "commit");
}

Result<Info> RequestStore::info() { return take<Info>(ask(AskInfo{}), "info"); }

std::unique_ptr<RequestStore> core_store(Core& core, const Clock& clock, uint64_t seed) {
  return std::make_unique<CoreStore>(core, clock, seed);
}

}  // namespace dunlin
