// A segment, a header and a mark of which nothing can be trusted.
//
//   number    bits: see Plan
//   numbers   the rules of the scan: first batch, end, durable, start
//   items     until the end: what stands in the file
#include <fmt/format.h>

#include "base/check.h"
#include "sim/memory_disk.h"
#include "stores/engine/segment.h"
#include "tests/fuzz/records.h"

namespace dunlin {
namespace {

enum Plan : uint8_t {
  has_end = 1,
  jumps = 2,
  starts_inside = 4,
  has_mark = 8,
  has_header = 16,
  placed = 32
};

// Batches that follow one another come cheap; anything else takes some luck.
std::string make_segment(Input& input, const engine::ScanRules& rules) {
  uint64_t next_batch = rules.next_batch;
  std::string bytes = engine::encode(engine::SegmentHeader{
      .number = 3, .first_batch = next_batch, .previous_end = 0, .placed = rules.placed});
  const auto append = [&](std::string_view payload) {
    append_record(bytes, payload, rules.placed ? engine::place(rules.segment, bytes.size()) : 0);
  };
  while (!input.empty() && bytes.size() < (64U << 10U)) {
    switch (input.byte() % 8) {
      case 0:
        bytes += input.sized();
        break;
      case 1:
        bytes.append(input.byte(), '\0');
        break;
      case 2:
        append(make_payload(input));
        break;
      case 3:
        append(ending_group(make_payload(input)));
        break;
      case 4:
        bytes.resize(bytes.size() - std::min<size_t>(bytes.size(), input.byte()));
        break;
      case 5:
        if (!bytes.empty()) bytes[input.below(bytes.size())] ^= static_cast<char>(input.byte());
        break;
      default: {
        std::string batch;
        engine::encode(engine::BatchRecord{.number = next_batch++, .stamp = input.number()}, batch);
        append(ending_group(batch));
        append(ending_group(make_payload(input)));
      }
    }
  }
  return bytes;
}

struct Seen {
  engine::Scanned scanned;
  std::vector<engine::Position> positions;
};

Seen scan(const std::string& bytes, const engine::ScanRules& rules) {
  Seen seen;
  seen.scanned =
      engine::scan_segment(bytes, rules, [&](const engine::Record& record, engine::Position at) {
        CHECK(!std::holds_alternative<engine::BatchRecord>(record));
        CHECK(seen.positions.empty() ||
              seen.positions.back().offset + seen.positions.back().size <= at.offset);
        CHECK(at.segment == rules.segment && at.offset >= rules.start);
        CHECK(uint64_t{at.offset} + at.size <= rules.end.value_or(bytes.size()));
        seen.positions.push_back(at);
        return true;
      });
  return seen;
}

void check_scan(const std::string& bytes, engine::ScanRules rules) {
  const Seen seen = scan(bytes, rules);
  if (seen.scanned.damage) {
    CHECK(seen.scanned.damage->file == rules.path && !seen.scanned.damage->what.empty());
    CHECK(seen.scanned.damage->offset <= std::max<uint64_t>(bytes.size(), rules.start));
    return;
  }
  CHECK(seen.scanned.end >= rules.durable && seen.scanned.end <= bytes.size());
  CHECK(seen.scanned.end + seen.scanned.torn <= bytes.size());
  CHECK(!rules.end || seen.scanned.end == *rules.end);

  // Recovery cuts what is torn. After that the same records are there, and nothing else.
  const Seen again = scan(bytes.substr(0, seen.scanned.end), rules);
  CHECK(!again.scanned.damage && again.scanned.torn == 0);
  CHECK(again.scanned.end == seen.scanned.end &&
        again.scanned.next_batch == seen.scanned.next_batch);
  CHECK(again.scanned.stamp == seen.scanned.stamp && again.positions == seen.positions);
}

void check_header(const std::string& bytes) {
  const auto header = engine::decode_header(bytes);
  if (!header.ok()) {
    CHECK(header.error().code == Code::corrupt || header.error().code == Code::unsupported);
    return;
  }
  const auto again = engine::decode_header(engine::encode(header.value()));
  CHECK(again.ok() && again.value().number == header.value().number);
  CHECK(again.value().first_batch == header.value().first_batch);
  CHECK(again.value().previous_end == header.value().previous_end);
  CHECK(again.value().placed == header.value().placed);
}

void check_mark(Input& input) {
  const auto disk = memory_disk();
  const auto file = disk->create("mark").value();
  const engine::Mark mark{.batch = input.number(),
                          .oldest = static_cast<uint32_t>(input.number()),
                          .segment = static_cast<uint32_t>(input.number()),
                          .end = input.number()};
  const bool makes_sense =
      mark.oldest > 0 && mark.oldest <= mark.segment && mark.segment <= engine::kSegmentsMax;
  const auto is_mark = [&](const engine::Mark& read) {
    return read.batch == mark.batch && read.oldest == mark.oldest && read.segment == mark.segment &&
           read.end == mark.end;
  };
  CHECK(engine::write_mark(*file, mark).ok());
  const engine::ReadMark written = engine::read_mark(*file).value();
  // One copy is enough before the first batch.
  CHECK(written.damage.empty() == (makes_sense && mark.batch == 0));
  CHECK(makes_sense ? is_mark(written.mark) : written.mark.segment == 0);

  // Whatever comes over it, there is no other mark to be read.
  if (input.byte() % 2 == 0) CHECK(engine::write_both_marks(*file, mark).ok());
  CHECK(file->write(input.number() % 1024, input.sized()).ok());
  const engine::ReadMark read = engine::read_mark(*file).value();
  CHECK(read.mark.segment == 0 || (makes_sense && is_mark(read.mark)));
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const auto rules = [](size_t plan, uint64_t end, uint64_t durable) {
    return Output().number(plan).number(1).number(end).number(durable).number(0);
  };
  for (size_t kind = 0; kind < kRecordKinds; ++kind) {
    Output record;
    record.number(kind).sized("q").sized("id").number(3).number(9).number(7).number(60).sized("v");
    Output whole = rules(0, 0, 0);
    whole.byte(6).number(20).raw(record.bytes()).byte(7).number(21).raw(record.bytes());
    all.push_back(whole.bytes());
    all.push_back(rules(placed, 0, 0)
                      .byte(6)
                      .number(20)
                      .raw(record.bytes())
                      .byte(7)
                      .number(21)
                      .raw(record.bytes())
                      .bytes());
    all.push_back(whole.byte(1).byte(200).bytes());                      // With room behind it.
    all.push_back(whole.byte(0).sized("torn").bytes());                  // With a torn tail.
    all.push_back(whole.byte(6).number(3).raw(record.bytes()).bytes());  // Proof that it was not.
    Output group = rules(0, 0, 60);
    group.byte(6)
        .number(20)
        .raw(record.bytes())
        .byte(2)
        .raw(record.bytes())
        .byte(3)
        .raw(record.bytes());
    all.push_back(group.bytes());
    all.push_back(group.byte(4).byte(5).bytes());
  }
  all.push_back(rules(has_mark, 0, 0)
                    .number(9)
                    .number(1)
                    .number(2)
                    .number(200)
                    .byte(0)
                    .number(7)
                    .sized("x")
                    .bytes());
  all.push_back(rules(has_header, 0, 0)
                    .raw(engine::encode(
                        engine::SegmentHeader{.number = 7, .first_batch = 8, .previous_end = 90}))
                    .bytes());
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  Input input(data, size);
  const uint64_t plan = input.number();
  engine::ScanRules rules{.path = "log/00000003.seg",
                          .next_batch = input.number(),
                          .end = {},
                          .durable = 0,
                          .segment = 3};
  const uint64_t end = input.number();
  const uint64_t durable = input.number();
  const uint64_t start = input.number();
  if ((plan & has_end) != 0) rules.end = end;
  rules.durable = durable;
  rules.placed = (plan & placed) != 0;
  rules.batch_may_jump = (plan & jumps) != 0;
  if ((plan & has_mark) != 0) {
    check_mark(input);
    return 0;
  }
  if ((plan & has_header) != 0) {
    check_header(std::string(input.rest()));
    return 0;
  }
  const std::string bytes = make_segment(input, rules);
  check_header(bytes);
  if ((plan & starts_inside) != 0) rules.start = engine::kSegmentHead + start;
  check_scan(bytes, rules);
  return 0;
}
