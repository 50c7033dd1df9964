#include "engine/index.h"

#include <algorithm>

#include "base/check.h"

namespace dunlin {

const TableState* Index::table(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : &found->second;
}

const QueueState* Index::queue(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : found->second.get();
}

const RowState* Index::row(std::string_view table, std::string_view key) const {
  const TableState* rows = this->table(table);
  if (rows == nullptr) return nullptr;
  const auto found = rows->find(key);
  return found == rows->end() ? nullptr : &found->second;
}

Item* Index::item(std::string_view queue, std::string_view id) const {
  const QueueState* state = this->queue(queue);
  if (state == nullptr) return nullptr;
  const auto found = state->items.find(id);
  return found == state->items.end() ? nullptr : found->get();
}

const BlobState* Index::blob(std::string_view name) const {
  const auto found = blobs_.find(name);
  return found == blobs_.end() ? nullptr : &found->second;
}

void Index::put_row(std::string_view table, std::string_view key, RowState state) {
  auto rows = tables_.find(table);
  if (rows == tables_.end()) rows = tables_.emplace(std::string(table), TableState()).first;
  const auto found = rows->second.find(key);
  if (found == rows->second.end()) {
    rows->second.emplace(std::string(key), state);
  } else {
    discount(found->second.at);
    found->second = state;
  }
  count(state.at);
}

void Index::erase_row(std::string_view table, std::string_view key) {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return;
  const auto found = rows->second.find(key);
  if (found == rows->second.end()) return;
  discount(found->second.at);
  rows->second.erase(found);
  if (rows->second.empty()) tables_.erase(rows);
}

uint64_t Index::erase_rows(std::string_view table, std::string_view first, std::string_view last) {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return 0;
  const auto begin = rows->second.lower_bound(first);
  const auto end = rows->second.upper_bound(last);
  uint64_t count = 0;
  for (auto row = begin; row != end; ++row, ++count) discount(row->second.at);
  rows->second.erase(begin, end);
  if (rows->second.empty()) tables_.erase(rows);
  return count;
}

void Index::put_blob(std::string_view name, BlobState state) {
  const auto found = blobs_.find(name);
  if (found != blobs_.end()) {
    discount(found->second.at);
    found->second = state;
  } else {
    blobs_.emplace(std::string(name), state);
  }
  count(state.at);
}

void Index::erase_blob(std::string_view name) {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return;
  discount(found->second.at);
  blobs_.erase(found);
}

Item& Index::add(std::string_view queue, std::string_view id, uint64_t number, Position at) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) {
    found = queues_.emplace(std::string(queue), std::make_unique<QueueState>()).first;
    found->second->name = queue;
  }
  QueueState& state = *found->second;
  auto item = std::make_unique<Item>();
  item->id = id;
  item->queue = &state;
  item->number = number;
  item->at = at;
  Item& added = *item;
  CHECK(state.items.insert(std::move(item)).second);
  state.ready.emplace_hint(state.ready.end(), number, &added);
  count(at);
  return added;
}

void Index::move(Item& item, Position at) {
  discount(item.at);
  item.at = at;
  count(at);
}

void Index::lease(Item& item, uint64_t token, Millis hold, Instant now) {
  item.token = token;
  item.attempts += 1;
  if (const auto note = notes_.find(item.number); note != notes_.end()) note->second.step = 0;
  hide(item, hold, now);
}

void Index::keep(Item& item, ItemNote note, Millis hold, Instant now) {
  notes_.insert_or_assign(item.number, std::move(note));
  renew(item, hold, now);
}

const ItemNote* Index::note(const Item& item) const {
  const auto found = notes_.find(item.number);
  return found == notes_.end() ? nullptr : &found->second;
}

void Index::renew(Item& item, Millis hold, Instant now) {
  if (hold == Millis(0)) {
    give_back(item);
  } else {
    hide(item, hold, now);
  }
}

void Index::hide(Item& item, Millis hold, Instant now) {
  if (item.leased) {
    leased_.erase({item.hidden_until, item.number});
  } else {
    item.queue->ready.erase(item.number);
  }
  item.leased = true;
  item.hold = hold;
  item.hidden_until = now + hold;
  leased_.emplace_hint(leased_.end(), Deadline{item.hidden_until, item.number}, &item);
}

void Index::give_back(Item& item) {
  if (!item.leased) return;
  leased_.erase({item.hidden_until, item.number});
  item.leased = false;
  item.hold = Millis(0);
  item.queue->ready.emplace(item.number, &item);
}

