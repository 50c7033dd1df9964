// What the log says, one record at a time: bytes <-> structs. docs/FORMAT.md has the tables.
//
// A record stands in the log as a checksum, a size and a payload; the payload's first byte is its
// kind, with kGroupEnd added on the last record of a group. Groups are applied whole or not at all.
//
// Pure; from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace dunlin::engine {

inline constexpr size_t kRecordHead = 8;         // Checksum and size.
inline constexpr size_t kRecordMax = 512 << 10;  // Of a payload.
inline constexpr uint8_t kGroupEnd = 0x80;

// Nothing that the engine counts gets this far: batches, versions, message numbers, tokens, files.
inline constexpr uint64_t kCountMax = uint64_t{1} << 62;

// Where a record stands. Every record has one; what is not on disk yet has it already.
struct Position {
  uint32_t segment = 0;
  uint32_t offset = 0;
  uint32_t size = 0;  // With its head.
  bool operator==(const Position&) const = default;
};

// Growing numbers as differences.
class Numbers {
 public:
  explicit Numbers(std::string_view encoded) : encoded_(encoded) {}

  // Calls visit(number) for each; false if the bytes make no sense, which those of a decoded record
  // never do.
  template <typename Visit>
  bool each(Visit visit) const;

 private:
  std::string_view encoded_;
};

// Opens a batch: what one write and one sync made durable. The next batch begins after that sync,
// so a batch on disk proves that all before it were acknowledged.
struct BatchRecord {
  uint64_t number = 0;
  uint64_t stamp = 0;  // The last version, message number, token or file number in use.
};
struct PutRecord {
  std::string_view table;
  std::string_view key;
  uint64_t version = 0;
  uint64_t nonce = 0;
  std::string_view value;
};
struct EraseRecord {
  std::string_view table;
  std::string_view key;
};
// A new message, or one that was moved with its deliveries so far.
struct PushRecord {
  std::string_view queue;
  std::string_view id;
  uint64_t number = 0;
  uint64_t attempts = 0;
  uint64_t token = 0;    // 0 until first handed out.
  uint64_t hold_ms = 0;  // 0: in the queue.
  std::string_view body;
};
struct LeaseRecord {
  std::string_view queue;
  uint64_t token = 0;
  uint64_t hold_ms = 0;
  Numbers numbers{{}};
};
struct RenewRecord {
  std::string_view queue;
  uint64_t hold_ms = 0;
  Numbers numbers{{}};
};
struct FinishRecord {
  std::string_view queue;
  Numbers numbers{{}};
};
struct BlobRecord {
  std::string_view name;
  uint64_t file = 0;
  uint64_t size = 0;
  bool placed = true;  // The checksums of its blocks say where they stand; not so in format 1.
};
struct BlobEraseRecord {
  std::string_view name;
};
// A holder went on with a message: what it left for the next one, and which commit that was.
struct KeepRecord {
  std::string_view queue;
  uint64_t number = 0;
  uint64_t step = 0;     // Keeps under the lease, with this one.
  uint64_t hold_ms = 0;  // 0: given back.
  uint64_t version = 0;
  uint64_t nonce = 0;
  std::string_view note;
};
// All rows of a table from one key to another, both included.
struct EraseRangeRecord {
  std::string_view table;
  std::string_view first;
  std::string_view last;
};
using Record =
    std::variant<BatchRecord, PutRecord, EraseRecord, PushRecord, LeaseRecord, RenewRecord,
                 FinishRecord, BlobRecord, BlobEraseRecord, KeepRecord, EraseRangeRecord>;

// Append the payload, its kind byte first, without kGroupEnd.
void encode(const BatchRecord& record, std::string& out);
void encode(const PutRecord& record, std::string& out);
void encode(const EraseRecord& record, std::string& out);
void encode(const PushRecord& record, std::string& out);
void encode(const BlobRecord& record, std::string& out);
void encode(const BlobEraseRecord& record, std::string& out);
void encode(const KeepRecord& record, std::string& out);
void encode(const EraseRangeRecord& record, std::string& out);
// These take the numbers plainly; the record's own are ignored.
void encode(const LeaseRecord& record, std::span<const uint64_t> numbers, std::string& out);
void encode(const RenewRecord& record, std::span<const uint64_t> numbers, std::string& out);
void encode(const FinishRecord& record, std::span<const uint64_t> numbers, std::string& out);

// Views into `payload`. Nothing if it is not a record of ours: every field is within the bounds
// that the engine keeps.
std::optional<Record> decode(std::string_view payload);

// One framed record at the start of `bytes`.
struct Framed {
  std::string_view payload;
  size_t size = 0;  // With its head.
  bool ends_group() const { return (static_cast<uint8_t>(payload[0]) & kGroupEnd) != 0; }
};
// Begins the checksum of what stands at `at` in a file, so that bytes that the disk wrote to the
// wrong place, or that a restore mixed up, are found. 0, for which this never stands, begins those
// of format 1, which do not say where.
uint32_t place(uint64_t file, uint64_t at);

// Nothing if the head, the size or the checksum is wrong.
std::optional<Framed> read_frame(std::string_view bytes, uint32_t place = 0);

// Writes checksum and size into the kRecordHead bytes before the payload.
// REQUIRES: the payload stands at the end of `out`, from `start + kRecordHead` on.
void seal_frame(std::string& out, size_t start, uint32_t place = 0);

// Where the first batch record with a number >= `least` stands at or after `from`, if any. The
// bytes are those of a segment of this number; 0: of one whose checksums do not say where.
std::optional<size_t> find_batch(std::string_view bytes, size_t from, uint64_t least,
                                 uint32_t segment = 0);

template <typename Visit>
bool Numbers::each(Visit visit) const {
  uint64_t last = 0;
  size_t at = 0;
  while (at < encoded_.size()) {
    uint64_t step = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == encoded_.size() || shift >= 64) return false;
      const auto byte = static_cast<uint8_t>(encoded_[at++]);
      step |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    if (step > kCountMax - last) return false;
    last += step;
    visit(last);
  }
  return true;
}

}  // namespace dunlin::engine
