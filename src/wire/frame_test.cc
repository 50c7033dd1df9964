#include "wire/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/env.h"
#include "sim/seeds.h"

namespace dunlin {
namespace {

void append_frame(std::string& out, std::string_view body) {
  const size_t start = begin_frame(out);
  out += body;
  finish_frame(out, start);
}

// All frames that can be read now; the error, if any, is the last.
std::vector<std::string> drain(FrameReader& reader) {
  std::vector<std::string> frames;
  while (true) {
    auto next = reader.next();
    if (!next.ok()) {
      frames.push_back("error: " + next.error().what);
      return frames;
    }
    if (!next.value()) return frames;
    frames.emplace_back(*next.value());
  }
}

TEST(Frame, HasALittleEndianLengthAndThenItsBytes) {
  std::string out = "before";
  append_frame(out, "hello");
  EXPECT_EQ(out, std::string("before\x05\0\0\0hello", 15));
}

TEST(Frame, ThePrefaceIsTheNameAndTheVersion) {
  std::string out;
  append_preface(out);
  EXPECT_EQ(out, std::string("DUNLIN\x02\0", kPrefaceSize));
}

TEST(FrameReader, GivesTheSameFramesHoweverTheBytesAreCut) {
  std::string bytes;
  append_preface(bytes);
  std::vector<std::string> bodies = {"a", "bcd", std::string(1000, 'e'), "f",
                                     std::string(300, 'g')};
  for (const std::string& body : bodies) append_frame(bytes, body);
  for (const uint64_t seed : seeds(200)) {
    Random random(seed);
    const size_t longest = 1 + random.below(500);
    FrameReader reader(FrameReader::From::client);
    std::vector<std::string> got;
    for (size_t at = 0; at < bytes.size();) {
      const std::string piece = bytes.substr(at, 1 + random.below(longest));
      at += piece.size();
      reader.feed(piece);
      for (std::string& frame : drain(reader)) got.push_back(std::move(frame));
    }
    ASSERT_EQ(got, bodies) << "SEED=" << seed;
  }
}

TEST(FrameReader, DoesNotCopyFramesThatAreFedWhole) {
  std::string bytes;
  append_frame(bytes, "one");
  append_frame(bytes, "two");
  FrameReader reader(FrameReader::From::hub);
  reader.feed(bytes);
  EXPECT_EQ(reader.next().value()->data(), bytes.data() + 4);
  EXPECT_EQ(reader.next().value()->data(), bytes.data() + 11);
  EXPECT_FALSE(reader.next().value());
}

TEST(FrameReader, RefusesALengthOfZero) {
  FrameReader reader(FrameReader::From::hub);
  reader.feed(std::string_view("\0\0\0\0", 4));
  EXPECT_EQ(drain(reader), std::vector<std::string>{"error: a frame of length 0"});
}

TEST(FrameReader, RefusesALongFrameAtItsHeaderAndStaysRefusing) {
  FrameReader reader(FrameReader::From::hub);
  reader.feed(std::string_view("\x01\x10\0\0", 4));
  const auto error = reader.next();
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, Code::invalid);
  EXPECT_EQ(error.error().what, "a frame of 4097 bytes, at most 4096 are allowed here");
  std::string good;
  append_frame(good, "good");
  reader.feed(good);
  EXPECT_FALSE(reader.next().ok());
}

TEST(FrameReader, ReadsLongFramesOnceTheLimitIsRaised) {
  FrameReader reader(FrameReader::From::hub);
  std::string bytes;
  append_frame(bytes, "hello");
  append_frame(bytes, std::string(kFrameMax, 'x'));
  reader.feed(bytes);
  EXPECT_EQ(*reader.next().value(), "hello");
  reader.set_limit(kFrameMax);
  EXPECT_EQ(reader.next().value()->size(), kFrameMax);
  reader.feed(std::string_view("\x01\0\0\x01", 4));
  EXPECT_EQ(drain(reader), std::vector<std::string>{
                               "error: a frame of 16777217 bytes, at most 16777216 are allowed"});
}

TEST(FrameReader, TellsAStrangerFromAClientAtTheFirstWrongByte) {
  FrameReader reader(FrameReader::From::client);
  reader.feed("DUNK");
  const auto error = reader.next();
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, Code::invalid);
  EXPECT_EQ(error.error().what, "not a dunlin client: the connection does not start with DUNLIN");
}

TEST(FrameReader, ExplainsAnotherVersionToItsClient) {
  FrameReader reader(FrameReader::From::client);
  std::string bytes;
  append_preface(bytes, 7);
  reader.feed(bytes);
  const auto error = reader.next();
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, Code::unsupported);
  EXPECT_EQ(error.error().what,
            "this hub speaks protocol version 2, the client speaks 7: install the same release of "
            "dunlin on both sides (the hub is older)");
}

}  // namespace
}  // namespace dunlin
