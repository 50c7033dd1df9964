#include "stores/mixed/mixed_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/wait.h"
#include "store/compare_and_set.h"

namespace dunlin::mixed {
namespace {

constexpr size_t kHeldMax = 100'000;  // Messages to remember. Others are read when needed.
constexpr size_t kScanRows = 1000;
constexpr Millis kLookEvery = Millis(5000);  // Without a hint, in case one was lost.
constexpr Millis kLookFailing = Millis(1000);
constexpr Millis kDeaf = Millis(10'000);         // Asking a service that is away takes seconds.
constexpr Millis kSettleAfter = Millis(10'000);  // Before the service thinks that we are lost.
constexpr int kTakes = 4;  // Of candidates, before a pull comes to nothing: others took them.

size_t bytes_of(const std::vector<Delivery>& deliveries) {
  size_t bytes = 0;
  for (const Delivery& delivery : deliveries) bytes += delivery.body.size() + kIdMax;
  return bytes;
}

}  // namespace

std::optional<SeenMessage> MixedShared::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end()) return std::nullopt;
  return found->second;
}

void MixedShared::saw(const std::string& key, SeenMessage message, Instant now) {
  const std::lock_guard lock(mutex_);
  if (held_.size() >= kHeldMax) held_.clear();
  watch_.left(key, message.version, message.row.hold, now);
  held_[key] = std::move(message);
}

Millis MixedShared::left(const std::string& key, uint64_t version, Millis hold, Instant now) {
  const std::lock_guard lock(mutex_);
  return watch_.left(key, version, hold, now);
}

void MixedShared::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  held_.erase(key);
  watch_.forget(key);
}

Instant MixedShared::next_look(const std::string& queue) const {
  const std::lock_guard lock(mutex_);
  const auto found = looks_.find(queue);
  return found == looks_.end() ? Instant::min() : found->second;
}

void MixedShared::looked(const std::string& queue, Instant next) {
  const std::lock_guard lock(mutex_);
  if (looks_.size() >= kHeldMax) looks_.clear();
  looks_[queue] = next;
}

Instant MixedShared::deaf_until(const std::string& queue) const {
  const std::lock_guard lock(mutex_);
  const auto found = deaf_.find(queue);
  return found == deaf_.end() ? Instant::min() : found->second;
}

void MixedShared::deaf(const std::string& queue, Instant until) {
  const std::lock_guard lock(mutex_);
  if (deaf_.size() >= kHeldMax) deaf_.clear();
  deaf_[queue] = until;
}

bool MixedShared::in_doubt(const std::string& queue) const {
  // What we cannot send, others do not get either.
  if (sender.fails()) return true;
  const std::lock_guard lock(mutex_);
  return deaf_.contains(queue);
}

void MixedShared::answered(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  deaf_.erase(queue);
}

MixedStore::MixedStore(MixedParts parts, const Clock& clock, uint64_t seed)
    : RequestStore(seed), clock_(clock), parts_(std::move(parts)), random_(~seed) {}

MixedStore::~MixedStore() {
  for (const auto& [queue, left] : unsettled_) (void)parts_.hints->settle(queue, left.receipts);
}

Blobs& MixedStore::blobs() {
  if (parts_.blobs != nullptr) return *parts_.blobs;
  return (parts_.blob_store != nullptr ? *parts_.blob_store : *parts_.table).blobs();
}

Result<void> MixedStore::drop_queue(std::string_view queue) { return parts_.hints->drop(queue); }

void MixedStore::stop() {
  stopped_ = true;
  parts_.hints->stop();
}

