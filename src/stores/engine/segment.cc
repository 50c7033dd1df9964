#include "stores/engine/segment.h"

#include <array>
#include <fmt/format.h>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace dunlin::engine {
namespace {

constexpr std::string_view kSegmentMagic = "DUNLINLG";
constexpr std::string_view kMarkMagic = "DUNLINMK";
constexpr uint32_t kVersion = 1;        // Of the mark.
constexpr uint32_t kVersionPlaced = 2;  // Of a segment whose checksums say where records stand.
constexpr const char* kNameFormat = "{:08}.seg";
constexpr size_t kMarkSize = 48;
constexpr uint64_t kMarkStep = 512;  // The two copies stand in sectors of their own.

// Records of a group wait here until its end was seen.
struct Pending {
  Record record;
  Position at;
};

class Scanner {
 public:
  Scanner(std::string_view bytes, const ScanRules& rules, const VisitRecord& visit)
      : bytes_(bytes), rules_(rules), visit_(visit) {
    scanned_.next_batch = rules.next_batch;
  }

  Scanned run() {
    size_t at = rules_.start;
    const size_t end = rules_.end.value_or(bytes_.size());
    if (end > bytes_.size()) return stop(bytes_.size(), "the file is cut short");
    if (end < at) return stop(at, "the segment after it says that it ends before it begins");
    size_t group = at;
    while (at < end) {
      const auto framed =
          read_frame(bytes_.substr(at, end - at), rules_.placed ? place(rules_.segment, at) : 0);
      if (!framed) return stop_or_tear(group, at, "the record here fails its checksum");
      const auto record = decode(framed->payload);
      if (!record) return stop(at, "the record here is of no kind that this version knows");
      if (const auto* batch = std::get_if<BatchRecord>(&*record)) {
        if (group != at || !framed->ends_group()) return stop(at, "a batch begins inside a group");
        const bool jumps = rules_.batch_may_jump && at == rules_.start;
        if (batch->number != scanned_.next_batch && !jumps) {
          return stop(at, fmt::format("batch {} stands where batch {} should be", batch->number,
                                      scanned_.next_batch));
        }
        scanned_.next_batch = batch->number + 1;
        scanned_.stamp = std::max(scanned_.stamp, batch->stamp);
      } else {
        pending_.push_back(
            {*record,
             {rules_.segment, static_cast<uint32_t>(at), static_cast<uint32_t>(framed->size)}});
      }
      at += framed->size;
      if (!framed->ends_group()) continue;
      for (const Pending& each : pending_) {
        if (!visit_(each.record, each.at)) {
          return stop(each.at.offset, "the record here contradicts those before it");
        }
      }
      pending_.clear();
      group = at;
    }
    if (group != at) return stop_or_tear(group, at, "the last group has no end");
    if (at < rules_.durable) return stop(at, "the file is cut short");
    scanned_.end = at;
    return scanned_;
  }

 private:
  Scanned stop(uint64_t offset, std::string what) {
    scanned_.end = offset;
    scanned_.damage = Damage{rules_.path, offset, std::move(what)};
    return scanned_;
  }

  // Bytes at `bad` are no record, so the group has no end. If any of it was acknowledged once it is
  // damaged; if not, the write that brought it was torn and never happened. A later batch proves
  // that it was.
  Scanned stop_or_tear(size_t group, size_t bad, std::string what) {
    if (rules_.end || group < rules_.durable ||
        find_batch(bytes_, bad, scanned_.next_batch, rules_.placed ? rules_.segment : 0)) {
      return stop(bad, std::move(what));
    }
    scanned_.end = group;
    const size_t last = bytes_.find_last_not_of('\0');
    scanned_.torn = last == std::string_view::npos || last < group ? 0 : last + 1 - group;
    return scanned_;
  }

  std::string_view bytes_;
  const ScanRules& rules_;
  const VisitRecord& visit_;
  std::vector<Pending> pending_;
  Scanned scanned_;
};

std::optional<Mark> decode_mark(std::string_view bytes) {
  if (bytes.size() != kMarkSize || !bytes.starts_with(kMarkMagic)) return {};
  ByteReader in(bytes.substr(kMarkMagic.size()));
  Mark mark;
  if (in.fixed<uint32_t>() != kVersion) return {};
  mark.oldest = in.fixed<uint32_t>();
  mark.batch = in.fixed<uint64_t>();
  mark.end = in.fixed<uint64_t>();
  mark.segment = in.fixed<uint32_t>();
  in.fixed<uint64_t>();
  if (in.fixed<uint32_t>() != crc32c(bytes.substr(0, kMarkSize - 4))) return {};
  if (mark.oldest == 0 || mark.oldest > mark.segment || mark.segment > kSegmentsMax) return {};
  return mark;
}

}  // namespace

std::string segment_path(const std::string& folder, uint32_t number) {
  return folder + "/log/" + fmt::format(kNameFormat, number);
}

