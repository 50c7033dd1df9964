// The log's files: names, headers, the mark, and how one segment is read after anything may have
// happened to it. docs/FORMAT.md has the tables.
//
//   DIR/log/00000007.seg   a header, then records in groups, groups in batches
//   DIR/mark               how far the log is known to be durable
//
// Functions that take a File block on the disk; one thread at a time for each file. The others are
// pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"
#include "stores/engine/record.h"

namespace dunlin::engine {

inline constexpr size_t kSegmentHead = 40;
inline constexpr uint32_t kSegmentsMax = 1'000'000'000;  // More than anyone writes.

std::string segment_path(const std::string& folder, uint32_t number);

// The number in a segment's name; nothing for other names.
std::optional<uint32_t> segment_number(std::string_view name);

struct SegmentHeader {
  uint32_t number = 0;
  uint64_t first_batch = 0;
  uint64_t previous_end = 0;  // Where the segment before this one ends; what follows there is void.
  bool placed = true;  // The checksums of its records say where they stand; not so in format 1.
};
std::string encode(const SegmentHeader& header);
Result<SegmentHeader> decode_header(std::string_view bytes);

// Whether a last segment of this size whose header is wrong is what a crash leaves of one that was
// being made. Nothing follows a header before it is durable: so one that is longer is damaged, or
// another file, and may hold what was acknowledged. `head` is its first kSegmentHead bytes.
bool was_being_made(std::string_view head, uint64_t size);

// Written after a sync has returned, not itself synced: what lies before it was acknowledged. It
// may be older than the truth, never newer.
struct Mark {
  uint64_t batch = 0;    // The last durable batch.
  uint32_t oldest = 1;   // The first segment that is needed; earlier ones may be removed.
  uint32_t segment = 0;  // The segment that is written; 0: there is no mark.
  uint64_t end = 0;      // Its durable size.
};
std::string mark_path(const std::string& folder);
Result<void> write_mark(File& file, const Mark& mark);        // One of the two copies, by turns.
Result<void> write_both_marks(File& file, const Mark& mark);  // And makes them durable.

// The newer of the two copies that are whole; Mark{} if none is.
struct ReadMark {
  Mark mark;           // Its segment is 0 if no copy is whole.
  std::string damage;  // Empty if both copies are as they should be.
  bool blank = false;  // Zeros, which is no damage before the first batch.
  bool empty = false;  // As a crash leaves it that came while it was made: it is as good as gone.
};
Result<ReadMark> read_mark(const File& file);

struct Damage {
  std::string file;
  uint64_t offset = 0;
  std::string what;
};
Error to_error(const Damage& damage);

// How a segment was read.
struct Scanned {
  uint64_t end = 0;         // Where the next batch would go.
  uint64_t next_batch = 0;  // Its number.
  uint64_t stamp = 0;       // The largest stamp of its batches.
  uint64_t torn = 0;        // Bytes after `end` that were never acknowledged and are no records.
  std::optional<Damage> damage;
};

struct ScanRules {
  std::string path;         // For messages.
  uint64_t next_batch = 0;  // The number that its first batch must have.
  std::optional<uint64_t>
      end;               // Where it ends, if known; else it is the last: its tail may be torn.
  uint64_t durable = 0;  // What lies before this was acknowledged.
  uint32_t segment = 0;
  bool placed = false;  // As its header says.
  // To go on behind damage: begin at this batch, whatever its number above next_batch.
  uint64_t start = kSegmentHead;
  bool batch_may_jump = false;
};

// Calls visit for every record of every whole group, in order, up to the end or the first damage.
// It says whether the record can be true after those before it; one that cannot is damage.
using VisitRecord = std::function<bool(const Record& record, Position at)>;
Scanned scan_segment(std::string_view bytes, const ScanRules& rules, const VisitRecord& visit);

// All of a file, for scanning.
Result<std::string> read_file(const File& file);
Result<void> read_file(const File& file, std::string& into);

}  // namespace dunlin::engine
