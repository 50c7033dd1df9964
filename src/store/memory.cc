#include "store/memory.h"

#include <algorithm>
#include <fmt/format.h>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/names.h"
#include "store/uploads.h"

namespace dunlin {
namespace {

struct Stamp {  // Of a commit, on each row that it wrote.
  uint64_t version = 0;
  uint64_t nonce = 0;
};

struct Record {
  std::string value;
  Stamp stamp;
};
using Records = std::map<std::string, Record, std::less<>>;

struct Item {
  Message message;
  uint64_t token = 0;    // Of the latest lease; 0 until first handed out.
  uint32_t attempt = 0;  // Deliveries so far.
  Instant until = {};    // When its lease ends; means nothing while it is ready.
  uint64_t step = 0;     // Keeps under that lease.
  std::string note = {};
  Stamp kept = {};  // Of the last commit that kept it.
};

struct Line {  // A queue. Messages are known by their number: the older, the smaller.
  std::map<uint64_t, Item> items;
  std::map<std::string, uint64_t, std::less<>> numbers;  // By id.
  std::set<uint64_t> ready;
};

struct Upload {
  uint64_t number = 0;
  std::string bytes;
  Instant last;  // When its last part came.
};

// Whether a page has room for one more. The first always fits, since no value fills a page.
class Page {
 public:
  explicit Page(uint64_t max) : left_(max) {}

  bool takes(size_t bytes) {
    if (left_ == 0 || bytes_ + bytes > kBatchBytesMax) return false;
    left_ -= 1;
    bytes_ += bytes;
    return true;
  }

