#include "stores/engine/index.h"

#include <algorithm>

#include "base/check.h"

namespace dunlin::engine {
namespace {

const ItemState& state_of(const Item& item) { return item; }

}  // namespace

const TableState* Index::table(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : &found->second;
}

const QueueState* Index::queue(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : found->second.get();
}

std::optional<RowState> Index::row(std::string_view table, std::string_view key) const {
  const TableState* rows = this->table(table);
  return rows == nullptr ? std::nullopt : rows->find(key);
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
  const std::optional<RowState> before = rows->second.put(key, state);
  if (before) discount(before->at);
  count(state.at);
  note_row(table, key, before);
}

void Index::erase_row(std::string_view table, std::string_view key) {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return;
  const std::optional<RowState> before = rows->second.erase(key);
  if (!before) return;
  discount(before->at);
  if (rows->second.empty()) tables_.erase(rows);
  note_row(table, key, before);
}

uint64_t Index::erase_rows(std::string_view table, std::string_view first, std::string_view last) {
  const TableState* rows = this->table(table);
  if (rows == nullptr) return 0;
  std::vector<std::string> keys;  // Erasing one would make the iterator void.
  for (auto row = rows->lower_bound(first); row != rows->end() && row->first <= last; ++row) {
    keys.emplace_back(row->first);
  }
  for (const std::string& key : keys) erase_row(table, key);
  return keys.size();
}

void Index::put_blob(std::string_view name, BlobState state) {
  const auto found = blobs_.find(name);
  if (found != blobs_.end()) {
    note_blob(name, found->second);
    discount(found->second.at);
    found->second = state;
  } else {
    note_blob(name, std::nullopt);
    blobs_.emplace(std::string(name), state);
  }
  count(state.at);
}

void Index::erase_blob(std::string_view name) {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return;
  note_blob(name, found->second);
  discount(found->second.at);
  blobs_.erase(found);
}

Item& Index::add(std::string_view queue, std::string_view id, uint64_t number, Position at) {
  auto item = std::make_unique<Item>();
  item->id = id;
  item->number = number;
  item->at = at;
  Item& added = insert(queue, std::move(item));
  if (remembers_) undo_.emplace_back(ItemWasNot{&added});
  return added;
}

// Puts it where it belongs by its state.
Item& Index::insert(std::string_view queue, std::unique_ptr<Item> item) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) {
    found = queues_.emplace(std::string(queue), std::make_unique<QueueState>()).first;
    found->second->name = queue;
  }
  QueueState& state = *found->second;
  Item& added = *item;
  added.queue = &state;
  CHECK(state.items.insert(std::move(item)).second);
  if (added.leased) {
    leased_.emplace(Deadline{added.hidden_until, added.number}, &added);
  } else {
    state.ready.emplace_hint(state.ready.end(), added.number, &added);
  }
  count(added.at);
  return added;
}

std::unique_ptr<Item> Index::extract(Item& item) {
  QueueState& queue = *item.queue;
  if (item.leased) {
    leased_.erase({item.hidden_until, item.number});
  } else {
    queue.ready.erase(item.number);
  }
  discount(item.at);
  auto node = queue.items.extract(queue.items.find(std::string_view(item.id)));
  if (queue.items.empty()) queues_.erase(queues_.find(queue.name));
  return std::move(node.value());
}

void Index::move(Item& item, Position at) {
  note_item(item);
  discount(item.at);
  item.at = at;
  count(at);
}

void Index::lease(Item& item, uint64_t token, Millis hold, Instant now) {
  note_item(item);
  item.token = token;
  item.attempts += 1;
  if (const auto note = notes_.find(item.number); note != notes_.end()) {
    note_note(item);
    note->second.step = 0;
  }
  hide(item, hold, now);
}

void Index::keep(Item& item, ItemNote note, Millis hold, Instant now) {
  note_note(item);
  notes_.insert_or_assign(item.number, std::move(note));
  renew(item, hold, now);
}

