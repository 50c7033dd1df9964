#include "wire/codec.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "sim/seeds.h"
#include "wire/frame.h"

namespace dunlin {
namespace {

const std::string kOdd("\0\xff\x80 not utf-8", 13);

// One of each operation, with every field set to something that would be noticed if it were lost.
std::vector<Request> requests() {
  return {
      Commit{.nonce = UINT64_MAX - 1,
             .writes = {Put{.table = "t", .key = "k", .value = kOdd, .version = kAnyVersion},
                        Erase{.table = "t2", .key = "k2", .version = 8},
                        Push{.queue = "q", .messages = {{"m1", kOdd}, {"m2", ""}}},
                        Finish{.queue = "q2", .leases = {{"m3", 9}, {"m4", UINT64_MAX}}}}},
      Commit{},
      Pull{.queue = "q", .max = 100, .hold = Millis(60'000), .wait = Millis(5)},
      Pull{.queue = "", .max = 0, .hold = Millis(-1), .wait = Millis::max()},
      Renew{.queue = "q", .leases = {{"m", 1}}, .hold = Millis(7)},
      AskDepth{.queue = "q"},
      Get{.table = "t", .keys = {"a", "", kOdd}},
      Scan{.table = "t", .prefix = "p", .after = "a", .max = 3},
      BlobPart{.upload = 1ULL << 63U, .offset = 1 << 20, .bytes = std::string(100'000, 'b')},
      BlobEnd{.upload = 4, .name = "n", .size = kBlobMax},
      BlobGet{.name = "n", .offset = 1, .max = 2},
      BlobErase{.name = "n"},
      BlobList{.prefix = "p", .after = "a", .max = 2},
      AskInfo{},
  };
}

std::vector<Answer> answers() {
  std::vector<Answer> all = {
      Done{},
      Committed{.version = UINT64_MAX},
      Deliveries{{{.lease = {"m", 4}, .body = kOdd, .attempt = UINT32_MAX}, {}}},
      Deliveries{},
      Lost{{{"m", 5}}},
      Depth{.ready = 1, .leased = 2},
      Rows{{{.key = "k", .value = kOdd, .version = 3}, {}}},
      Bytes{kOdd},
      BlobNames{{{.name = "b", .size = 77}}},
      Info{.queues = {{"q", {1, 2}}},
           .tables = {{"t", 3}},
           .blobs = 4,
           .blob_bytes = 5,
           .live_bytes = 6,
           .disk_bytes = 7},
  };
  for (const Code code : {Code::invalid, Code::not_found, Code::conflict, Code::denied, Code::full,
                          Code::unavailable, Code::corrupt, Code::unsupported}) {
    all.emplace_back(Error{code, "because"});
  }
  return all;
}

std::string frame_of(const Request& request) {
  std::string out;
  Codec().encode_request(3, request, out);
  return out;
}
std::string frame_of(const Answer& answer) {
  std::string out;
  Codec().encode_answer(3, answer, out);
  return out;
}

std::string_view body(std::string_view frame) {
  EXPECT_EQ(ByteReader(frame).fixed<uint32_t>(), frame.size() - kFrameHeaderSize);
  return frame.substr(kFrameHeaderSize);
}

// Feeds a decoder broken forms of a good frame: each must yield a value or `invalid`.
template <typename Decode>
void expect_no_trust(const std::string& frame, uint64_t seed, Decode decode) {
  for (size_t size = 0; size < std::min<size_t>(frame.size(), 400); ++size) {
    const std::string cut = frame.substr(0, size);  // A copy, so that a read past it is caught.
    const auto result = decode(cut);
    EXPECT_TRUE(result.ok() || result.error().code == Code::invalid);
  }
  Random random(seed);
  for (int i = 0; i < 300 && !frame.empty(); ++i) {
    std::string changed = frame;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      changed[random.below(std::min<size_t>(changed.size(), 200))] =
          static_cast<char>(random.next());
    }
    const auto result = decode(changed);
    EXPECT_TRUE(result.ok() || result.error().code == Code::invalid);
  }
}

// A value has all the bytes of its frame, so equal frames of one kind are equal values.
TEST(Codec, EveryRequestComesBackAsItWas) {
  Codec codec;
  for (const Request& request : requests()) {
    const std::string frame = frame_of(request);
    auto got = codec.decode_request(body(frame));
    ASSERT_TRUE(got.ok()) << got.error().what;
    EXPECT_EQ(got.value().id, 3U);
    ASSERT_EQ(got.value().request.index(), request.index());
    EXPECT_EQ(frame_of(got.value().request), frame);
  }
}

TEST(Codec, EveryAnswerComesBackAsItWas) {
  Codec codec;
  for (const Answer& answer : answers()) {
    const std::string frame = frame_of(answer);
    auto got = codec.decode_answer(body(frame));
    ASSERT_TRUE(got.ok()) << got.error().what;
    EXPECT_EQ(got.value().id, 3U);
    ASSERT_EQ(got.value().answer.index(), answer.index());
    EXPECT_EQ(frame_of(got.value().answer), frame);
  }
}

TEST(Codec, FieldsComeBackInTheirPlaces) {
  Codec codec;
  const std::string frame = frame_of(requests()[0]);
  const auto commit = std::get<Commit>(codec.decode_request(body(frame)).value().request);
  EXPECT_EQ(commit.nonce, UINT64_MAX - 1);
  ASSERT_EQ(commit.writes.size(), 4U);
  const auto& put = std::get<Put>(commit.writes[0]);
  EXPECT_EQ(put.table + put.key, "tk");
  EXPECT_EQ(put.value, kOdd);
  EXPECT_EQ(put.version, kAnyVersion);
  EXPECT_EQ(std::get<Erase>(commit.writes[1]).key, "k2");
  EXPECT_EQ(std::get<Push>(commit.writes[2]).messages.at(0).body, kOdd);
  EXPECT_EQ(std::get<Finish>(commit.writes[3]).leases,
            (std::vector<Lease>{{"m3", 9}, {"m4", UINT64_MAX}}));

  const std::string other = frame_of(Answer(Deliveries{{{{"m", 4}, "body", 5}}}));
  const auto got = std::get<Deliveries>(codec.decode_answer(body(other)).value().answer);
  EXPECT_EQ(got.deliveries.at(0).lease, (Lease{"m", 4}));
  EXPECT_EQ(got.deliveries.at(0).body, "body");
  EXPECT_EQ(got.deliveries.at(0).attempt, 5U);
}

TEST(Codec, GreetingsComeBackAsTheyWere) {
  Codec codec;
  std::string out;
  codec.encode_hello({.token = kOdd, .program = "dunlin 9"}, out);
  const auto hello = codec.decode_hello(body(out));
  EXPECT_EQ(hello.value().token, kOdd);
  EXPECT_EQ(hello.value().program, "dunlin 9");

  out.clear();
  codec.encode_greeting(Welcome{"hub 9"}, out);
  EXPECT_EQ(std::get<Welcome>(codec.decode_greeting(body(out)).value()).program, "hub 9");

  out.clear();
  codec.encode_greeting(Refused{Code::full, "too many"}, out);
  const auto refused = std::get<Refused>(codec.decode_greeting(body(out)).value());
  EXPECT_EQ(refused.code, Code::full);
  EXPECT_EQ(refused.what, "too many");
}

TEST(Codec, TheBytesOfARefusalNeverChange) {
  Codec codec;
  std::string out;
  codec.encode_greeting(Refused{Code::denied, "no"}, out);
  EXPECT_EQ(out, std::string("\x08\0\0\0\x12\x06\x08\x04\x12\x02no", 12));
}

TEST(Codec, ARefusalForAReasonOfALaterVersionIsARefusal) {
  const auto got = Codec().decode_greeting(std::string_view("\x12\x06\x08\x63\x12\x02no", 8));
  EXPECT_EQ(std::get<Refused>(got.value()).code, Code::denied);
}

TEST(Codec, UnknownKindsAreNamed) {
  Codec codec;
  EXPECT_EQ(codec.decode_request(std::string_view("\x08\x01", 2)).error().what,
            "a request of a kind that this release does not know");
  EXPECT_EQ(codec.decode_request(std::string_view("\x08\x01\xa2\x06\x00", 5)).error().code,
            Code::invalid);
  EXPECT_EQ(codec.decode_request(std::string_view("\x12\x02\x12\x00", 4)).error().what,
            "a write of a kind that this release does not know");
  EXPECT_EQ(codec.decode_answer(std::string_view("\x08\x01", 2)).error().what,
            "an answer of a kind that this release does not know");
  EXPECT_EQ(codec.decode_answer(std::string_view("\x10\x63", 2)).error().what,
            "an answer with the unknown status 99");
  EXPECT_EQ(codec.decode_greeting("").error().what, "a greeting that is empty");
}

TEST(Codec, ListsLongerThanABatchAreRefused) {
  Codec codec;
  const std::vector<Lease> leases(kBatchMax + 1);
  for (const Request& request :
       {Request(Commit{.nonce = 1, .writes = std::vector<Write>(kBatchMax + 1)}),
        Request(Commit{.nonce = 1, .writes = {Push{"q", std::vector<Message>(kBatchMax + 1)}}}),
        Request(Commit{.nonce = 1, .writes = {Finish{"q", leases}}}),
        Request(Renew{.queue = "q", .leases = leases}),
        Request(Get{.table = "t", .keys = std::vector<std::string>(kBatchMax + 1)})}) {
    const auto got = codec.decode_request(body(frame_of(request)));
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::invalid);
    EXPECT_NE(got.error().what.find("10001 "), std::string::npos) << got.error().what;
  }
}

TEST(Codec, AFullBatchIsNotTooMuch) {
  Codec codec;
  const Put put{.table = std::string(kNameMax, 't'),
                .key = std::string(kKeyMax, 'k'),
                .value = std::string(kBatchBytesMax / kBatchMax - kNameMax - kKeyMax, 'v'),
                .version = kAnyVersion};
  const std::string frame =
      frame_of(Request(Commit{.nonce = 1, .writes = std::vector<Write>(kBatchMax, put)}));
  EXPECT_LE(frame.size(), kFrameMax);
  const auto got = codec.decode_request(body(frame));
  ASSERT_TRUE(got.ok()) << got.error().what;
  EXPECT_EQ(std::get<Commit>(got.value().request).writes.size(), kBatchMax);
}

TEST(Codec, AFrameOfTinyPartsIsRefusedBeforeItBecomesLargeObjects) {
  Codec codec;
  std::string writes;  // Millions of empty writes in one commit.
  for (size_t i = 0; i < 4'000'000; ++i) writes += std::string_view("\x12\x00", 2);
  std::string frame = "\x12";
  append_sized(frame, writes);
  EXPECT_EQ(codec.decode_request(frame).error().what,
            "request with more than 160000 fields: send fewer in one call");

  std::string flips;  // An operation that is replaced again and again.
  for (size_t i = 0; i < 2'000'000; ++i) flips += std::string_view("\x12\x00\x1a\x00", 4);
  EXPECT_EQ(codec.decode_request(flips).error().what,
            "request with more than 160000 fields: send fewer in one call");
}

TEST(Codec, AnAnswerTooLongForAFrameSaysSo) {
  Codec codec;
  std::string out;
  codec.encode_answer(5, Bytes{std::string(kFrameMax, 'x')}, out);
  const auto got = codec.decode_answer(body(out));
  EXPECT_EQ(got.value().id, 5U);
  const auto& error = std::get<Error>(got.value().answer);
  EXPECT_EQ(error.code, Code::full);
  EXPECT_NE(error.what.find("ask for less"), std::string::npos) << error.what;
}

TEST(Codec, BrokenFramesAreInvalidAndNothingWorse) {
  Codec codec;
  uint64_t seed = 0;
  for (const Request& request : requests()) {
    const std::string frame = frame_of(request);
    expect_no_trust(std::string(body(frame)), ++seed,
                    [&](std::string_view bytes) { return codec.decode_request(bytes); });
  }
  for (const Answer& answer : answers()) {
    const std::string frame = frame_of(answer);
    expect_no_trust(std::string(body(frame)), ++seed,
                    [&](std::string_view bytes) { return codec.decode_answer(bytes); });
  }
}

TEST(Codec, RandomBytesAreInvalidAndNothingWorse) {
  Codec codec;
  for (const uint64_t seed : seeds(20'000)) {
    Random random(seed);
    std::string bytes(random.below(60), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    const auto check = [&](const auto& result) {
      EXPECT_TRUE(result.ok() || result.error().code == Code::invalid) << "SEED=" << seed;
    };
    check(codec.decode_hello(bytes));
    check(codec.decode_greeting(bytes));
    check(codec.decode_request(bytes));
    check(codec.decode_answer(bytes));
  }
}

}  // namespace
}  // namespace dunlin