Answer MixedStore::call(Request&& request) {
  if (auto* commit = std::get_if<Commit>(&request)) return on(std::move(*commit));
  if (const auto* pull = std::get_if<Pull>(&request)) return on(*pull);
  if (const auto* renew = std::get_if<Renew>(&request)) return on(*renew);
  if (const auto* ask = std::get_if<AskDepth>(&request)) return on(*ask);
  if (const auto* get = std::get_if<BlobGet>(&request)) {
    auto bytes = blobs().get(get->name, get->offset, get->max);
    if (!bytes.ok()) return bytes.error();
    return Bytes{std::move(bytes).value()};
  }
  if (const auto* erase = std::get_if<BlobErase>(&request)) {
    const auto erased = blobs().erase(erase->name);
    return erased.ok() ? Answer(Done{}) : erased.error();
  }
  if (const auto* list = std::get_if<BlobList>(&request)) {
    auto names = blobs().list(list->prefix, list->after, list->max);
    if (!names.ok()) return names.error();
    return BlobNames{std::move(names).value()};
  }
  if (const auto* get = std::get_if<Get>(&request); get && is_own_table(get->table)) {
    return own_table(get->table);
  }
  if (const auto* scan = std::get_if<Scan>(&request); scan && is_own_table(scan->table)) {
    return own_table(scan->table);
  }
  const auto* erase = std::get_if<EraseAll>(&request);
  if (erase != nullptr && is_own_table(erase->table)) return own_table(erase->table);
  if (std::holds_alternative<Get>(request) || std::holds_alternative<Scan>(request) ||
      erase != nullptr) {
    return parts_.table->ask(std::move(request));
  }
  if (std::holds_alternative<AskInfo>(request)) return info_of_all();
  return Error{Code::unsupported, "this store writes a blob only as a whole"};
}

// Pulls.

// A pull that does not wait wants all there is now, without asking a service that may be away.
Answer MixedStore::pull_now(const Pull& pull) {
  std::vector<Delivery> found;
  if (!parts_.shared->in_doubt(pull.queue)) found = TRY(take_hinted(pull, Millis(0)));
  Pull rest = pull;
  rest.max = std::min<size_t>(pull.max, parts_.writes_max) - found.size();
  if (rest.max == 0) return Deliveries{std::move(found)};
  Result<std::vector<Delivery>> more = look(rest, bytes_of(found));
  if (more.ok()) std::ranges::move(more.value(), std::back_inserter(found));
  // What was taken already is the caller's, whatever happened after it.
  if (!more.ok() && found.empty()) return more.error();
  return Deliveries{std::move(found)};
}

Answer MixedStore::on(const Pull& pull) {
  if (pull.wait == Millis(0)) return pull_now(pull);
  const Instant until = clock_.now() + pull.wait;
  while (true) {
    // A service in doubt is asked only when there is nothing to do.
    if (clock_.now() >= parts_.shared->next_look(pull.queue) ||
        parts_.shared->in_doubt(pull.queue)) {
      std::vector<Delivery> found = TRY(look(pull, 0));
      if (!found.empty()) return Deliveries{std::move(found)};
    }
    const Instant wake = std::min(until, parts_.shared->next_look(pull.queue));
    const Millis wait = std::max(wake - clock_.now(), Millis(0));
    std::vector<Delivery> found = TRY(take_hinted(pull, wait));
    if (!found.empty() || clock_.now() >= until || stopped_) return Deliveries{std::move(found)};
  }
}

Result<std::vector<Delivery>> MixedStore::take_hinted(const Pull& pull, Millis wait) {
  const size_t max = std::min<size_t>(pull.max, parts_.writes_max);
  const bool deaf = clock_.now() < parts_.shared->deaf_until(pull.queue);
  Result<std::vector<Hint>> received = std::vector<Hint>();
  if (!deaf) received = parts_.hints->receive(pull.queue, max, wait);
  if (!received.ok()) parts_.shared->deaf(pull.queue, clock_.now() + kDeaf);
  if (deaf || !received.ok()) {
    // The rows are looked through more often instead.
    const Instant next = clock_.now() + std::min(wait, kLookFailing);
    parts_.shared->looked(pull.queue, next);
    if (!stopped_) wait_until(next, clock_);
    return std::vector<Delivery>();
  }
  parts_.shared->answered(pull.queue);
  Candidates named;
  std::vector<std::string> receipts;
  for (const Hint& hint : received.value()) {
    receipts.push_back(hint.receipt);
    std::optional<HintText> text = decode_hint(hint.bytes);
    const auto same = [&](const Candidate& other) { return other.id == text->id; };
    if (!text || std::ranges::any_of(named, same)) continue;
    Candidate candidate{
        .id = std::move(text->id), .seen = {.version = text->version, .row = {}}, .body = {}};
    MessageRow& row = candidate.seen.row;
    row.attempt = text->attempt;
    row.note = std::move(text->note);
    row.size = text->size;
    if (row.apart()) {
      candidate.body = std::move(text->body);
    } else if (text->body) {
      row.body = std::move(*text->body);
    } else {
      continue;  // Nobody sends such.
    }
    named.push_back(std::move(candidate));
  }
  auto taken = take(pull, std::move(named), 0);
  // What could not be taken now is found in the rows, or held by somebody.
  if (taken.ok()) settle(pull.queue, std::move(receipts));
  return taken;
}