std::optional<uint32_t> segment_number(std::string_view name) {
  constexpr std::string_view kEnd = ".seg";
  if (name.size() < 8 + kEnd.size() || !name.ends_with(kEnd)) return {};
  uint64_t number = 0;
  for (const char digit : name.substr(0, name.size() - kEnd.size())) {
    if (digit < '0' || digit > '9' || number > kSegmentsMax) return {};
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (number == 0 || number > kSegmentsMax) return {};
  if (name != fmt::format(kNameFormat, number)) return {};  // One name for each number.
  return static_cast<uint32_t>(number);
}

std::string encode(const SegmentHeader& header) {
  std::string out(kSegmentMagic);
  append_fixed(out, header.placed ? kVersionPlaced : kVersion);
  append_fixed(out, header.number);
  append_fixed(out, header.first_batch);
  append_fixed(out, header.previous_end);
  append_fixed(out, uint32_t{0});
  append_fixed(out, crc32c(out));
  CHECK(out.size() == kSegmentHead);
  return out;
}

Result<SegmentHeader> decode_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHead || !bytes.starts_with(kSegmentMagic)) {
    return Error{Code::corrupt, "the segment's header is missing"};
  }
  ByteReader in(bytes.substr(kSegmentMagic.size(), kSegmentHead - kSegmentMagic.size()));
  const auto version = in.fixed<uint32_t>();
  SegmentHeader header;
  header.number = in.fixed<uint32_t>();
  header.first_batch = in.fixed<uint64_t>();
  header.previous_end = in.fixed<uint64_t>();
  in.fixed<uint32_t>();
  if (in.fixed<uint32_t>() != crc32c(bytes.substr(0, kSegmentHead - 4))) {
    return Error{Code::corrupt, "the segment's header fails its checksum"};
  }
  if (version != kVersion && version != kVersionPlaced) {
    return Error{Code::unsupported,
                 fmt::format("the store has format {}, this program reads formats {} and {}: use "
                             "the program that wrote it",
                             version, kVersion, kVersionPlaced)};
  }
  header.placed = version == kVersionPlaced;
  if (header.first_batch == 0 || header.first_batch > kCountMax) {
    return Error{Code::corrupt, "the segment's header makes no sense"};
  }
  return header;
}

bool was_being_made(std::string_view head, uint64_t size) {
  const auto header = decode_header(head);
  const bool is_of_another_format = !header.ok() && header.error().code == Code::unsupported;
  return size <= kSegmentHead && !is_of_another_format;
}

std::string mark_path(const std::string& folder) { return folder + "/mark"; }

static std::string encode(const Mark& mark) {
  std::string out(kMarkMagic);
  append_fixed(out, kVersion);
  append_fixed(out, mark.oldest);
  append_fixed(out, mark.batch);
  append_fixed(out, mark.end);
  append_fixed(out, mark.segment);
  append_fixed(out, uint64_t{0});
  append_fixed(out, crc32c(out));
  CHECK(out.size() == kMarkSize);
  return out;
}

Result<void> write_mark(File& file, const Mark& mark) {
  return file.write((mark.batch % 2) * kMarkStep, encode(mark));
}

Result<void> write_both_marks(File& file, const Mark& mark) {
  TRY(file.write(0, encode(mark)));
  TRY(file.write(kMarkStep, encode(mark)));
  return file.sync();
}

Result<ReadMark> read_mark(const File& file) {
  ReadMark read;
  read.empty = TRY(file.size()) == 0;
  std::vector<uint64_t> blank;
  for (const uint64_t offset : {uint64_t{0}, kMarkStep}) {
    std::array<char, kMarkSize> bytes{};
    const size_t size = TRY(file.read(offset, bytes));
    const std::string_view copy(bytes.data(), size);
    if (copy.find_first_not_of('\0') == std::string_view::npos) {
      blank.push_back(offset);
      continue;
    }
    const auto mark = decode_mark(copy);
    if (!mark) {
      read.damage = fmt::format("the copy at offset {} fails its checksum", offset);
    } else if (mark->batch >= read.mark.batch) {
      read.mark = *mark;
    }
  }
  read.blank = blank.size() == 2 && !read.empty;
  // Both were there before the first batch.
  if (blank.size() == 1 && read.damage.empty() && read.mark.batch > 0) {
    read.damage = fmt::format("the copy at offset {} is blank", blank[0]);
  }
  return read;
}

Error to_error(const Damage& damage) {
  return {Code::corrupt,
          fmt::format("{}: damaged at offset {}: {}", damage.file, damage.offset, damage.what)};
}

Scanned scan_segment(std::string_view bytes, const ScanRules& rules, const VisitRecord& visit) {
  return Scanner(bytes, rules, visit).run();
}

Result<std::string> read_file(const File& file) {
  std::string bytes;
  TRY(read_file(file, bytes));
  return bytes;
}

Result<void> read_file(const File& file, std::string& into) {
  into.resize(TRY(file.size()));
  into.resize(TRY(file.read(0, into)));
  return {};
}

}  // namespace dunlin::engine
