#include "stores/engine/table_state.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/bytes.h"
#include "base/check.h"

namespace dunlin::engine {
namespace {

// An entry: how many bytes its key shares with the key before it (as many as there are: the
// searches rest on that), how many follow, those, then the state. Counts below 128 take one byte.
constexpr size_t kStateSize = 20;

struct Entry {
  size_t shared = 0;
  std::string_view rest;   // Of the key.
  const char* state = "";  // kStateSize bytes.
  size_t end = 0;          // Where the next entry begins.
};

size_t read_count(const char*& at) {
  const auto low = static_cast<uint8_t>(*at++);
  if (low < 0x80) return low;
  return (low & 0x7fU) | size_t{static_cast<uint8_t>(*at++)} << 7U;
}

Entry read_entry(const std::string& block, size_t start) {
  const char* at = block.data() + start;
  Entry entry;
  entry.shared = read_count(at);
  const size_t size = read_count(at);
  entry.rest = {at, size};
  entry.state = at + size;
  entry.end = static_cast<size_t>(entry.state - block.data()) + kStateSize;
  return entry;
}

void append_entry(std::string& out, size_t shared, std::string_view rest, std::string_view state) {
  append_varint(out, shared);
  append_sized(out, rest);
  out += state;
}

std::string to_bytes(const RowState& state) {
  std::string bytes;
  append_fixed(bytes, state.at.segment);
  append_fixed(bytes, state.at.offset);
  append_fixed(bytes, state.at.size);
  append_fixed(bytes, state.version);
  return bytes;
}

RowState to_state(const char* bytes) {
  ByteReader in({bytes, kStateSize});
  RowState state;
  state.at.segment = in.fixed<uint32_t>();
  state.at.offset = in.fixed<uint32_t>();
  state.at.size = in.fixed<uint32_t>();
  state.version = in.fixed<uint64_t>();
  return state;
}

size_t common(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

// Where a key is in a block, or would be.
struct Found {
  size_t at = 0;      // Of the first entry that is not less.
  size_t before = 0;  // What the key shares with the entry before that.
  size_t behind = 0;  // And with that entry, if it is another.
  bool is_here = false;
};

// Keys are compared by what they share, most of them without a look at their bytes.
Found search(const std::string& block, std::string_view key) {
  Found found;
  while (found.at < block.size()) {
    const Entry entry = read_entry(block, found.at);
    if (entry.shared < found.before) {  // It leaves the key's path upwards.
      found.behind = entry.shared;
      return found;
    }
    if (entry.shared == found.before) {
      const std::string_view rest = key.substr(found.before);
      const size_t more = common(entry.rest, rest);
      found.behind = found.before + more;
      if (more == entry.rest.size() && more == rest.size()) {
        found.is_here = true;
        return found;
      }
      const bool is_less = more == entry.rest.size() ||
                           (more < rest.size() && static_cast<uint8_t>(entry.rest[more]) <
                                                      static_cast<uint8_t>(rest[more]));
      if (!is_less) return found;
      found.before = found.behind;
    }
    found.at = entry.end;
  }
  return found;
}

std::string last_key(const std::string& block) {
  std::string key;
  for (size_t at = 0; at < block.size();) {
    const Entry entry = read_entry(block, at);
    key.replace(entry.shared, std::string::npos, entry.rest);
    at = entry.end;
  }
  return key;
}

}  // namespace

TableState::Iterator::Iterator(const Blocks& blocks, Blocks::const_iterator block, size_t at)
    : blocks_(&blocks), block_(block), at_(at) {}

void TableState::Iterator::read() {
  if (block_ != blocks_->end() && at_ == block_->second.size()) {
    ++block_;
    at_ = 0;
  }
  if (block_ == blocks_->end()) return;
  const Entry entry = read_entry(block_->second, at_);
  row_.first.replace(entry.shared, std::string::npos, entry.rest);
  row_.second = to_state(entry.state);
  next_ = entry.end;
}

TableState::Iterator& TableState::Iterator::operator++() {
  at_ = next_;
  read();
  return *this;
}

TableState::Blocks::iterator TableState::block_of(std::string_view key) {
  if (blocks_.empty()) return blocks_.emplace("", "").first;
  return std::prev(blocks_.upper_bound(key));  // The first one begins with the empty key.
}

size_t TableState::memory() const {
  size_t bytes = 0;
  for (const auto& [first, block] : blocks_) {
    bytes += sizeof(Blocks::value_type) + first.capacity() + block.capacity();
  }
  return bytes;
}

std::optional<RowState> TableState::find(std::string_view key) const {
  if (blocks_.empty()) return {};
  const std::string& block = std::prev(blocks_.upper_bound(key))->second;
  const Found found = search(block, key);
  if (!found.is_here) return {};
  return to_state(read_entry(block, found.at).state);
}

TableState::Iterator TableState::bound(std::string_view key, bool is_after) const {
  if (blocks_.empty()) return end();
  // From the start of the block: what a key shares is only known from the keys before it.
  Iterator row(blocks_, std::prev(blocks_.upper_bound(key)), 0);
  row.read();
  while (row != end() && (is_after ? row->first <= key : row->first < key)) ++row;
  return row;
}

std::optional<RowState> TableState::put(std::string_view key, const RowState& state) {
  const auto place = block_of(key);
  std::string& block = place->second;
  const Found found = search(block, key);
  const std::string bytes = to_bytes(state);
  if (found.is_here) {
    char* const here = block.data() + (read_entry(block, found.at).state - block.data());
    const RowState before = to_state(here);
    std::memcpy(here, bytes.data(), kStateSize);
    return before;
  }
  ++size_;
  const bool is_last = found.at == block.size();
  std::string entries;
  append_entry(entries, found.before, key.substr(found.before), bytes);
  size_t replaced = 0;
  if (!is_last) {  // The next one shares more with this key than with the one before.
    const Entry next = read_entry(block, found.at);
    append_entry(entries, found.behind, next.rest.substr(found.behind - next.shared),
                 {next.state, kStateSize});
    replaced = next.end - found.at;
  }
  block.replace(found.at, replaced, entries);
  // Keys that grow, as those of jobs do, leave full blocks behind.
  if (block.size() > kBlockMax) split(place, is_last ? found.at : block.size() / 2);
  return {};
}

// Into the entries that begin before `at`, and the others.
void TableState::split(Blocks::iterator place, size_t at) {
  std::string& block = place->second;
  std::string key;
  size_t start = 0;
  Entry entry = read_entry(block, start);
  while (true) {
    key.replace(entry.shared, std::string::npos, entry.rest);
    if (start >= at || entry.end == block.size()) break;
    start = entry.end;
    entry = read_entry(block, start);
  }
  if (start == 0) return;  // One large entry.
  std::string upper;
  upper.reserve(block.size() - start + entry.shared + 1);
  append_entry(upper, 0, key, {entry.state, kStateSize});
  upper.append(block, entry.end);
  block.resize(start);
  block.shrink_to_fit();
  blocks_.emplace_hint(std::next(place), std::move(key), std::move(upper));
}

std::optional<RowState> TableState::erase(std::string_view key) {
  if (blocks_.empty()) return {};
  const auto place = block_of(key);
  std::string& block = place->second;
  const Found found = search(block, key);
  if (!found.is_here) return {};
  --size_;
  const Entry entry = read_entry(block, found.at);
  const RowState before = to_state(entry.state);
  std::string next_entry;
  size_t end = entry.end;
  if (entry.end < block.size()) {
    const Entry next = read_entry(block, entry.end);
    const size_t shared = std::min(entry.shared, next.shared);
    std::string rest(entry.rest.substr(0, next.shared - shared));
    rest += next.rest;
    append_entry(next_entry, shared, rest, {next.state, kStateSize});
    end = next.end;
  }
  block.replace(found.at, end - found.at, next_entry);
  if (block.size() < kBlockMax / 4) merge_with_next(place);
  return before;
}

// A block that has become small takes in the next, if both are one of moderate size.
void TableState::merge_with_next(Blocks::iterator place) {
  const auto next = std::next(place);
  std::string& block = place->second;
  if (next != blocks_.end() && block.size() + next->second.size() <= kBlockMax / 2) {
    const Entry first = read_entry(next->second, 0);
    const size_t shared = common(last_key(block), first.rest);
    append_entry(block, shared, first.rest.substr(shared), {first.state, kStateSize});
    block.append(next->second, first.end);
    blocks_.erase(next);
  } else if (block.empty() && place != blocks_.begin()) {
    blocks_.erase(place);
  } else if (block.empty() && next != blocks_.end()) {
    // The first block must begin with the empty key.
    std::string moved = std::move(next->second);
    blocks_.erase(next);
    blocks_.begin()->second = std::move(moved);
  } else if (block.empty()) {
    blocks_.clear();
  }
}

}  // namespace dunlin::engine