// In batches, and what is left after a while. Those that come again do no harm.
void MixedStore::settle(const std::string& queue, std::vector<std::string>&& receipts) {
  if (receipts.empty() && !unsettled_.contains(queue)) return;
  Unsettled& waiting = unsettled_.try_emplace(queue, Unsettled{{}, clock_.now()}).first->second;
  std::ranges::move(receipts, std::back_inserter(waiting.receipts));
  const bool enough = waiting.receipts.size() >= parts_.hints->settle_batch();
  if (!enough && clock_.now() - waiting.since < kSettleAfter) return;
  (void)parts_.hints->settle(queue, waiting.receipts);
  unsettled_.erase(queue);
}

Result<std::vector<Delivery>> MixedStore::look(const Pull& pull, size_t bytes) {
  const size_t max = std::min<size_t>(pull.max, parts_.writes_max);
  const Millis every = parts_.shared->in_doubt(pull.queue) ? kLookFailing : kLookEvery;
  Instant next = clock_.now() + every * 3 / 4 +
                 Millis(random_.below(static_cast<uint64_t>(every.count() / 2)));
  Candidates ready;
  TRY(each_message(pull.queue + "/", [&](Row&& row, MessageRow&& message) {
    const Instant now = clock_.now();
    const Millis left = parts_.shared->left(row.key, row.version, message.hold, now);
    if (left > Millis(0)) {
      next = std::min(next, now + left);
      return true;
    }
    ready.push_back({std::string(id_of(row.key)), {row.version, std::move(message)}, {}});
    return ready.size() < 4 * max;
  }));
  parts_.shared->looked(pull.queue, next);
  // Many may look at once: each takes others.
  for (size_t i = 0; ready.size() > max && i < max; ++i) {
    std::swap(ready[i], ready[i + random_.below(ready.size() - i)]);
  }
  return take(pull, std::move(ready), bytes);
}

Result<std::vector<Delivery>> MixedStore::take(const Pull& pull, Candidates&& candidates,
                                               size_t bytes) {
  const size_t already = bytes;
  size_t count = 0;
  while (count < std::min<size_t>({candidates.size(), pull.max, parts_.writes_max})) {
    bytes += candidates[count].seen.row.size + kIdMax;
    if (bytes > kBatchBytesMax && (count > 0 || already > 0)) break;
    ++count;
  }
  candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(count), candidates.end());
  for (int tries = 0; tries < kTakes && !candidates.empty(); ++tries) {
    if (TRY(lease(pull, candidates))) return deliver(pull, std::move(candidates));
    // Somebody was quicker with one of them, at least.
    TRY(keep_ready(pull.queue, candidates));
    if (tries == kTakes / 2 && candidates.size() > 1) {
      candidates.erase(candidates.begin() + 1, candidates.end());
    }
  }
  return std::vector<Delivery>();
}

// Whether all of them are ours now.
Result<bool> MixedStore::lease(const Pull& pull, Candidates& candidates) {
  const uint64_t token = std::max<uint64_t>(random_.next() >> 1U, 1);
  std::vector<Write> writes;
  for (Candidate& candidate : candidates) {
    MessageRow& row = candidate.seen.row;
    row.token = token;
    row.attempt += 1;
    row.step = 0;
    row.hold = pull.hold;
    writes.emplace_back(Put{std::string(kMessageRows), message_key(pull.queue, candidate.id),
                            encode(row), candidate.seen.version});
  }
  const auto version = write_rows(std::move(writes));
  if (!version.ok() && version.error().code == Code::conflict) return false;
  if (!version.ok()) return version.error();
  for (Candidate& candidate : candidates) {
    candidate.seen.version = version.value();
    parts_.shared->saw(message_key(pull.queue, candidate.id), candidate.seen, clock_.now());
  }
  return true;
}

