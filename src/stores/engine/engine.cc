#include "stores/engine/engine.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"

namespace dunlin::engine {
namespace {

constexpr Millis kTryAgain = Millis(200);  // Between attempts to write after a failure.
constexpr uint64_t kEraseMax = 100'000;    // Rows that go at once: some ten milliseconds.

bool holds(const Lease& lease, const Item& item) {
  return item.token != 0 && item.token == lease.token;
}

Error stale(const Lease& lease, const std::string& queue) {
  return {Code::conflict, fmt::format("the lease on message {} in queue {} is stale: another "
                                      "holder got the message, or this one has kept it since",
                                      lease.id, queue)};
}

Error wrong_version(std::string_view table, std::string_view key, uint64_t expected,
                    uint64_t stored) {
  return {Code::conflict, fmt::format("row {} in table {} has version {}, not {}: read it again",
                                      key, table, stored, expected)};
}

// Whatever the disk said: it is not the fault of the caller, who may try again.
Error cannot_write(const std::string& why) {
  return {Code::full, "the store cannot write now: " + why};
}

std::string_view value_of(std::string_view payload) {
  const auto record = decode(payload);
  CHECK(record && std::holds_alternative<PutRecord>(*record));
  return std::get<PutRecord>(*record).value;
}

// What an answer may carry is counted by the size of the records, which is close and simple.
class Budget {
 public:
  bool takes(const Position& at) {
    const bool first = left_ == kBatchBytesMax;
    if (!first && at.size > left_) return false;
    left_ -= std::min<size_t>(left_, at.size);
    return true;
  }

