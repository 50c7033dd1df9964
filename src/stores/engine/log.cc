#include "stores/engine/log.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"

namespace dunlin::engine {
namespace {

constexpr uint64_t kRoom = 1 << 20;
constexpr uint64_t kRoomForBatchesBelow = 32 << 10;
constexpr size_t kReadAtOnce = 1 << 20;
constexpr uint64_t kReadGap = 4096;  // Reading this much in vain is cheaper than another call.

}  // namespace

Log::Log(Disk& disk, std::string folder, LogOptions options)
    : disk_(disk), folder_(std::move(folder)), options_(options) {}

Result<std::unique_ptr<Log>> Log::open(Disk& disk, const std::string& folder, LogOptions options,
                                       const VisitRecord& visit) {
  auto log = std::make_unique<Log>(disk, folder, options);
  TRY(log->recover(visit));
  return log;
}

Result<void> Log::recover(const VisitRecord& visit) {
  TRY(disk_.make_folder(folder_ + "/log"));
  const ReadMark read = TRY(open_mark());
  const Opened opened = TRY(open_segments(read.mark));
  TRY(scan(read.mark, opened.headers, visit));
  TRY(doubt(read));
  // Only now, as what is refused must be as it was.
  if (opened.half_made) TRY(disk_.remove(*opened.half_made));
  if (!mark_file_) mark_file_ = TRY(disk_.create(mark_path(folder_)));
  if (segments_.empty()) {
    TRY(add_segment());
  } else {
    TRY(go_on(read.mark));
  }
  marked_ = newest();
  TRY(write_both_marks(*mark_file_, mark()));
  TRY(remove_dropped());
  return disk_.sync_folder(folder_);
}

Result<void> Log::scan(const Mark& mark, const std::map<uint32_t, SegmentHeader>& headers,
                       const VisitRecord& visit) {
  std::string bytes;  // One buffer for all of them.
  for (auto& [number, segment] : segments_) {
    const SegmentHeader& header = headers.at(number);
    const auto next = headers.find(number + 1);
    if (number == oldest()) next_batch_ = header.first_batch;
    ScanRules rules{.path = segment_path(folder_, number),
                    .next_batch = next_batch_,
                    .end = {},
                    .durable = number == mark.segment ? mark.end : 0,
                    .segment = number,
                    .placed = header.placed};
    if (next != headers.end()) rules.end = next->second.previous_end;
    if (header.first_batch != next_batch_) {
      return to_error({rules.path, 0, "its first batch does not follow the segment before it"});
    }
    TRY(read_file(*segment.file, bytes));
    const Scanned scanned = scan_segment(bytes, rules, visit);
    if (scanned.damage) return to_error(*scanned.damage);
    if (scanned.torn > 0) {
      log::info("cut off an unacknowledged tail file={} offset={} bytes={}", rules.path,
                scanned.end, scanned.torn);
    }
    segment.end = scanned.end;
    if (next != headers.end()) sealed_bytes_ += segment.end;
    next_batch_ = scanned.next_batch;
    stamp_ = std::max(stamp_, scanned.stamp);
  }
  return {};
}

// What a killed process wrote may be in nobody's disk yet, and it has just been read as true. After
// a sync that failed the system even takes it for written: so it is written again.
Result<void> Log::go_on(const Mark& mark) {
  Segment& last = segments_.rbegin()->second;
  TRY(last.file->truncate(last.end));
  const uint64_t sure = newest() == mark.segment ? mark.end : 0;
  std::string doubtful(last.end - sure, '\0');
  doubtful.resize(TRY(last.file->read(sure, doubtful)));
  TRY(last.file->write(sure, doubtful));
  TRY(last.file->sync());
  TRY(disk_.sync_folder(folder_ + "/log"));
  room_end_ = last.end;
  if (last.placed) return {};
  // What is written from now on is of the newer format, which a header announces. A disk without
  // room for it can be read all the same: resume() begins the segment.
  const auto added = add_segment();
  if (added.ok()) return {};
  log::warning(
      "the store cannot write yet, because it cannot begin a segment of the new format: {}",
      added.error().what);
  broken_ = true;
  return {};
}

Result<ReadMark> Log::open_mark() {
  auto file = disk_.open(mark_path(folder_));
  if (!file.ok() && file.error().code == Code::not_found) return ReadMark();
  mark_file_ = TRY(std::move(file));
  return read_mark(*mark_file_);
}

// Without a mark nobody can tell whether segments are missing at either end of the log, nor whether
// its tail was acknowledged. A power loss may tear both copies, which begin alike; it makes no
// zeros of them.
Result<void> Log::doubt(const ReadMark& read) const {
  const std::string path = mark_path(folder_);
  if (!read.damage.empty()) log::warning("{}: {}", path, read.damage);
  if (read.mark.segment != 0 || next_batch_ == 1) return {};
  if (read.blank) {
    return to_error({path, 0,
                     "both copies are blank, so segments of the log may be missing without a "
                     "trace: restore the folder from a backup, or remove this file to go on with "
                     "the segments that are there"});
  }
  log::warning(
      "{}: neither copy is whole, so segments may be missing at both ends of the log; compare the "
      "store with a backup. Going on with segments {} to {}",
      path, oldest(), newest());
  return {};
}

// Segments that were dropped, but the crash came before they were removed. Only now the mark that
// says so is durable: it may have been in nobody's disk when it was read.
Result<void> Log::remove_dropped() {
  for (const std::string& name : TRY(disk_.list(folder_ + "/log"))) {
    const auto number = segment_number(name);
    if (number && *number < oldest()) TRY(remove_segment(*number));
  }
  return {};
}

// Opens what belongs to the log, and finds a segment that a crash left half made.
Result<Log::Opened> Log::open_segments(const Mark& mark) {
  Opened opened;
  std::map<uint32_t, SegmentHeader>& headers = opened.headers;
  const auto missing = [&](uint32_t number) {
    return to_error({segment_path(folder_, number), 0, "the segment is missing"});
  };
  std::vector<uint32_t> numbers;
  for (const std::string& name : TRY(disk_.list(folder_ + "/log"))) {
    const auto number = segment_number(name);
    if (number && *number >= mark.oldest) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  if (mark.segment != 0 && (numbers.empty() || numbers.front() != mark.oldest)) {
    return missing(mark.oldest);
  }
  for (const uint32_t number : numbers) {
    const std::string path = segment_path(folder_, number);
    if (number != numbers.front() + headers.size()) {
      return missing(static_cast<uint32_t>(numbers.front() + headers.size()));
    }
    auto file = TRY(disk_.open(path));
    std::string head(kSegmentHead, '\0');
    head.resize(TRY(file->read(0, head)));
    auto header = decode_header(head);
    if (!header.ok() && header.error().code == Code::unsupported) return header.error();
    if (!header.ok() || header.value().number != number) {
      const uint64_t size = TRY(file->size());
      if (number != numbers.back() || number <= mark.segment || !was_being_made(head, size)) {
        return to_error({path, 0, header.ok() ? "it is another segment" : header.error().what});
      }
      opened.half_made = path;
      break;
    }
    headers.emplace(number, header.value());
    segments_.emplace(number, Segment{.file = std::move(file), .placed = header.value().placed});
  }
  if (mark.segment != 0 && !headers.contains(mark.segment)) return missing(mark.segment);
  return opened;
}

Result<void> Log::add_segment() {
  SegmentHeader header{.number = 1, .first_batch = next_batch_, .previous_end = 0};
  if (!segments_.empty()) {
    header.number = newest() + 1;
    header.previous_end = segments_.rbegin()->second.end;
  }
  const std::string path = segment_path(folder_, header.number);
  const auto make = [&]() -> Result<std::unique_ptr<File>> {
    auto file = TRY(disk_.create(path));
    TRY(file->write(0, encode(header)));
    TRY(file->sync());
    TRY(disk_.sync_folder(folder_ + "/log"));
    return file;
  };
  auto file = make();
  if (!file.ok()) {
    // If it cannot be removed either, it stays without batches, and the next one replaces it.
    (void)disk_.remove(path).ok();
    return file.error();
  }
  sealed_bytes_ += header.previous_end;
  segments_.emplace(header.number, Segment{.file = std::move(file).value(), .end = kSegmentHead});
  room_end_ = kSegmentHead;
  return {};
}

Mark Log::mark() const {
  return {.batch = next_batch_ - 1,
          .oldest = oldest(),
          .segment = newest(),
          .end = segments_.rbegin()->second.end};
}

void Log::begin_record() {
  CHECK(!broken_);
  if (buffer_.empty()) {
    // Number and stamp are filled in by take().
    buffer_.resize(kRecordHead);
    encode(BatchRecord{}, buffer_);
  } else {
    seal_record(false);
  }
  open_record_ = buffer_.size();
  buffer_.resize(open_record_ + kRecordHead);
}

void Log::seal_record(bool ends_group) {
  if (open_record_ == 0) return;
  if (ends_group) {
    char& kind = buffer_[open_record_ + kRecordHead];
    kind = static_cast<char>(static_cast<uint8_t>(kind) | kGroupEnd);
  }
  seal_frame(buffer_, open_record_, place_of(newest(), staged_from() + open_record_));
  open_record_ = 0;
}

Position Log::end_record() {
  return {.segment = newest(),
          .offset = static_cast<uint32_t>(staged_from() + open_record_),
          .size = static_cast<uint32_t>(buffer_.size() - open_record_)};
}

void Log::end_group() { seal_record(true); }

const Log::Batch& Log::take(uint64_t stamp) {
  CHECK(staged() && open_record_ == 0 && flight_.bytes.empty());
  std::string head(kRecordHead, '\0');
  encode(BatchRecord{.number = next_batch_, .stamp = stamp}, head);
  head[kRecordHead] = static_cast<char>(static_cast<uint8_t>(head[kRecordHead]) | kGroupEnd);
  seal_frame(head, 0, place_of(newest(), segments_.rbegin()->second.end));
  std::copy(head.begin(), head.end(), buffer_.begin());

  const Segment& segment = segments_.rbegin()->second;
  flight_.file = segment.file.get();
  flight_.offset = segment.end;
  flight_.bytes = std::exchange(buffer_, {});
  const uint64_t end = flight_.offset + flight_.bytes.size();
  flight_.room = 0;
  if (end > room_end_ && end < options_.segment_bytes &&
      flight_.bytes.size() < kRoomForBatchesBelow) {
    flight_.room = std::min(kRoom, options_.segment_bytes - end);
  }
  return flight_;
}

Result<void> Log::write(const Batch& batch) {
  auto written = batch.file->write(batch.offset, batch.bytes);
  if (written.ok() && batch.room > 0) {
    static const std::string zero_bytes(kRoom, '\0');
    // Room is a courtesy: a disk without it takes the batch all the same.
    const auto zeros = std::string_view(zero_bytes).substr(0, batch.room);
    (void)batch.file->write(batch.offset + batch.bytes.size(), zeros).ok();
  }
  if (!written.ok()) {
    const bool undone = batch.file->truncate(batch.offset).ok() && batch.file->sync().ok();
    if (undone) return written;
    return Error{Code::unavailable, written.error().what};
  }
  auto synced = batch.file->sync();
  if (!synced.ok()) return Error{Code::unavailable, synced.error().what};
  return {};
}

Result<void> Log::land(Result<void> written) {
  const Batch flight = std::exchange(flight_, {});
  if (!written.ok()) {
    buffer_.clear();
    open_record_ = 0;
    room_end_ = segments_.rbegin()->second.end;
    broken_ = written.error().code == Code::unavailable;  // Else write() has undone it.
    return written;
  }
  Segment& segment = segments_.rbegin()->second;
  segment.end = flight.offset + flight.bytes.size();
  room_end_ = std::max(room_end_, segment.end + flight.room);
  ++next_batch_;
  (void)write_mark(*mark_file_, mark()).ok();  // An older mark is as true as this one.
  // Positions of what is staged already name this segment.
  if (!segment_is_full() || staged()) return {};
  const auto added = add_segment();
  // The batch is safe all the same. But a segment cannot grow for ever: resume() begins the next.
  if (!added.ok() && segment.end >= 4 * options_.segment_bytes) broken_ = true;
  return {};
}

Result<void> Log::commit(uint64_t stamp) {
  if (!staged()) return {};
  return land(write(take(stamp)));
}

// A segment without a batch is made anew: so a disk that fails again and again gets one file, not
// one each time. Unless a mark names it: then it must not be missing.
Result<void> Log::resume() {
  const bool is_empty = segments_.rbegin()->second.end == kSegmentHead && oldest() != newest();
  if (is_empty && newest() > marked_) {
    TRY(disk_.remove(segment_path(folder_, newest())));
    segments_.erase(std::prev(segments_.end()));
    sealed_bytes_ -= segments_.rbegin()->second.end;
  }
  TRY(add_segment());
  broken_ = false;
  return {};
}

Result<std::string_view> Log::bytes_at(Position first, size_t size, std::string& scratch) const {
  const auto segment = segments_.find(first.segment);
  CHECK(segment != segments_.end());
  if (first.segment == newest() && first.offset >= segment->second.end) {
    size_t at = first.offset - segment->second.end;
    if (at < flight_.bytes.size()) return std::string_view(flight_.bytes).substr(at, size);
    at -= flight_.bytes.size();
    CHECK(at + size <= buffer_.size());
    return std::string_view(buffer_).substr(at, size);
  }
  scratch.resize(size);
  scratch.resize(TRY(segment->second.file->read(first.offset, scratch)));
  return std::string_view(scratch);
}

Result<void> Log::read(std::span<const Position> positions, const VisitPayload& visit) const {
  std::string scratch;
  size_t i = 0;
  while (i < positions.size()) {
    // As many of the next ones as lie close together are read at once.
    const Position first = positions[i];
    const uint64_t border = segments_.at(first.segment).end;
    uint64_t end = uint64_t{first.offset} + first.size;
    size_t next = i + 1;
    for (; next < positions.size(); ++next) {
      const Position& more = positions[next];
      if (more.segment != first.segment || more.offset < end || more.offset > end + kReadGap ||
          more.offset + more.size - first.offset > kReadAtOnce) {
        break;
      }
      // Durable, in flight and staged bytes lie in different places.
      if (first.segment == newest() && (first.offset >= border || more.offset >= border)) break;
      end = more.offset + more.size;
    }
    const std::string_view bytes = TRY(bytes_at(first, end - first.offset, scratch));
    for (; i < next; ++i) {
      const Position at = positions[i];
      const size_t skip = at.offset - first.offset;
      const bool is_open =
          open_record_ != 0 && at.segment == newest() && at.offset == staged_from() + open_record_;
      if (is_open) {
        visit(i, bytes.substr(skip + kRecordHead, at.size - kRecordHead));
        continue;
      }
      const auto framed =
          read_frame(bytes.substr(std::min(skip, bytes.size())), place_of(at.segment, at.offset));
      if (!framed || framed->size != at.size) {
        return to_error(
            {segment_path(folder_, at.segment), at.offset, "the record here fails its checksum"});
      }
      visit(i, framed->payload);
    }
  }
  return {};
}

Result<std::string> Log::read_segment(uint32_t segment, uint64_t offset, size_t max) const {
  const Segment& from = segments_.at(segment);
  offset = std::max<uint64_t>(offset, kSegmentHead);
  std::string bytes(std::min<uint64_t>(max, from.end - std::min(from.end, offset)), '\0');
  bytes.resize(TRY(from.file->read(offset, bytes)));
  return bytes;
}

Result<void> Log::drop_oldest() {
  CHECK(oldest() != newest() && !staged());
  auto dropped = segments_.extract(segments_.begin());
  // The mark says first that the segment is not needed: one that is needed is never missing. Both
  // copies do, so that whichever survives the next power loss is right.
  marked_ = newest();
  auto marked = write_both_marks(*mark_file_, mark());
  if (!marked.ok()) {
    segments_.insert(std::move(dropped));
    return marked;
  }
  sealed_bytes_ -= dropped.mapped().end;
  return remove_segment(dropped.key());
}

// One after the other: if a power loss takes the marks and brings segments back, there is no gap.
Result<void> Log::remove_segment(uint32_t number) {
  TRY(disk_.remove(segment_path(folder_, number)));
  return disk_.sync_folder(folder_ + "/log");
}

void Log::close() {
  // Each of these only saves the next open some work or doubt.
  if (broken_) return;
  const Segment& last = segments_.rbegin()->second;
  (void)(last.file->truncate(last.end).ok() && last.file->sync().ok() &&
         write_both_marks(*mark_file_, mark()).ok());
}

}  // namespace dunlin::engine