// Reads the candidates again, and drops those that cannot be had.
Result<void> MixedStore::keep_ready(const std::string& queue, Candidates& candidates) const {
  std::vector<std::string> keys;
  keys.reserve(candidates.size());
  for (const Candidate& candidate : candidates) keys.push_back(message_key(queue, candidate.id));
  std::vector<SeenMessage> seen = TRY(read_messages(keys));
  Candidates ready;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].version == 0) continue;
    const Millis left =
        parts_.shared->left(keys[i], seen[i].version, seen[i].row.hold, clock_.now());
    if (left > Millis(0)) continue;
    // A body never changes as long as its message is there; but this may be another message.
    ready.push_back({std::move(candidates[i].id), std::move(seen[i]), {}});
  }
  candidates = std::move(ready);
  return {};
}

Result<std::vector<Delivery>> MixedStore::deliver(const Pull& pull, Candidates&& taken) const {
  std::vector<std::string> keys;
  for (const Candidate& candidate : taken) {
    if (candidate.seen.row.apart() && !candidate.body) {
      keys.push_back(message_key(pull.queue, candidate.id));
    }
  }
  std::map<std::string, std::string> bodies;
  if (!keys.empty()) {
    for (Row& row : TRY(parts_.table->table().get(kBodyRows, keys))) {
      if (row.version != 0) bodies[row.key] = std::move(row.value);
    }
  }
  std::vector<Delivery> deliveries;
  for (Candidate& candidate : taken) {
    const MessageRow& row = candidate.seen.row;
    std::string body = row.body;
    if (candidate.body) {
      body = std::move(*candidate.body);
    } else if (row.apart()) {
      const auto found = bodies.find(message_key(pull.queue, candidate.id));
      if (found == bodies.end()) continue;  // Our lease has ended, and another has finished it.
      body = std::move(found->second);
    }
    deliveries.push_back(
        {{std::move(candidate.id), row.token}, std::move(body), row.attempt, row.note});
  }
  return deliveries;
}

Answer MixedStore::on(const Renew& renew) {
  Lost lost;
  for (size_t first = 0; first < renew.leases.size(); first += parts_.writes_max) {
    const size_t count = std::min(parts_.writes_max, renew.leases.size() - first);
    TRY(renew_some(renew, std::span(renew.leases).subspan(first, count), lost));
  }
  return lost;
}

Result<void> MixedStore::renew_some(const Renew& renew, std::span<const Lease> leases, Lost& lost) {
  std::vector<std::string> keys;
  for (const Lease& lease : leases) keys.push_back(message_key(renew.queue, lease.id));
  const Error busy = {Code::unavailable,
                      fmt::format("the leases in queue {} keep changing", renew.queue)};
  bool again = false;
  const auto renewed = compare_and_set(busy, [&]() -> Round<bool> {
    const bool remembered = !std::exchange(again, true);
    std::vector<SeenMessage> seen = TRY(remembered ? recall(keys) : read_messages(keys));
    std::vector<Write> writes;
    std::vector<size_t> kept;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (seen[i].version == 0 || !seen[i].row.held_by(leases[i])) continue;
      if (std::ranges::find(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(i), keys[i]) !=
          keys.begin() + static_cast<ptrdiff_t>(i)) {
        continue;  // Named twice.
      }
      kept.push_back(i);
      seen[i].row.hold = renew.hold;
      writes.emplace_back(
          Put{std::string(kMessageRows), keys[i], encode(seen[i].row), seen[i].version});
    }
    // What is remembered may be old: only a look says that a lease is lost.
    if (remembered && kept.size() < keys.size()) return std::optional<bool>();
    const auto version =
        TRY(unless_conflict(writes.empty() ? Result<uint64_t>(0) : write_rows(std::move(writes))));
    if (!version) return std::optional<bool>();
    std::vector<HintSender::Posted> hints;
    for (const size_t i : kept) {
      seen[i].version = *version;
      parts_.shared->saw(keys[i], seen[i], clock_.now());
      if (renew.hold == Millis(0))
        hints.push_back(hint_at(renew.queue, leases[i].id, seen[i], nullptr));
    }
    parts_.shared->sender.post(std::move(hints));
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool same = seen[i].version != 0 && seen[i].row.held_by(leases[i]);
      if (same) continue;
      lost.leases.push_back(leases[i]);
      parts_.shared->forget(keys[i]);
    }
    return std::optional(true);
  });
  return renewed.ok() ? Result<void>() : renewed.error();
}