 private:
  size_t left_ = kBatchBytesMax;
};

}  // namespace

Engine::Engine(Disk& disk, std::string folder)
    : disk_(disk),
      folder_(std::move(folder)),
      index_(std::make_unique<Index>()),
      blobs_(disk_, folder_) {}

Engine::~Engine() {
  if (log_) log_->close();
}

Result<std::unique_ptr<Engine>> Engine::open(Disk& disk, const std::string& folder, Instant now,
                                             LogOptions options) {
  auto engine = std::make_unique<Engine>(disk, folder);
  TRY(disk.make_folder(folder));
  engine->lock_ = TRY(disk.lock(folder));
  Replay replay(*engine->index_, now);
  engine->log_ = TRY(Log::open(disk, folder, options, [&](const Record& record, Position at) {
    return replay.apply(record, at);
  }));
  engine->stamp_ = std::max(replay.stamp(), engine->log_->stamp());
  absl::flat_hash_set<uint64_t> used;
  for (const auto& [name, blob] : engine->index_->blobs()) used.insert(blob.file);
  TRY(engine->blobs_.open([&](uint64_t file) { return used.contains(file); }));
  TRY(disk.sync_folder(folder));
  engine->index_->remember();
  return engine;
}

Answer Engine::handle(Request&& request, Instant now) {
  return std::visit([&](auto& each) { return on(std::move(each), now); }, request);
}

Result<void> Engine::writable(Instant now) {
  if (now < quiet_until_) return cannot_write(last_failure_);
  if (!log_->broken()) return {};
  auto resumed = log_->resume();
  if (!resumed.ok()) {
    last_failure_ = resumed.error().what;
    quiet_until_ = now + kTryAgain;
    return cannot_write(last_failure_);
  }
  log::info("the store can write again folder={}", folder_);
  return {};
}

Result<void> Engine::commit(Instant now) {
  if (!log_->staged()) return {};
  return end_commit(Log::write(begin_commit()), now);
}

const Log::Batch& Engine::begin_commit() {
  flying_ = index_->changes();
  return log_->take(stamp_);
}

Result<void> Engine::end_commit(Result<void> written, Instant now) {
  const uint64_t before = log_->disk_bytes();
  auto landed = log_->land(std::move(written));
  if (!landed.ok()) {
    log::warning("a commit failed folder={}: {}", folder_, landed.error().what);
    last_failure_ = landed.error().what;
    quiet_until_ = now + kTryAgain;
    undo_staged();
    return landed;
  }
  index_->settle(std::exchange(flying_, 0));
  for (const uint64_t file : std::exchange(void_blobs_, {})) blobs_.remove(file);
  if (log_->staged()) return {};  // The rest is for a commit with nothing behind it.
  named_blobs_.clear();
  for (const uint64_t file : std::exchange(erased_blobs_, {})) blobs_.remove(file);
  const uint64_t written_bytes = log_->disk_bytes() - before;
  drop_dead_segments();
  if (!log_->broken()) clean(written_bytes);
  return {};
}

// Of the batch that failed, and of what was staged behind it.
void Engine::undo_staged() {
  index_->undo();
  flying_ = 0;
  erased_blobs_.clear();
  clean_segment_ = 0;
  for (const auto& [name, file] : std::exchange(named_blobs_, {})) {
    const BlobState* blob = index_->blob(name);
    if (blob == nullptr || blob->file != file) void_blobs_.push_back(file);
  }
}

void Engine::give_back_ended(Instant now) {
  while (Item* item = index_->first_to_expire()) {
    if (item->hidden_until > now) break;
    index_->expire(*item);
    if (woken_.empty() || woken_.back() != item->queue->name) woken_.push_back(item->queue->name);
  }
}

std::vector<std::string> Engine::expire(Instant now) {
  give_back_ended(now);
  return std::exchange(woken_, {});
}

std::optional<Instant> Engine::next_expiry() const {
  if (!woken_.empty()) return Instant::min();
  const Item* item = index_->first_to_expire();
  if (item == nullptr) return {};
  return item->hidden_until;
}

// --- Commit groups ---

Answer Engine::on(Commit&& request, Instant now) {
  TRY(writable(now));
  Result<void> checked;
  bool puts = false;
  bool may_be_repeat = false;  // Otherwise the versions that match prove that it is none.
  for (const Write& write : request.writes) {
    if (const Put* put = std::get_if<Put>(&write)) {
      puts = true;
      may_be_repeat = may_be_repeat || put->version == kAnyVersion;
    }
    if (checked.ok()) checked = check(write);
  }
  if (may_be_repeat || !checked.ok()) {
    const std::optional<uint64_t> before = TRY(already_committed(request));
    if (before) return Committed{*before};
    if (!checked.ok()) return checked.error();
  }
  const Stamp stamp{.version = puts ? ++stamp_ : 0, .nonce = request.nonce, .now = now};
  for (const Write& write : request.writes) {
    std::visit([&](const auto& each) { apply(each, stamp); }, write);
  }
  log_->end_group();
  return Committed{stamp.version};
}

// The version that this very commit got if it was applied before.
Result<std::optional<uint64_t>> Engine::already_committed(const Commit& request) {
  std::optional<uint64_t> version;
  if (request.nonce == 0) return version;
  for (const Write& write : request.writes) {
    if (const Keep* keep = std::get_if<Keep>(&write)) {
      const Item* item = index_->item(keep->queue, keep->lease.id);
      const bool held = item != nullptr && holds(keep->lease, *item);
      const ItemNote* note = held ? index_->note(*item) : nullptr;
      if (note != nullptr && note->nonce == request.nonce) version = note->version;
      continue;
    }
    const Put* put = std::get_if<Put>(&write);
    if (put == nullptr) continue;
    const std::optional<RowState> row = index_->row(put->table, put->key);
    if (!row) continue;
    TRY(log_->read({&row->at, 1}, [&](size_t /*i*/, std::string_view payload) {
      const auto record = decode(payload);
      if (!record || !std::holds_alternative<PutRecord>(*record)) return;
      if (std::get<PutRecord>(*record).nonce == request.nonce) version = row->version;
    }));
  }
  return version;
}

Result<void> Engine::check(const Write& write) {
  if (const Put* put = std::get_if<Put>(&write)) {
    const std::optional<RowState> row = index_->row(put->table, put->key);
    const uint64_t stored = row ? row->version : 0;
    if (put->version == stored || put->version == kAnyVersion) return {};
    return wrong_version(put->table, put->key, put->version, stored);
  }
  if (const Erase* erase = std::get_if<Erase>(&write)) {
    const std::optional<RowState> row = index_->row(erase->table, erase->key);
    const bool any = !row || erase->version == kAnyVersion;
    if (any || row->version == erase->version) return {};
    return wrong_version(erase->table, erase->key, erase->version, row->version);
  }
  if (const Finish* finish = std::get_if<Finish>(&write)) {
    for (const Lease& lease : finish->leases) {
      const Item* item = index_->item(finish->queue, lease.id);
      const bool gone = item == nullptr && finish->strict;
      if (gone || (item != nullptr && !holds(lease, *item))) return stale(lease, finish->queue);
    }
  }
  if (const Keep* keep = std::get_if<Keep>(&write)) {
    const Item* item = index_->item(keep->queue, keep->lease.id);
    if (item == nullptr || !holds(keep->lease, *item)) return stale(keep->lease, keep->queue);
    const ItemNote* note = index_->note(*item);
    if (keep->step != (note == nullptr ? 0 : note->step)) return stale(keep->lease, keep->queue);
  }
  return {};
}

void Engine::apply(const Put& put, const Stamp& stamp) {
  const Position at = log_->add(PutRecord{.table = put.table,
                                          .key = put.key,
                                          .version = stamp.version,
                                          .nonce = stamp.nonce,
                                          .value = put.value});
  index_->put_row(put.table, put.key, {.at = at, .version = stamp.version});
}

void Engine::apply(const Erase& erase, const Stamp& /*stamp*/) {
  if (!index_->row(erase.table, erase.key)) return;
  log_->add(EraseRecord{.table = erase.table, .key = erase.key});
  index_->erase_row(erase.table, erase.key);
}

void Engine::apply(const Push& push, const Stamp& /*stamp*/) {
  for (const Message& message : push.messages) {
    if (index_->item(push.queue, message.id) != nullptr) continue;
    const uint64_t number = ++stamp_;
    const Position at = log_->add(
        PushRecord{.queue = push.queue, .id = message.id, .number = number, .body = message.body});
    index_->add(push.queue, message.id, number, at);
  }
}

void Engine::apply(const Finish& finish, const Stamp& /*stamp*/) {
  std::vector<uint64_t> numbers;
  numbers.reserve(finish.leases.size());
  for (const Lease& lease : finish.leases) {
    Item* item = index_->item(finish.queue, lease.id);
    // Checked before, but an earlier write of this group may have pushed the id anew.
    if (item == nullptr || !holds(lease, *item)) continue;
    numbers.push_back(item->number);
    index_->remove(*item);
  }
  if (numbers.empty()) return;
  std::ranges::sort(numbers);
  log_->add(FinishRecord{.queue = finish.queue}, std::span<const uint64_t>(numbers));
}

void Engine::apply(const Keep& keep, const Stamp& stamp) {
  Item& item = *index_->item(keep.queue, keep.lease.id);
  log_->add(KeepRecord{.queue = keep.queue,
                       .number = item.number,
                       .step = keep.step + 1,
                       .hold_ms = static_cast<uint64_t>(keep.hold.count()),
                       .version = stamp.version,
                       .nonce = stamp.nonce,
                       .note = keep.note});
  index_->keep(
      item,
      {.step = keep.step + 1, .version = stamp.version, .nonce = stamp.nonce, .text = keep.note},
      keep.hold, stamp.now);
}

// --- Queue ---

std::vector<Item*> Engine::pick(const QueueState& queue, size_t max) const {
  std::vector<Item*> items;
  items.reserve(std::min(max, queue.ready.size()));
  Budget budget;
  for (const auto& [number, item] : queue.ready) {
    if (items.size() == max || !budget.takes(item->at)) break;
    items.push_back(item);
  }
  return items;
}

Answer Engine::on(Pull&& request, Instant now) {
  TRY(writable(now));
  give_back_ended(now);
  const QueueState* queue = index_->queue(request.queue);
  if (queue == nullptr || queue->ready.empty()) return Deliveries{};
  const std::vector<Item*> items = pick(*queue, request.max);

  std::vector<uint64_t> numbers;
  std::vector<Position> positions;
  numbers.reserve(items.size());
  positions.reserve(items.size());
  for (const Item* item : items) {
    numbers.push_back(item->number);
    positions.push_back(item->at);
  }
  std::vector<std::optional<std::string>> bodies(items.size());
  const auto take_body = [&](size_t i, std::string_view payload) {
    const auto record = decode(payload);
    CHECK(record && std::holds_alternative<PushRecord>(*record));
    bodies[i] = std::get<PushRecord>(*record).body;
  };
  std::optional<Error> damage;
  if (auto read = log_->read(positions, take_body); !read.ok()) {
    if (read.error().code != Code::corrupt) return read.error();
    // A damaged message must not stand in the way of the others: it is held back like those that
    // are handed out.
    for (size_t i = 0; i < positions.size(); ++i) {
      read = log_->read({&positions[i], 1},
                        [&](size_t /*i*/, std::string_view payload) { take_body(i, payload); });
      if (read.ok()) continue;
      if (read.error().code != Code::corrupt) return read.error();
      bodies[i].reset();
      damage = read.error();
      log::error("message {} in queue {} cannot be read: {}", items[i]->id, request.queue,
                 damage->what);
    }
  }

  const uint64_t token = ++stamp_;
  log_->add(LeaseRecord{.queue = request.queue,
                        .token = token,
                        .hold_ms = static_cast<uint64_t>(request.hold.count())},
            std::span<const uint64_t>(numbers));
  log_->end_group();
  Deliveries answer;
  answer.deliveries.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    index_->lease(*items[i], token, request.hold, now);
    if (!bodies[i]) continue;
    const ItemNote* note = index_->note(*items[i]);
    answer.deliveries.push_back({.lease = {.id = items[i]->id, .token = token},
                                 .body = *std::move(bodies[i]),
                                 .attempt = items[i]->attempts,
                                 .note = note == nullptr ? "" : note->text});
  }
  if (damage && answer.deliveries.empty()) return *damage;
  return answer;
}

