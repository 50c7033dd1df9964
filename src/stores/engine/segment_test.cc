#include "stores/engine/segment.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "sim/memory_disk.h"

namespace dunlin::engine {

TEST(Segment, HasOneName) {
  for (const uint32_t number : {1U, 99'999'999U, 100'000'000U, kSegmentsMax}) {
    const std::string path = segment_path("", number);
    EXPECT_EQ(segment_number(path.substr(path.rfind('/') + 1)), number);
  }
  for (const char* name : {"00000000.seg", "000000001.seg", "0100000000.seg", "1000000001.seg",
                           "4294967297.seg", "1.seg", "0000000a.seg", "00000001.seg~", ".seg"}) {
    EXPECT_FALSE(segment_number(name)) << name;
  }
}

TEST(Segment, AHeaderFromWhichNobodyCouldCountOnIsCorrupt) {
  for (const uint64_t batch : {uint64_t{0}, kCountMax + 1, UINT64_MAX}) {
    const auto header = decode_header(encode(SegmentHeader{.number = 1, .first_batch = batch}));
    ASSERT_FALSE(header.ok());
    EXPECT_EQ(header.error().code, Code::corrupt);
  }
}

TEST(Segment, OneThatWasBeingMadeIsNoLongerThanItsHeader) {
  const std::string whole = encode(SegmentHeader{.number = 7, .first_batch = 8});
  for (size_t size = 0; size <= kSegmentHead; ++size) {
    EXPECT_TRUE(was_being_made(whole.substr(0, size), size));
    EXPECT_TRUE(was_being_made(std::string(size, '\0'), size));
  }
  // Of another segment, of a blob, or zeros: whatever follows may have been acknowledged.
  for (const std::string& head :
       {whole, std::string(kSegmentHead, 'x'), std::string(kSegmentHead, '\0')}) {
    EXPECT_FALSE(was_being_made(head, kSegmentHead + 1));
  }
  std::string newer = whole;
  newer[8] = 99;
  const uint32_t checksum = crc32c(std::string_view(newer).substr(0, kSegmentHead - 4));
  newer.resize(kSegmentHead - 4);
  append_fixed(newer, checksum);
  ASSERT_EQ(decode_header(newer).error().code, Code::unsupported);
  EXPECT_FALSE(was_being_made(newer, newer.size()));
}

// One with segment 0 would let a store take all of its segments for dropped ones.
TEST(Segment, AMarkThatNobodyWouldWriteIsDamage) {
  const auto disk = memory_disk();
  for (const Mark& mark :
       {Mark{.batch = 1, .oldest = 5, .segment = 0}, Mark{.batch = 1, .oldest = 0, .segment = 1},
        Mark{.batch = 1, .oldest = 3, .segment = 2},
        Mark{.batch = 1, .oldest = 1, .segment = UINT32_MAX}}) {
    const auto file = disk->create("mark").value();
    ASSERT_TRUE(write_both_marks(*file, mark).ok());
    const ReadMark read = read_mark(*file).value();
    EXPECT_FALSE(read.damage.empty());
    EXPECT_EQ(read.mark.segment, 0U);
    EXPECT_EQ(read.mark.oldest, 1U);
  }
}

TEST(Segment, OneThatShouldEndBeforeItBeginsIsDamaged) {
  const std::string bytes = encode(SegmentHeader{.number = 1, .first_batch = 1});
  ScanRules rules{.path = "p", .next_batch = 1, .end = kSegmentHead, .segment = 1};
  const auto visit = [](const Record& /*record*/, Position /*at*/) { return true; };
  EXPECT_FALSE(scan_segment(bytes, rules, visit).damage);
  rules.end = kSegmentHead - 1;
  EXPECT_TRUE(scan_segment(bytes, rules, visit).damage);
}

TEST(Segment, AGroupWithoutAnEndIsDamageAsSoonAsAnyOfItWasAcknowledged) {
  std::string bytes = encode(SegmentHeader{.number = 1, .first_batch = 1});
  bytes.resize(kSegmentHead + kRecordHead);
  encode(EraseRecord{"t", "k"}, bytes);
  seal_frame(bytes, kSegmentHead);
  const auto visit = [](const Record& /*record*/, Position /*at*/) { return true; };
  ScanRules rules{.path = "p", .next_batch = 1, .end = {}, .durable = kSegmentHead, .segment = 1};
  const Scanned torn = scan_segment(bytes + "torn", rules, visit);
  EXPECT_FALSE(torn.damage);
  EXPECT_EQ(torn.end, kSegmentHead);
  rules.durable = bytes.size();
  EXPECT_TRUE(scan_segment(bytes + "torn", rules, visit).damage);
}

// Else the number of a batch could be counted while the batch is cut off with its group.
TEST(Segment, ABatchRecordIsAGroupOfItsOwn) {
  std::string bytes = encode(SegmentHeader{.number = 1, .first_batch = 1});
  bytes.resize(kSegmentHead + kRecordHead);
  encode(BatchRecord{.number = 1, .stamp = 1}, bytes);
  seal_frame(bytes, kSegmentHead);
  const ScanRules rules{.path = "p", .next_batch = 1, .end = {}, .segment = 1};
  const auto visit = [](const Record& /*record*/, Position /*at*/) { return true; };
  EXPECT_TRUE(scan_segment(bytes, rules, visit).damage);
  bytes[kSegmentHead + kRecordHead] |= static_cast<char>(kGroupEnd);
  seal_frame(bytes, kSegmentHead);
  EXPECT_FALSE(scan_segment(bytes, rules, visit).damage);
}

TEST(Segment, ARecordThatTheVisitorCannotBelieveIsDamage) {
  std::string bytes = encode(SegmentHeader{.number = 1, .first_batch = 1});
  bytes.resize(kSegmentHead + kRecordHead);
  encode(EraseRecord{"t", "k"}, bytes);
  bytes[kSegmentHead + kRecordHead] |= static_cast<char>(kGroupEnd);
  seal_frame(bytes, kSegmentHead);
  const ScanRules rules{.path = "p", .next_batch = 1, .end = {}, .segment = 1};
  const auto believe = [](bool it) { return [it](const Record&, Position) { return it; }; };
  EXPECT_FALSE(scan_segment(bytes, rules, believe(true)).damage);
  const Scanned scanned = scan_segment(bytes, rules, believe(false));
  ASSERT_TRUE(scanned.damage);
  EXPECT_EQ(scanned.damage->offset, kSegmentHead);
}

}  // namespace dunlin::engine