const ItemNote* Index::note(const Item& item) const {
  const auto found = notes_.find(item.number);
  return found == notes_.end() ? nullptr : &found->second;
}

void Index::renew(Item& item, Millis hold, Instant now) {
  if (hold == Millis(0)) return give_back(item);
  note_item(item);
  hide(item, hold, now);
}

void Index::hide(Item& item, Millis hold, Instant now) {
  ItemState state = state_of(item);
  state.leased = true;
  state.hold = hold;
  state.hidden_until = now + hold;
  set(item, state);
}

void Index::give_back(Item& item) {
  if (!item.leased) return;
  note_item(item);
  release(item);
}

void Index::expire(Item& item) { release(item); }

void Index::release(Item& item) {
  ItemState state = state_of(item);
  state.leased = false;
  state.hold = Millis(0);
  set(item, state);
}

void Index::set(Item& item, const ItemState& state) {
  if (item.leased) {
    leased_.erase({item.hidden_until, item.number});
  } else if (state.leased) {
    item.queue->ready.erase(item.number);
  }
  if (state.leased) {
    leased_.emplace_hint(leased_.end(), Deadline{state.hidden_until, item.number}, &item);
  } else if (item.leased) {
    item.queue->ready.emplace(item.number, &item);
  }
  static_cast<ItemState&>(item) = state;
}

void Index::remove(Item& item) {
  if (notes_.contains(item.number)) {
    note_note(item);
    notes_.erase(item.number);
  }
  if (!remembers_) {
    extract(item);
    return;
  }
  std::string queue = item.queue->name;
  undo_.emplace_back(ItemWasThere{extract(item), std::move(queue)});
}

void Index::note_row(std::string_view table, std::string_view key, std::optional<RowState> state) {
  if (remembers_) undo_.emplace_back(RowWas{std::string(table), std::string(key), state});
}

void Index::note_blob(std::string_view name, std::optional<BlobState> state) {
  if (remembers_) undo_.emplace_back(BlobWas{std::string(name), state});
}

void Index::note_item(Item& item) {
  if (remembers_) undo_.emplace_back(ItemWas{&item, state_of(item)});
}

void Index::note_note(const Item& item) {
  if (!remembers_) return;
  const ItemNote* before = note(item);
  undo_.emplace_back(
      NoteWas{item.number, before == nullptr ? std::nullopt : std::optional(*before)});
}

void Index::settle(size_t changes) {
  undo_.erase(undo_.begin(), undo_.begin() + static_cast<std::ptrdiff_t>(changes));
}

void Index::undo() {
  remembers_ = false;
  while (!undo_.empty()) {
    std::visit([this](auto&& was) { undo(std::forward<decltype(was)>(was)); },
               std::move(undo_.back()));
    undo_.pop_back();
  }
  remembers_ = true;
}

void Index::undo(RowWas&& was) {
  if (was.state) {
    put_row(was.table, was.key, *was.state);
  } else {
    erase_row(was.table, was.key);
  }
}

void Index::undo(BlobWas&& was) {
  if (was.state) {
    put_blob(was.name, *was.state);
  } else {
    erase_blob(was.name);
  }
}

void Index::undo(ItemWas&& was) {
  discount(was.item->at);
  set(*was.item, was.state);
  count(was.item->at);
}

void Index::undo(ItemWasNot&& was) { extract(*was.item); }

void Index::undo(NoteWas&& was) {
  if (was.note) {
    notes_.insert_or_assign(was.number, std::move(*was.note));
  } else {
    notes_.erase(was.number);
  }
}

void Index::undo(ItemWasThere&& was) { insert(was.queue, std::move(was.item)); }

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
  index_.put_blob(record.name,
                  {.at = at, .file = record.file, .size = record.size, .placed = record.placed});
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

}  // namespace dunlin::engine
