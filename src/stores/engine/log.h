// The log: everything the engine knows, in the order in which it happened. Records are staged in
// memory, made durable by a batch (one write, one sync), read back by position, and dropped a
// segment at a time from the old end.
//
// One thread at a time, with one exception: write() of a batch in flight may run while another
// thread stages and reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/env.h"
#include "stores/engine/record.h"
#include "stores/engine/segment.h"

namespace dunlin::engine {

struct LogOptions {
  uint64_t segment_bytes = 32 << 20;  // A segment that has reached this is followed by a new one.
};

class Log {
 public:
  Log(Disk& disk, std::string folder, LogOptions options);  // Use open().

  // Opens the log in `folder`, or makes it, and calls `visit` for every record. A torn tail is cut.
  // `corrupt` names file and offset of what is damaged; nothing has been changed then. A log that
  // can be read but not written yet is broken().
  static Result<std::unique_ptr<Log>> open(Disk& disk, const std::string& folder,
                                           LogOptions options, const VisitRecord& visit);

  // Stages a record; it is readable at once. end_group() closes a group: all that was staged since
  // the last one is on disk after a crash, or none of it.
  template <typename R, typename... More>
  Position add(const R& record, const More&... more) {
    begin_record();
    encode(record, more..., buffer_);
    return end_record();
  }
  void end_group();
  bool staged() const { return !buffer_.empty(); }
  size_t staged_bytes() const { return buffer_.size(); }

  // Makes durable what is staged: take(), write(), land(). `stamp` is the last stamp in use. After
  // a failure all that was staged is gone. If nobody knows what the disk holds then the log is
  // broken: resume() must come before the next add().
  Result<void> commit(uint64_t stamp);

  struct Batch {
    File* file = nullptr;
    uint64_t offset = 0;
    uint64_t room = 0;  // Zeros to write behind it, so that the next syncs need no new blocks.
    std::string bytes;
  };
  // REQUIRES: staged(), and no other batch is in flight
  const Batch& take(uint64_t stamp);
  static Result<void> write(const Batch& batch);
  Result<void> land(Result<void> written);

  // A new one begins when a batch lands with nothing staged behind it.
  bool segment_is_full() const { return segments_.rbegin()->second.end >= options_.segment_bytes; }

  bool broken() const { return broken_; }
  Result<void> resume();

  // Calls visit(i, payload) for each position, in order. `corrupt` if one fails its checksum.
  using VisitPayload = std::function<void(size_t i, std::string_view payload)>;
  Result<void> read(std::span<const Position> positions, const VisitPayload& visit) const;

  // Up to `max` bytes of a segment's records from `offset` on; none at its end.
  Result<std::string> read_segment(uint32_t segment, uint64_t offset, size_t max) const;

  // What begins the checksum of the record there.
  uint32_t place_of(uint32_t segment, uint64_t offset) const {
    return segments_.at(segment).placed ? place(segment, offset) : 0;
  }

  uint32_t oldest() const { return segments_.begin()->first; }
  uint32_t newest() const { return segments_.rbegin()->first; }
  uint64_t stamp() const { return stamp_; }
  uint64_t disk_bytes() const { return sealed_bytes_ + segments_.rbegin()->second.end; }
  uint64_t segment_bytes() const { return options_.segment_bytes; }

  // Forgets the oldest segment. REQUIRES: oldest() != newest(), nothing staged
  Result<void> drop_oldest();

  // Leaves the files as short and as certain as they can be. No calls after this.
  void close();

 private:
  struct Segment {
    std::unique_ptr<File> file;
    uint64_t end = 0;    // Of the durable records.
    bool placed = true;  // As its header says; always so in one that is written.
  };
  struct Opened {
    std::map<uint32_t, SegmentHeader> headers;
    std::optional<std::string> half_made;  // To be removed.
  };

  Result<void> recover(const VisitRecord& visit);
  Result<ReadMark> open_mark();
  Result<void> doubt(const ReadMark& read) const;
  Result<Opened> open_segments(const Mark& mark);
  Result<void> scan(const Mark& mark, const std::map<uint32_t, SegmentHeader>& headers,
                    const VisitRecord& visit);
  Result<void> go_on(const Mark& mark);
  Result<void> remove_dropped();
  Result<void> remove_segment(uint32_t number);
  Result<void> add_segment();
  Mark mark() const;
  uint64_t staged_from() const { return segments_.rbegin()->second.end + flight_.bytes.size(); }
  Result<std::string_view> bytes_at(Position first, size_t size, std::string& scratch) const;
  void begin_record();
  void seal_record(bool ends_group);
  Position end_record();

  Disk& disk_;
  const std::string folder_;
  const LogOptions options_;
  std::unique_ptr<File> mark_file_;
  std::map<uint32_t, Segment> segments_;
  uint64_t sealed_bytes_ = 0;  // Of all segments but the newest.
  uint64_t next_batch_ = 1;
  uint64_t stamp_ = 0;
  uint64_t room_end_ = 0;  // Up to here the newest segment has blocks.
  uint32_t marked_ = 0;    // The newest segment that a durable mark may name.
  bool broken_ = false;

  std::string buffer_;      // The batch that is being staged: its first record is the BatchRecord.
  size_t open_record_ = 0;  // Where the last staged record begins; it is sealed when its role is
                            // known. 0: all are sealed.
  Batch flight_;
};

}  // namespace dunlin::engine