Answer Engine::on(Renew&& request, Instant now) {
  TRY(writable(now));
  Lost lost;
  std::vector<uint64_t> numbers;
  for (Lease& lease : request.leases) {
    Item* item = index_->item(request.queue, lease.id);
    if (item == nullptr || !holds(lease, *item)) {
      lost.leases.push_back(std::move(lease));
      continue;
    }
    numbers.push_back(item->number);
    index_->renew(*item, request.hold, now);
  }
  if (numbers.empty()) return lost;
  std::ranges::sort(numbers);
  log_->add(
      RenewRecord{.queue = request.queue, .hold_ms = static_cast<uint64_t>(request.hold.count())},
      std::span<const uint64_t>(numbers));
  log_->end_group();
  return lost;
}

Answer Engine::on(AskDepth&& request, Instant now) {
  give_back_ended(now);
  const QueueState* queue = index_->queue(request.queue);
  if (queue == nullptr) return Depth{};
  return Depth{.ready = queue->ready.size(), .leased = queue->items.size() - queue->ready.size()};
}

// --- Table ---

// May answer for the first keys only; the caller asks again for the rest.
Answer Engine::on(Get&& request, Instant /*now*/) {
  Rows answer;
  Budget budget;
  for (std::string& key : request.keys) {
    const std::optional<RowState> row = index_->row(request.table, key);
    if (row && !budget.takes(row->at)) break;
    answer.rows.push_back({.key = std::move(key), .value = {}, .version = 0});
    if (!row) continue;
    Row& to = answer.rows.back();
    to.version = row->version;
    TRY(log_->read({&row->at, 1},
                   [&](size_t /*i*/, std::string_view payload) { to.value = value_of(payload); }));
  }
  return answer;
}

