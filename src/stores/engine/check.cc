#include "stores/engine/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "stores/engine/blob_files.h"
#include "stores/engine/index.h"

namespace dunlin::engine {
namespace {

class Checker {
 public:
  Checker(Disk& disk, const std::string& folder) : disk_(disk), folder_(folder) {}

  Result<CheckReport> run() {
    TRY(check_mark());
    TRY(find_segments());
    for (const uint32_t number : numbers_) TRY(check_segment(number));
    if (!mark_is_missing_.empty() && report_.batches > 0) {
      found(mark_path(folder_), 0,
            mark_is_missing_ + ", so segments may be missing at both ends of the log");
    }
    check_blobs();
    count();
    return report_;
  }

 private:
  void found(const std::string& file, uint64_t offset, std::string what) {
    report_.damages.push_back({file, offset, std::move(what)});
  }

  Result<void> check_mark() {
    const auto file = disk_.open_to_read(mark_path(folder_));
    if (!file.ok()) {
      found(mark_path(folder_), 0, file.error().what);
      return {};
    }
    const ReadMark read = TRY(read_mark(*file.value()));
    mark_ = read.mark;
    if (read.blank) mark_is_missing_ = "both copies are blank";
    if (read.empty) mark_is_missing_ = "it is empty";
    if (!read.damage.empty()) found(mark_path(folder_), 0, read.damage);
    return {};
  }

  Result<void> find_segments() {
    for (const std::string& name : TRY(disk_.list(folder_ + "/log"))) {
      const auto number = segment_number(name);
      if (number && *number >= mark_.oldest) numbers_.push_back(*number);
    }
    std::ranges::sort(numbers_);
    uint32_t next = mark_.segment != 0 || numbers_.empty() ? mark_.oldest : numbers_.front();
    for (const uint32_t number : numbers_) {
      expect_no_gap(next, number);
      next = number + 1;
    }
    expect_no_gap(next, mark_.segment + 1);
    for (const uint32_t number : numbers_) TRY(read_header(number));
    return {};
  }

  // Of the segments from `next` on, `number` is the first that is there.
  void expect_no_gap(uint32_t next, uint32_t number) {
    if (next >= number) return;
    found(segment_path(folder_, next), 0,
          number - next == 1 ? "the segment is missing"
                             : fmt::format("{} segments are missing from here on", number - next));
  }

  Result<void> read_header(uint32_t number) {
    const auto file = TRY(disk_.open_to_read(segment_path(folder_, number)));
    std::string head(kSegmentHead, '\0');
    head.resize(TRY(file->read(0, head)));
    const auto header = decode_header(head);
    if (header.ok() && header.value().number == number) {
      headers_.emplace(number, header.value());
    } else if (number == numbers_.back() && number > mark_.segment &&
               was_being_made(head, TRY(file->size()))) {
      report_.torn_bytes += TRY(file->size());
    } else {
      found(segment_path(folder_, number), 0,
            header.ok() ? "it is another segment" : header.error().what);
    }
    return {};
  }

  // After damage the scan goes on with the next batch that can be found.
  Result<void> check_segment(uint32_t number) {
    const auto file = TRY(disk_.open_to_read(segment_path(folder_, number)));
    const std::string bytes = TRY(read_file(*file));
    ++report_.segments;
    report_.log_bytes += bytes.size();
    const auto header = headers_.find(number);
    if (header == headers_.end()) return {};
    ScanRules rules{.path = segment_path(folder_, number),
                    .next_batch = header->second.first_batch,
                    .end = {},
                    .durable = number == mark_.segment ? mark_.end : 0,
                    .segment = number,
                    .placed = header->second.placed};
    const auto next = headers_.find(number + 1);
    if (next != headers_.end()) rules.end = next->second.previous_end;
    const auto follows = std::exchange(next_batch_, {});
    if (follows && headers_.contains(number - 1) && *follows != rules.next_batch) {
      found(rules.path, 0, "its first batch does not follow the segment before it");
    }
    while (true) {
      const Scanned scanned = scan_segment(bytes, rules, [&](const Record& record, Position at) {
        ++report_.records;
        return replay_.apply(record, at);
      });
      report_.batches += scanned.next_batch - rules.next_batch;
      report_.torn_bytes += scanned.torn;
      if (!scanned.damage) {
        next_batch_ = scanned.next_batch;
        return {};
      }
      report_.damages.push_back(*scanned.damage);
      const auto resume = find_batch(bytes, scanned.damage->offset + 1, scanned.next_batch,
                                     rules.placed ? number : 0);
      if (!resume || (rules.end && *resume >= *rules.end)) return {};
      rules.start = *resume;
      rules.next_batch = scanned.next_batch;
      rules.batch_may_jump = true;
    }
  }

  void check_blobs() {
    const BlobFiles files(disk_, folder_);
    for (const auto& [name, blob] : index_.blobs()) {
      for (uint64_t at = 0; at < blob.size; at += kBlobPart) {
        const auto bytes = files.read(blob, at, kBlobPart);
        if (bytes.ok()) continue;
        found(files.path(blob.file), at, "blob " + name + ": " + bytes.error().what);
        break;
      }
    }
  }

  void count() {
    report_.live_bytes = index_.live_bytes();
    report_.queues = index_.queues().size();
    for (const auto& [name, queue] : index_.queues()) report_.messages += queue->items.size();
    report_.tables = index_.tables().size();
    for (const auto& [name, rows] : index_.tables()) report_.rows += rows.size();
    report_.blobs = index_.blobs().size();
    for (const auto& [name, blob] : index_.blobs()) report_.blob_bytes += blob.size;
  }

  Disk& disk_;
  const std::string folder_;
  CheckReport report_;
  Mark mark_;
  std::string mark_is_missing_;  // How, although the file is there; no damage before a batch.
  std::vector<uint32_t> numbers_;
  std::map<uint32_t, SegmentHeader> headers_;
  std::optional<uint64_t> next_batch_;  // After the last segment, if that was read to its end.
  Index index_;
  Replay replay_{index_, Instant()};
};

}  // namespace

Result<CheckReport> check_store(Disk& disk, const std::string& folder) {
  if (const auto log = disk.list(folder + "/log"); !log.ok()) {
    return Error{Code::not_found, "there is no store in " + folder + ": " + log.error().what};
  }
  const auto lock = disk.lock(folder);
  // One that is held by another process could be opened.
  if (!lock.ok() && (lock.error().code != Code::denied || disk.open(folder + "/lock").ok())) {
    return lock.error();
  }
  CheckReport report = TRY(Checker(disk, folder).run());
  report.locked = lock.ok();
  return report;
}

}  // namespace dunlin::engine