void Index::remove(Item& item) {
  QueueState& queue = *item.queue;
  if (item.leased) {
    leased_.erase({item.hidden_until, item.number});
  } else {
    queue.ready.erase(item.number);
  }
  discount(item.at);
  notes_.erase(item.number);
  queue.items.erase(queue.items.find(std::string_view(item.id)));
  if (queue.items.empty()) queues_.erase(queues_.find(queue.name));
}

Item* Index::first_to_expire() const { return leased_.empty() ? nullptr : leased_.begin()->second; }

uint64_t Index::live_bytes(uint32_t segment) const {
  const auto found = live_by_segment_.find(segment);
  return found == live_by_segment_.end() ? 0 : found->second;
}

void Index::forget_segments_before(uint32_t segment) {
  while (!live_by_segment_.empty() && live_by_segment_.begin()->first < segment) {
    CHECK(live_by_segment_.begin()->second == 0);
    live_by_segment_.erase(live_by_segment_.begin());
  }
}

void Index::count(Position at) {
  live_by_segment_[at.segment] += at.size;
  live_bytes_ += at.size;
}

void Index::discount(Position at) {
  live_by_segment_[at.segment] -= at.size;
  live_bytes_ -= at.size;
}

bool Replay::apply(const Record& record, Position at) {
  return std::visit([&](const auto& each) { return on(each, at); }, record);
}

// Numbers of messages that are finished by now belong to segments that were dropped.
template <typename Act>
void Replay::each(const Numbers& numbers, Act act) {
  numbers.each([&](uint64_t number) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end()) act(*found->second);
  });
}

bool Replay::on(const BatchRecord& record, Position /*at*/) {
  saw(record.stamp);
  return true;
}

bool Replay::on(const PutRecord& record, Position at) {
  saw(record.version);
  index_.put_row(record.table, record.key, {.at = at, .version = record.version});
  return true;
}

bool Replay::on(const EraseRecord& record, Position /*at*/) {
  index_.erase_row(record.table, record.key);
  return true;
}

bool Replay::on(const PushRecord& record, Position at) {
  Item* item = index_.item(record.queue, record.id);
  const auto numbered = by_number_.find(record.number);
  if (numbered != by_number_.end() && numbered->second != item) return false;
  if (item != nullptr && item->number != record.number) {
    // Its end was among records that are lost; this is the next one of that id.
    by_number_.erase(item->number);
    index_.remove(*item);
    item = nullptr;
  }
  saw(std::max(record.number, record.token));
  if (item == nullptr) {
    item = &index_.add(record.queue, record.id, record.number, at);
    by_number_.emplace(record.number, item);
  } else {
    index_.move(*item, at);
  }
  // Moved with the state that it had then; later records change it further.
  if (record.hold_ms > 0) {
    index_.renew(*item, Millis(record.hold_ms), now_);
  } else {
    index_.give_back(*item);
  }
  item->attempts = static_cast<uint32_t>(record.attempts);
  item->token = record.token;
  return true;
}

bool Replay::on(const LeaseRecord& record, Position /*at*/) {
  saw(record.token);
  each(record.numbers,
       [&](Item& item) { index_.lease(item, record.token, Millis(record.hold_ms), now_); });
  return true;
}

bool Replay::on(const RenewRecord& record, Position /*at*/) {
  each(record.numbers, [&](Item& item) { index_.renew(item, Millis(record.hold_ms), now_); });
  return true;
}

bool Replay::on(const FinishRecord& record, Position /*at*/) {
  each(record.numbers, [&](Item& item) {
    by_number_.erase(item.number);
    index_.remove(item);
  });
  return true;
}

bool Replay::on(const BlobRecord& record, Position at) {
  saw(record.file);
  index_.put_blob(record.name, {.at = at, .file = record.file, .size = record.size});
  return true;
}

bool Replay::on(const BlobEraseRecord& record, Position /*at*/) {
  index_.erase_blob(record.name);
  return true;
}

bool Replay::on(const KeepRecord& record, Position /*at*/) {
  saw(record.version);
  const auto found = by_number_.find(record.number);
  if (found == by_number_.end()) return true;  // Finished since, as in each().
  index_.keep(*found->second,
              {.step = record.step,
               .version = record.version,
               .nonce = record.nonce,
               .text = std::string(record.note)},
              Millis(record.hold_ms), now_);
  return true;
}

bool Replay::on(const EraseRangeRecord& record, Position /*at*/) {
  index_.erase_rows(record.table, record.first, record.last);
  return true;
}

}  // namespace dunlin