Answer Engine::on(Scan&& request, Instant /*now*/) {
  const TableState* table = index_->table(request.table);
  if (table == nullptr) return Rows{};
  auto row = request.after < request.prefix ? table->lower_bound(request.prefix)
                                            : table->upper_bound(request.after);
  Rows answer;
  std::vector<Position> positions;
  Budget budget;
  for (; row != table->end() && answer.rows.size() < request.max; ++row) {
    if (!row->first.starts_with(request.prefix) || !budget.takes(row->second.at)) break;
    answer.rows.push_back({.key = row->first, .value = {}, .version = row->second.version});
    positions.push_back(row->second.at);
  }
  TRY(log_->read(positions, [&](size_t i, std::string_view payload) {
    answer.rows[i].value = value_of(payload);
  }));
  return answer;
}

// One record, however many rows; bounded, because everybody else waits meanwhile.
Answer Engine::on(EraseAll&& request, Instant now) {
  TRY(writable(now));
  const TableState* table = index_->table(request.table);
  if (table == nullptr) return Erased{};
  auto row = table->lower_bound(request.prefix);
  std::string last;
  for (uint64_t count = 0; row != table->end() && count < kEraseMax; ++row, ++count) {
    if (!row->first.starts_with(request.prefix)) break;
    last = row->first;
  }
  if (last.empty()) return Erased{};
  log_->add(EraseRangeRecord{.table = request.table, .first = request.prefix, .last = last});
  log_->end_group();
  return Erased{index_->erase_rows(request.table, request.prefix, last)};
}

