#include "stores/engine/record.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "store/store.h"

namespace dunlin::engine {
namespace {

// Never renumbered: they are on people's disks.
enum Kind : uint8_t {
  kind_batch = 1,
  kind_put = 2,
  kind_erase = 3,
  kind_push = 4,
  kind_lease = 5,
  kind_renew = 6,
  kind_finish = 7,
  kind_blob = 8,
  kind_blob_erase = 9,
  kind_keep = 10,
  kind_erase_range = 11,
  kind_placed_blob = 12,
};

// Lets find_batch() look for batches in bytes whose framing is lost.
constexpr std::string_view kBatchMagic = "\xd5nlnbtch";

void begin(std::string& out, Kind kind) { out.push_back(static_cast<char>(kind)); }

void append_numbers(std::string& out, std::span<const uint64_t> numbers) {
  uint64_t last = 0;
  for (const uint64_t number : numbers) {
    CHECK(number >= last);
    append_varint(out, number - last);
    last = number;
  }
}

bool is_sized(std::string_view text, size_t max) { return !text.empty() && text.size() <= max; }
bool is_count(uint64_t number) { return number > 0 && number <= kCountMax; }
bool is_hold(uint64_t ms) { return ms <= static_cast<uint64_t>(kHoldMax.count()); }
bool is_list(const Numbers& numbers) {
  return numbers.each([](uint64_t /*number*/) {});
}

// Whether the engine could have written it. A checksum says only that someone did.
struct IsOurs {
  bool operator()(const BatchRecord& batch) const {
    return is_count(batch.number) && batch.stamp <= kCountMax;
  }
  bool operator()(const PutRecord& put) const {
    return is_sized(put.table, kNameMax) && is_sized(put.key, kKeyMax) && is_count(put.version) &&
           put.value.size() <= kValueMax;
  }
  bool operator()(const EraseRecord& erase) const {
    return is_sized(erase.table, kNameMax) && is_sized(erase.key, kKeyMax);
  }
  bool operator()(const PushRecord& push) const {
    return is_sized(push.queue, kNameMax) && is_sized(push.id, kIdMax) && is_count(push.number) &&
           push.attempts <= UINT32_MAX && push.token <= kCountMax && is_hold(push.hold_ms) &&
           push.body.size() <= kValueMax;
  }
  bool operator()(const LeaseRecord& lease) const {
    return is_sized(lease.queue, kNameMax) && is_count(lease.token) && is_hold(lease.hold_ms) &&
           is_list(lease.numbers);
  }
  bool operator()(const RenewRecord& renew) const {
    return is_sized(renew.queue, kNameMax) && is_hold(renew.hold_ms) && is_list(renew.numbers);
  }
  bool operator()(const FinishRecord& finish) const {
    return is_sized(finish.queue, kNameMax) && is_list(finish.numbers);
  }
  bool operator()(const BlobRecord& blob) const {
    return is_sized(blob.name, kKeyMax) && blob.file <= kCountMax && blob.size <= kBlobMax;
  }
  bool operator()(const BlobEraseRecord& erase) const { return is_sized(erase.name, kKeyMax); }
  bool operator()(const KeepRecord& keep) const {
    return is_sized(keep.queue, kNameMax) && is_count(keep.number) && keep.step <= kCountMax &&
           is_hold(keep.hold_ms) && keep.version <= kCountMax && keep.note.size() <= kNoteMax;
  }
  bool operator()(const EraseRangeRecord& erase) const {
    return is_sized(erase.table, kNameMax) && is_sized(erase.first, kKeyMax) &&
           is_sized(erase.last, kKeyMax) && erase.first <= erase.last;
  }
};

std::optional<Record> decode_batch(ByteReader& in) {
  for (const char expected : kBatchMagic) {
    if (in.fixed<uint8_t>() != static_cast<uint8_t>(expected)) return {};
  }
  BatchRecord record;
  record.number = in.fixed<uint64_t>();
  record.stamp = in.fixed<uint64_t>();
  return record;
}

std::optional<Record> decode_push(ByteReader& in) {
  PushRecord record;
  record.queue = in.sized();
  record.id = in.sized();
  record.number = in.varint();
  record.attempts = in.varint();
  record.token = in.varint();
  record.hold_ms = in.varint();
  record.body = in.rest();
  return record;
}

std::optional<Record> decode_put(ByteReader& in) {
  PutRecord record;
  record.table = in.sized();
  record.key = in.sized();
  record.version = in.varint();
  record.nonce = in.fixed<uint64_t>();
  record.value = in.rest();
  return record;
}

std::optional<Record> decode_keep(ByteReader& in) {
  KeepRecord record;
  record.queue = in.sized();
  record.number = in.varint();
  record.step = in.varint();
  record.hold_ms = in.varint();
  record.version = in.varint();
  record.nonce = in.fixed<uint64_t>();
  record.note = in.rest();
  return record;
}

std::optional<Record> decode_kind(uint8_t kind, ByteReader& in) {
  switch (static_cast<Kind>(kind)) {
    case kind_batch:
      return decode_batch(in);
    case kind_put:
      return decode_put(in);
    case kind_push:
      return decode_push(in);
    case kind_erase: {
      EraseRecord record;
      record.table = in.sized();
      record.key = in.sized();
      return record;
    }
    case kind_lease: {
      LeaseRecord record;
      record.queue = in.sized();
      record.token = in.varint();
      record.hold_ms = in.varint();
      record.numbers = Numbers(in.rest());
      return record;
    }
    case kind_renew: {
      RenewRecord record;
      record.queue = in.sized();
      record.hold_ms = in.varint();
      record.numbers = Numbers(in.rest());
      return record;
    }
    case kind_finish: {
      FinishRecord record;
      record.queue = in.sized();
      record.numbers = Numbers(in.rest());
      return record;
    }
    case kind_blob:
    case kind_placed_blob: {
      BlobRecord record;
      record.placed = kind == kind_placed_blob;
      record.name = in.sized();
      record.file = in.varint();
      record.size = in.varint();
      return record;
    }
    case kind_blob_erase:
      return BlobEraseRecord{.name = in.sized()};
    case kind_keep:
      return decode_keep(in);
    case kind_erase_range: {
      EraseRangeRecord record;
      record.table = in.sized();
      record.first = in.sized();
      record.last = in.sized();
      return record;
    }
  }
  return {};
}

}  // namespace

void encode(const BatchRecord& record, std::string& out) {
  begin(out, kind_batch);
  out += kBatchMagic;
  append_fixed(out, record.number);
  append_fixed(out, record.stamp);
}

void encode(const PutRecord& record, std::string& out) {
  begin(out, kind_put);
  append_sized(out, record.table);
  append_sized(out, record.key);
  append_varint(out, record.version);
  append_fixed(out, record.nonce);
  out += record.value;
}

void encode(const EraseRecord& record, std::string& out) {
  begin(out, kind_erase);
  append_sized(out, record.table);
  append_sized(out, record.key);
}

void encode(const PushRecord& record, std::string& out) {
  begin(out, kind_push);
  append_sized(out, record.queue);
  append_sized(out, record.id);
  append_varint(out, record.number);
  append_varint(out, record.attempts);
  append_varint(out, record.token);
  append_varint(out, record.hold_ms);
  out += record.body;
}

void encode(const LeaseRecord& record, std::span<const uint64_t> numbers, std::string& out) {
  begin(out, kind_lease);
  append_sized(out, record.queue);
  append_varint(out, record.token);
  append_varint(out, record.hold_ms);
  append_numbers(out, numbers);
}

void encode(const RenewRecord& record, std::span<const uint64_t> numbers, std::string& out) {
  begin(out, kind_renew);
  append_sized(out, record.queue);
  append_varint(out, record.hold_ms);
  append_numbers(out, numbers);
}

void encode(const FinishRecord& record, std::span<const uint64_t> numbers, std::string& out) {
  begin(out, kind_finish);
  append_sized(out, record.queue);
  append_numbers(out, numbers);
}

void encode(const BlobRecord& record, std::string& out) {
  begin(out, record.placed ? kind_placed_blob : kind_blob);
  append_sized(out, record.name);
  append_varint(out, record.file);
  append_varint(out, record.size);
}

void encode(const BlobEraseRecord& record, std::string& out) {
  begin(out, kind_blob_erase);
  append_sized(out, record.name);
}

void encode(const KeepRecord& record, std::string& out) {
  begin(out, kind_keep);
  append_sized(out, record.queue);
  append_varint(out, record.number);
  append_varint(out, record.step);
  append_varint(out, record.hold_ms);
  append_varint(out, record.version);
  append_fixed(out, record.nonce);
  out += record.note;
}

void encode(const EraseRangeRecord& record, std::string& out) {
  begin(out, kind_erase_range);
  append_sized(out, record.table);
  append_sized(out, record.first);
  append_sized(out, record.last);
}

std::optional<Record> decode(std::string_view payload) {
  ByteReader in(payload);
  const uint8_t kind = in.fixed<uint8_t>() & ~kGroupEnd;
  std::optional<Record> record = decode_kind(kind, in);
  if (!record || !in.ok() || !in.empty() || !std::visit(IsOurs(), *record)) return {};
  return record;
}

uint32_t place(uint64_t file, uint64_t at) {
  const std::array<uint64_t, 2> where = {file, at};
  std::array<char, sizeof(where)> bytes{};
  std::memcpy(bytes.data(), where.data(), sizeof(where));
  return std::max(crc32c({bytes.data(), bytes.size()}), 1U);
}

std::optional<Framed> read_frame(std::string_view bytes, uint32_t place) {
  ByteReader in(bytes);
  const auto crc = in.fixed<uint32_t>();
  const auto size = in.fixed<uint32_t>();
  if (!in.ok() || size == 0 || size > kRecordMax || size > bytes.size() - kRecordHead) return {};
  if (crc32c(bytes.substr(4, size + 4), place) != crc) return {};
  return Framed{.payload = bytes.substr(kRecordHead, size), .size = kRecordHead + size};
}

void seal_frame(std::string& out, size_t start, uint32_t place) {
  const size_t size = out.size() - start - kRecordHead;
  CHECK(size > 0 && size <= kRecordMax);
  overwrite_fixed(out, start + 4, static_cast<uint32_t>(size));
  overwrite_fixed(out, start, crc32c(std::string_view(out).substr(start + 4), place));
}

std::optional<size_t> find_batch(std::string_view bytes, size_t from, uint64_t least,
                                 uint32_t segment) {
  constexpr size_t kBeforeMagic = kRecordHead + 1;
  for (size_t at = bytes.find(kBatchMagic, from); at != std::string_view::npos;
       at = bytes.find(kBatchMagic, at + 1)) {
    if (at < from + kBeforeMagic) continue;
    const size_t start = at - kBeforeMagic;
    const auto framed = read_frame(bytes.substr(start), segment == 0 ? 0 : place(segment, start));
    if (!framed) continue;
    const auto record = decode(framed->payload);
    if (!record || !std::holds_alternative<BatchRecord>(*record)) continue;
    if (std::get<BatchRecord>(*record).number >= least) return start;
  }
  return {};
}

}  // namespace dunlin::engine