// What is known of these messages; rows are read if one is not.
Result<std::vector<SeenMessage>> MixedStore::recall(const std::vector<std::string>& keys) {
  std::vector<SeenMessage> all;
  for (const std::string& key : keys) {
    std::optional<SeenMessage> seen = parts_.shared->find(key);
    if (!seen) return read_messages(keys);
    all.push_back(std::move(*seen));
  }
  return all;
}

Result<std::vector<SeenMessage>> MixedStore::read_messages(
    const std::vector<std::string>& keys) const {
  std::vector<SeenMessage> all;
  for (Row& row : TRY(parts_.table->table().get(kMessageRows, keys))) {
    SeenMessage seen;
    if (row.version != 0) {
      std::optional<MessageRow> message = decode_message_row(row.value);
      if (!message) return damaged(row.key);
      seen = {row.version, std::move(*message)};
    }
    all.push_back(std::move(seen));
  }
  return all;
}

Error MixedStore::damaged(std::string_view key) {
  return {Code::corrupt,
          fmt::format("the row of message {} in queue {} is damaged", id_of(key), queue_of(key))};
}

// Calls each(row, message) until it returns false.
template <typename Each>
Result<void> MixedStore::each_message(const std::string& prefix, const Each& each) {
  std::string after;
  while (true) {
    std::vector<Row> rows = TRY(parts_.table->table().scan(kMessageRows, prefix, after, kScanRows));
    if (rows.empty()) return {};
    after = rows.back().key;
    for (Row& row : rows) {
      std::optional<MessageRow> message = decode_message_row(row.value);
      if (!message) return damaged(row.key);
      if (!each(std::move(row), std::move(*message))) return {};
    }
  }
}

// A lease that ended before this process saw it counts as one until it has been watched.
void MixedStore::count(const Row& row, const MessageRow& message, Depth& depth) {
  const Millis left = parts_.shared->left(row.key, row.version, message.hold, clock_.now());
  ++(left > Millis(0) ? depth.leased : depth.ready);
}

Answer MixedStore::on(const AskDepth& ask) {
  Depth depth;
  TRY(each_message(ask.queue + "/", [&](Row&& row, MessageRow&& message) {
    count(row, message, depth);
    return true;
  }));
  return depth;
}

Answer MixedStore::info_of_all() {
  Info info = TRY(parts_.table->info());
  std::erase_if(info.tables, [](const Info::TableInfo& table) { return is_own_table(table.name); });
  TRY(each_message("", [&](Row&& row, MessageRow&& message) {
    if (info.queues.empty() || info.queues.back().name != queue_of(row.key)) {
      if (info.queues.size() == kBatchMax) return false;
      info.queues.push_back({std::string(queue_of(row.key)), {}});
    }
    count(row, message, info.queues.back().depth);
    return true;
  }));
  TRY(count_blobs(info));
  return info;
}

// Unless they are where the table is, which has counted them.
Result<void> MixedStore::count_blobs(Info& info) {
  if (parts_.blobs == nullptr && parts_.blob_store == nullptr) return {};
  info.blobs = info.blob_bytes = 0;
  std::string after;
  while (true) {
    const std::vector<BlobInfo> some = TRY(blobs().list("", after, kScanRows));
    if (some.empty()) return {};
    after = some.back().name;
    info.blobs += some.size();
    for (const BlobInfo& blob : some) info.blob_bytes += blob.size;
  }
}

Result<uint64_t> MixedStore::write_rows(std::vector<Write> writes, uint64_t nonce) {
  if (nonce == 0) nonce = std::max<uint64_t>(random_.next(), 1);
  Answer answer = parts_.table->ask(Commit{nonce, std::move(writes)});
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  const auto* done = std::get_if<Committed>(&answer);
  if (done == nullptr) return Error{Code::unavailable, "the table gave an unexpected answer"};
  return done->version;
}

HintSender::Posted MixedStore::hint_at(const std::string& queue, const std::string& id,
                                       const SeenMessage& message, const std::string* body) const {
  HintText hint{.id = id,
                .version = message.version,
                .attempt = message.row.attempt,
                .size = message.row.size,
                .note = message.row.note,
                .body = {}};
  if (!message.row.apart()) {
    hint.body = message.row.body;
  } else if (body != nullptr) {
    hint.body = *body;
  }
  return {queue, encode_hint(hint, parts_.hints->bytes_max())};
}

}  // namespace dunlin::mixed