 private:
  uint64_t left_;
  size_t bytes_ = 0;
};

// Calls `visit` for the entries whose key starts with `prefix` and is greater than `after`, until
// it returns false.
template <typename Map, typename Visit>
void for_each_after(const Map& map, const std::string& prefix, const std::string& after,
                    Visit visit) {
  auto entry = after < prefix ? map.lower_bound(prefix) : map.upper_bound(after);
  while (entry != map.end() && entry->first.starts_with(prefix) && visit(*entry)) ++entry;
}

template <typename Map>
auto* find_in(Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

class MemoryCore final : public Core {
 public:
  Answer handle(Request&& request, Instant now) override {
    give_back(now);
    return std::visit([&](auto&& kind) { return on(std::forward<decltype(kind)>(kind), now); },
                      std::move(request));
  }

  Result<void> commit(Instant /*now*/) override { return {}; }

  std::vector<std::string> expire(Instant now) override {
    give_back(now);
    std::vector<std::string> queues(returned_.begin(), returned_.end());
    returned_.clear();
    return queues;
  }

  std::optional<Instant> next_expiry() const override {
    if (leases_.empty()) return std::nullopt;
    return leases_.begin()->first.first;
  }

 private:
  Answer on(Commit&& commit, Instant now) {
    if (const Stamp* stamp = written_by(commit)) return Committed{stamp->version};
    for (const Write& write : commit.writes) {  // Look at all before touching any.
      const Result<void> possible =
          std::visit([&](const auto& kind) { return check(kind); }, write);
      if (!possible.ok()) return possible.error();
    }
    const bool puts = std::ranges::any_of(
        commit.writes, [](const Write& write) { return std::holds_alternative<Put>(write); });
    const Stamp stamp = {.version = puts ? ++last_ : 0, .nonce = commit.nonce};
    for (Write& write : commit.writes) {
      std::visit([&](auto& kind) { apply(kind, stamp, now); }, write);
    }
    return Committed{stamp.version};
  }

  // The stamp that this very commit has left on a row or a message: then it is a repeat.
  const Stamp* written_by(const Commit& commit) const {
    if (commit.nonce == 0) return nullptr;
    for (const Write& write : commit.writes) {
      const Stamp* stamp = nullptr;
      if (const auto* put = std::get_if<Put>(&write)) {
        const Record* record = find_record(put->table, put->key);
        if (record != nullptr) stamp = &record->stamp;
      } else if (const auto* keep = std::get_if<Keep>(&write)) {
        const Item* item = find_item(keep->queue, keep->lease.id);
        if (item != nullptr && holds(keep->lease, *item)) stamp = &item->kept;
      }
      if (stamp != nullptr && stamp->nonce == commit.nonce) return stamp;
    }
    return nullptr;
  }

  Result<void> check(const Put& put) const {
    const Record* record = find_record(put.table, put.key);
    return check_version(put.table, put.key, put.version,
                         record == nullptr ? 0 : record->stamp.version);
  }
  Result<void> check(const Erase& erase) const {
    const Record* record = find_record(erase.table, erase.key);
    if (record == nullptr) return {};
    return check_version(erase.table, erase.key, erase.version, record->stamp.version);
  }
  static Result<void> check(const Push& /*push*/) { return {}; }
  Result<void> check(const Finish& finish) const {
    for (const Lease& lease : finish.leases) {
      const Item* item = find_item(finish.queue, lease.id);
      const bool gone = item == nullptr && finish.strict;
      if (gone || (item != nullptr && !holds(lease, *item))) return stale(finish.queue, lease);
    }
    return {};
  }
  Result<void> check(const Keep& keep) const {
    const Item* item = find_item(keep.queue, keep.lease.id);
    if (item == nullptr || !holds(keep.lease, *item) || item->step != keep.step) {
      return stale(keep.queue, keep.lease);
    }
    return {};
  }

  static Error stale(std::string_view queue, const Lease& lease) {
    return {Code::conflict, fmt::format("the lease on message {} in queue {} is stale: another "
                                        "holder got the message, or this one has kept it since",
                                        lease.id, queue)};
  }

  static Result<void> check_version(std::string_view table, std::string_view key, uint64_t wanted,
                                    uint64_t stored) {
    if (wanted == kAnyVersion || wanted == stored) return {};
    return Error{Code::conflict, fmt::format("row {} of table {} has version {}, not {}: read it "
                                             "again",
                                             key, table, stored, wanted)};
  }

  static bool holds(const Lease& lease, const Item& item) {
    return lease.token != 0 && lease.token == item.token;
  }

  void apply(Put& put, const Stamp& stamp, Instant /*now*/) {
    tables_[put.table][put.key] = {std::move(put.value), stamp};
  }

  void apply(const Erase& erase, const Stamp& /*stamp*/, Instant /*now*/) {
    const auto table = tables_.find(erase.table);
    if (table == tables_.end()) return;
    table->second.erase(erase.key);
    if (table->second.empty()) tables_.erase(table);
  }

  void apply(Push& push, const Stamp& /*stamp*/, Instant /*now*/) {
    if (push.messages.empty()) return;
    Line& line = lines_[push.queue];
    for (Message& message : push.messages) {
      const uint64_t number = ++last_;
      if (!line.numbers.emplace(message.id, number).second) continue;
      line.ready.insert(number);
      line.items[number].message = std::move(message);
    }
  }

  // A lease that does not hold any more is one whose message this same commit finished and pushed
  // again: that one stays.
  void apply(const Finish& finish, const Stamp& /*stamp*/, Instant /*now*/) {
    for (const Lease& lease : finish.leases) {
      const auto line = lines_.find(finish.queue);
      if (line == lines_.end()) return;
      const auto id = line->second.numbers.find(lease.id);
      if (id == line->second.numbers.end()) continue;
      const uint64_t number = id->second;
      const Item& item = line->second.items.at(number);
      if (!holds(lease, item)) continue;
      leases_.erase({item.until, number});
      line->second.ready.erase(number);
      line->second.numbers.erase(id);
      line->second.items.erase(number);
      if (line->second.items.empty()) lines_.erase(line);
    }
  }

  void apply(Keep& keep, const Stamp& stamp, Instant now) {
    Line& line = lines_.at(keep.queue);
    const uint64_t number = line.numbers.at(keep.lease.id);
    Item& item = line.items.at(number);
    item.step += 1;
    item.note = std::move(keep.note);
    item.kept = stamp;
    hide(line, number, keep.queue, now + keep.hold);
  }

  Answer on(Pull&& pull, Instant now) {
    Deliveries answer;
    Line* line = find_in(lines_, pull.queue);
    Page page(pull.max);
    const uint64_t token = ++last_;  // One for all, as in the durable engine.
    while (line != nullptr && !line->ready.empty()) {
      const uint64_t number = *line->ready.begin();
      Item& item = line->items.at(number);
      if (!page.takes(item.message.body.size())) break;
      line->ready.erase(line->ready.begin());
      item.token = token;
      item.attempt += 1;
      item.step = 0;
      item.until = now + pull.hold;
      leases_[{item.until, number}] = pull.queue;
      answer.deliveries.push_back(
          {{item.message.id, item.token}, item.message.body, item.attempt, item.note});
    }
    return answer;
  }

  // Giving back is a lease that ends now: the message comes back as all others do.
  Answer on(Renew&& renew, Instant now) {
    Lost lost;
    Line* line = find_in(lines_, renew.queue);
    for (Lease& lease : renew.leases) {
      const uint64_t* number = line == nullptr ? nullptr : find_in(line->numbers, lease.id);
      Item* item = number == nullptr ? nullptr : &line->items.at(*number);
      if (item == nullptr || !holds(lease, *item)) {
        lost.leases.push_back(std::move(lease));
        continue;
      }
      hide(*line, *number, renew.queue, now + renew.hold);
    }
    return lost;
  }

  void hide(Line& line, uint64_t number, const std::string& queue, Instant until) {
    Item& item = line.items.at(number);
    leases_.erase({item.until, number});
    line.ready.erase(number);
    item.until = until;
    leases_[{until, number}] = queue;
  }

  Answer on(const AskDepth& ask, Instant /*now*/) const {
    const Line* line = find_in(lines_, ask.queue);
    return line == nullptr ? Depth{} : depth(*line);
  }

  static Depth depth(const Line& line) {
    return {.ready = line.ready.size(), .leased = line.items.size() - line.ready.size()};
  }

  // Puts the messages whose leases ended back into their places.
  void give_back(Instant now) {
    while (!leases_.empty() && leases_.begin()->first.first <= now) {
      const auto& [end, queue] = *leases_.begin();
      lines_.at(queue).ready.insert(end.second);
      returned_.insert(queue);
      leases_.erase(leases_.begin());
    }
  }

  Answer on(Get&& get, Instant /*now*/) {
    Rows answer;
    Page page(kBatchMax);
    for (std::string& key : get.keys) {
      const Record* record = find_record(get.table, key);
      Row row = record == nullptr ? Row{} : Row{"", record->value, record->stamp.version};
      if (!page.takes(key.size() + row.value.size())) break;
      row.key = std::move(key);
      answer.rows.push_back(std::move(row));
    }
    return answer;
  }

  Answer on(const EraseAll& erase, Instant /*now*/) {
    Erased erased;
    const auto table = tables_.find(erase.table);
    if (table == tables_.end()) return erased;
    auto row = table->second.lower_bound(erase.prefix);
    while (row != table->second.end() && row->first.starts_with(erase.prefix) &&
           erased.rows < kBatchMax) {
      row = table->second.erase(row);
      ++erased.rows;
    }
    if (table->second.empty()) tables_.erase(table);
    return erased;
  }

  Answer on(const Scan& scan, Instant /*now*/) const {
    Rows answer;
    const Records* table = find_in(tables_, scan.table);
    if (table == nullptr) return answer;
    Page page(scan.max);
    for_each_after(*table, scan.prefix, scan.after, [&](const auto& entry) {
      const auto& [key, record] = entry;
      if (!page.takes(key.size() + record.value.size())) return false;
      answer.rows.push_back({key, record.value, record.stamp.version});
      return true;
    });
    return answer;
  }

  Answer on(BlobPart&& part, Instant now) {
    auto upload = find_upload(part.upload);
    if (part.offset == 0) {
      if (upload != uploads_.end()) uploads_.erase(upload);
      if (part.bytes.empty()) return Done{};
      if (uploads_.size() >= kUploadsMax) {
        const auto idle = find_idle(uploads_, now);
        if (idle == uploads_.end()) return no_place_for_upload();
        uploads_.erase(idle);
      }
      uploads_.push_back({part.upload, std::move(part.bytes), now});
      return Done{};
    }
    if (upload == uploads_.end()) return forgotten(part.upload);
    upload->last = now;
    const size_t received = upload->bytes.size();
    if (part.offset + part.bytes.size() <= received) return Done{};  // A repeat.
    if (part.offset != received) return forgotten(part.upload);
    upload->bytes += part.bytes;
    return Done{};
  }

  Answer on(BlobEnd&& end, Instant /*now*/) {
    std::string bytes;
    const auto upload = find_upload(end.upload);
    if (upload != uploads_.end()) {
      bytes = std::move(upload->bytes);
      uploads_.erase(upload);
    }
    if (bytes.size() != end.size) return forgotten(end.upload);
    if (const std::string* old = find_in(blobs_, end.name)) {
      if (*old == bytes) return Done{};
      return Error{Code::conflict,
                   fmt::format("blob {} exists with other bytes: choose another name", end.name)};
    }
    blobs_.emplace(std::move(end.name), std::move(bytes));
    blob_bytes_ += end.size;
    return Done{};
  }

  Answer on(const BlobGet& get, Instant /*now*/) const {
    const std::string* blob = find_in(blobs_, get.name);
    if (blob == nullptr) return Error{Code::not_found, fmt::format("blob {}", get.name)};
    return Bytes{get.offset < blob->size() ? blob->substr(get.offset, get.max) : ""};
  }

  Answer on(const BlobErase& erase, Instant /*now*/) {
    const auto blob = blobs_.find(erase.name);
    if (blob != blobs_.end()) {
      blob_bytes_ -= blob->second.size();
      blobs_.erase(blob);
    }
    return Done{};
  }

  Answer on(const BlobList& list, Instant /*now*/) const {
    BlobNames answer;
    Page page(list.max);
    for_each_after(blobs_, list.prefix, list.after, [&](const auto& entry) {
      const auto& [name, bytes] = entry;
      if (!page.takes(name.size())) return false;
      answer.blobs.push_back({name, bytes.size()});
      return true;
    });
    return answer;
  }

  Answer on(const AskInfo& /*ask*/, Instant /*now*/) const {
    Info info;
    info.blobs = blobs_.size();
    info.blob_bytes = blob_bytes_;
    for (const auto& [name, line] : lines_) {
      if (info.queues.size() < kBatchMax) info.queues.push_back({name, depth(line)});
      for (const auto& [number, item] : line.items) {
        info.live_bytes += item.message.id.size() + item.message.body.size();
      }
    }
    for (const auto& [name, table] : tables_) {
      if (info.tables.size() < kBatchMax) info.tables.push_back({name, table.size()});
      for (const auto& [key, record] : table) info.live_bytes += key.size() + record.value.size();
    }
    return info;
  }

  static Error forgotten(uint64_t upload) {
    return {Code::not_found,
            fmt::format("upload {} was forgotten: send it again from the start", upload)};
  }

  std::list<Upload>::iterator find_upload(uint64_t number) {
    return std::ranges::find(uploads_, number, &Upload::number);
  }

  const Record* find_record(std::string_view table, std::string_view key) const {
    const Records* records = find_in(tables_, table);
    return records == nullptr ? nullptr : find_in(*records, key);
  }

  const Item* find_item(std::string_view queue, std::string_view id) const {
    const Line* line = find_in(lines_, queue);
    const uint64_t* number = line == nullptr ? nullptr : find_in(line->numbers, id);
    return number == nullptr ? nullptr : &line->items.at(*number);
  }

  uint64_t last_ = 0;  // Versions, message numbers and tokens: none is ever used twice.
  std::map<std::string, Records, std::less<>> tables_;
  std::map<std::string, Line, std::less<>> lines_;
  std::map<std::pair<Instant, uint64_t>, std::string> leases_;  // By end and message: its queue.
  std::set<std::string> returned_;  // Queues that messages came back to since the last expire().
  std::map<std::string, std::string, std::less<>> blobs_;
  uint64_t blob_bytes_ = 0;
  std::list<Upload> uploads_;
};

// Holds the core before the store that refers to it.
class MemoryStore final : public RequestStore {
 public:
  explicit MemoryStore(const Clock& clock)
      : RequestStore(0), core_(memory_core()), store_(core_store(*core_, clock, 0)) {}

 protected:
  Answer call(Request&& request) override { return store_->ask(std::move(request)); }

 private:
  std::unique_ptr<Core> core_;
  std::unique_ptr<RequestStore> store_;
};

}  // namespace

std::unique_ptr<Core> memory_core() { return std::make_unique<MemoryCore>(); }

std::unique_ptr<RequestStore> memory_store(const Clock& clock) {
  return std::make_unique<MemoryStore>(clock);
}

}  // namespace dunlin