// --- Blobs ---

Answer Engine::on(BlobPart&& request, Instant now) {
  if (request.bytes.empty()) {
    blobs_.give_up(request.upload);
    return Done{};
  }
  TRY(writable(now));
  const auto taken = blobs_.part(request, request.offset == 0 ? ++stamp_ : 0, now);
  if (taken.ok()) return Done{};
  if (taken.error().code == Code::denied) return cannot_write(taken.error().what);
  return taken.error();
}

Answer Engine::on(BlobEnd&& request, Instant now) {
  TRY(writable(now));
  const BlobState* before = index_->blob(request.name);
  const Error other{
      Code::conflict,
      fmt::format("blob {} exists with other bytes: choose another name", request.name)};
  if (before != nullptr && before->size != request.size) return other;
  const auto file = blobs_.end(request);
  if (!file.ok()) return file.error();
  if (before != nullptr) {
    const auto same = blobs_.same(*before, {.at = {}, .file = file.value(), .size = request.size});
    blobs_.remove(file.value());
    if (!same.ok()) return same.error();
    if (!same.value()) return other;
    return Done{};
  }
  const Position at =
      log_->add(BlobRecord{.name = request.name, .file = file.value(), .size = request.size});
  log_->end_group();
  index_->put_blob(request.name, {.at = at, .file = file.value(), .size = request.size});
  named_blobs_.emplace_back(request.name, file.value());
  return Done{};
}

Answer Engine::on(BlobGet&& request, Instant /*now*/) {
  const BlobState* blob = index_->blob(request.name);
  if (blob == nullptr) return Error{Code::not_found, "there is no blob " + request.name};
  auto bytes = blobs_.read(*blob, request.offset, request.max);
  if (!bytes.ok()) return bytes.error();
  return Bytes{std::move(bytes).value()};
}

Answer Engine::on(BlobErase&& request, Instant now) {
  TRY(writable(now));
  const BlobState* blob = index_->blob(request.name);
  if (blob == nullptr) return Done{};
  erased_blobs_.push_back(blob->file);
  log_->add(BlobEraseRecord{.name = request.name});
  log_->end_group();
  index_->erase_blob(request.name);
  return Done{};
}

Answer Engine::on(BlobList&& request, Instant /*now*/) {
  const auto& blobs = index_->blobs();
  auto blob = request.after < request.prefix ? blobs.lower_bound(request.prefix)
                                             : blobs.upper_bound(request.after);
  BlobNames answer;
  for (; blob != blobs.end() && answer.blobs.size() < request.max; ++blob) {
    if (!blob->first.starts_with(request.prefix)) break;
    answer.blobs.push_back({.name = blob->first, .size = blob->second.size});
  }
  return answer;
}

Answer Engine::on(AskInfo&& /*request*/, Instant now) {
  give_back_ended(now);
  Info info;
  for (const auto& [name, queue] : index_->queues()) {
    if (info.queues.size() == kBatchMax) break;
    info.queues.push_back({.name = name,
                           .depth = {.ready = queue->ready.size(),
                                     .leased = queue->items.size() - queue->ready.size()}});
  }
  for (const auto& [name, rows] : index_->tables()) {
    if (info.tables.size() == kBatchMax) break;
    info.tables.push_back({.name = name, .rows = rows.size()});
  }
  info.blobs = index_->blobs().size();
  for (const auto& [name, blob] : index_->blobs()) info.blob_bytes += blob.size;
  info.live_bytes = index_->live_bytes();
  info.disk_bytes = log_->disk_bytes();
  return info;
}

}  // namespace dunlin::engine
