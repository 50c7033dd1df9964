// Hostile bytes on a connection: cut into frames, decoded, checked.
//
//   byte      what to do, see Plan
//   sized     chunk sizes, a byte each, used in turn; none: all at once
//   rest      the stream, or the body of one frame
#include <optional>

#include "base/check.h"
#include "base/result.h"
#include "tests/fuzz/target.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin {
namespace {

enum Plan : uint8_t {
  from_hub = 1,  // Else from a client, with a preface.
  one_body = 2,  // The rest is a body: this target adds preface and length.
};

struct Cut {
  std::vector<std::string> frames;
  std::optional<Error> error;
};

// As a session does: long frames are taken only after the first one.
Cut cut(FrameReader::From from, std::string_view stream, std::string_view chunks) {
  Cut cut;
  FrameReader reader(from);
  size_t turn = 0;
  do {
    const size_t most =
        chunks.empty() ? stream.size() : static_cast<uint8_t>(chunks[turn++ % chunks.size()]);
    // A copy of its own, so that a read past its end is seen.
    const std::string chunk(stream.substr(0, std::max<size_t>(most, 1)));
    stream.remove_prefix(chunk.size());
    reader.feed(chunk);
    while (true) {
      const auto frame = reader.next();
      if (!frame.ok()) {
        cut.error = frame.error();
        return cut;
      }
      if (!frame.value()) break;
      cut.frames.emplace_back(*frame.value());
      reader.set_limit(kFrameMax);
    }
  } while (!stream.empty());
  return cut;
}

std::string_view body(std::string_view frame) { return frame.substr(kFrameHeaderSize); }

// Whatever decodes must come back from its own encoding as it was. Encodings are compared: they
// have every field of a value, which wire/codec_test.cc proves.
template <typename Decode, typename Encode>
void check_round_trip(std::string_view frame, Decode decode, Encode encode) {
  const auto first = decode(frame);
  if (!first.ok()) {
    CHECK(first.error().code == Code::invalid && !first.error().what.empty());
    return;
  }
  const std::string once = encode(first.value());
  const auto second = decode(body(once));
  CHECK(second.ok());
  CHECK(encode(second.value()) == once);
}

void check_frame(const std::string& frame) {
  Codec codec;
  check_round_trip(
      frame, [&](std::string_view bytes) { return codec.decode_hello(bytes); },
      [&](const Hello& hello) {
        std::string out;
        codec.encode_hello(hello, out);
        return out;
      });
  check_round_trip(
      frame, [&](std::string_view bytes) { return codec.decode_greeting(bytes); },
      [&](const Greeting& greeting) {
        std::string out;
        codec.encode_greeting(greeting, out);
        return out;
      });
  check_round_trip(
      frame, [&](std::string_view bytes) { return codec.decode_request(bytes); },
      [&](const NumberedRequest& asked) {
        const auto valid = validate(asked.request);
        CHECK(valid.ok() || valid.error().code == Code::invalid);
        std::string out;
        codec.encode_request(asked.id, asked.request, out);
        // A valid request is never too long to be sent.
        CHECK(!valid.ok() || out.size() <= kFrameHeaderSize + kFrameMax);
        return out;
      });
  check_round_trip(
      frame, [&](std::string_view bytes) { return codec.decode_answer(bytes); },
      [&](const NumberedAnswer& answer) {
        std::string out;
        codec.encode_answer(answer.id, answer.answer, out);
        CHECK(out.size() <= kFrameHeaderSize + kFrameMax);
        return out;
      });
}

std::string stream_of(uint8_t plan, std::string_view rest) {
  std::string stream;
  if ((plan & one_body) == 0) return std::string(rest);
  if ((plan & from_hub) == 0) append_preface(stream);
  // The first frame may not be long, so there is one before it.
  for (const bool is_first : {true, false}) {
    const size_t start = begin_frame(stream);
    stream += is_first ? "hello" : rest;
    finish_frame(stream, start);
  }
  return stream;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string odd("\0\xff a b", 6);
  const std::vector<Request> requests = {
      Commit{
          .nonce = 7,
          .writes =
              {Put{.table = "t", .key = "k", .value = odd, .version = kAnyVersion},
               Erase{.table = "t", .key = "k2", .version = 8},
               Push{.queue = "q", .messages = {{"m1", odd}, {"m2", ""}}},
               Finish{.queue = "q", .leases = {{"m3", 9}, {"m4", 10}}, .strict = true},
               Keep{.queue = "q", .lease = {"m5", 11}, .step = 2, .note = odd, .hold = Millis(8)}}},
      Pull{.queue = "q", .max = 100, .hold = Millis(60'000), .wait = Millis(5)},
      Renew{.queue = "q", .leases = {{"m", 1}}, .hold = Millis(7)},
      AskDepth{.queue = "q"},
      Get{.table = "t", .keys = {"a", "b"}},
      Scan{.table = "t", .prefix = "p", .after = "a", .max = 3},
      BlobPart{.upload = 1ULL << 63U, .offset = 1 << 20, .bytes = odd},
      BlobEnd{.upload = 4, .name = "n", .size = 5},
      BlobGet{.name = "n", .offset = 1, .max = 2},
      BlobErase{.name = "n"},
      BlobList{.prefix = "p", .after = "a", .max = 2},
      AskInfo{},
      EraseAll{.table = "t", .prefix = "p"},
  };
  const std::vector<Answer> answers = {
      Error{Code::conflict, "because"},
      Done{},
      Committed{.version = 3},
      Deliveries{{{.lease = {"m", 4}, .body = odd, .attempt = 2, .note = odd}, {}}},
      Erased{.rows = 6},
      Lost{{{"m", 5}}},
      Depth{.ready = 1, .leased = 2},
      Rows{{{.key = "k", .value = odd, .version = 3}, {}}},
      Bytes{odd},
      BlobNames{{{.name = "b", .size = 77}}},
      Info{.queues = {{"q", {1, 2}}},
           .tables = {{"t", 3}},
           .blobs = 4,
           .blob_bytes = 5,
           .live_bytes = 6,
           .disk_bytes = 7},
  };
  Codec codec;
  std::vector<std::string> frames;
  codec.encode_hello({"token", "dunlin 0.1.0"}, frames.emplace_back());
  codec.encode_greeting(Welcome{"dunlin 0.1.0"}, frames.emplace_back());
  codec.encode_greeting(Refused{Code::denied, "no"}, frames.emplace_back());
  uint64_t id = 0;
  for (const Request& request : requests)
    codec.encode_request(++id, request, frames.emplace_back());
  for (const Answer& answer : answers) codec.encode_answer(++id, answer, frames.emplace_back());

  std::vector<std::string> all;
  std::string everything;
  append_preface(everything);
  for (const std::string& frame : frames) {
    all.push_back(Output().byte(one_body).sized("").raw(body(frame)).bytes());
    everything += frame;
  }
  all.push_back(Output().byte(0).sized("\x03\x50").raw(everything).bytes());
  all.push_back(Output().byte(from_hub).sized("\x01").raw(everything.substr(kPrefaceSize)).bytes());
  std::string other;
  append_preface(other, kProtocolVersion + 1);
  all.push_back(Output().byte(0).sized("\x02").raw(other).bytes());
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  Input input(data, size);
  const uint8_t plan = input.byte();
  const std::string_view chunks = input.sized();
  const std::string stream = stream_of(plan, input.rest());
  const auto from = (plan & from_hub) != 0 ? FrameReader::From::hub : FrameReader::From::client;

  const Cut whole = cut(from, stream, {});
  const Cut parts = cut(from, stream, chunks);
  CHECK(whole.frames == parts.frames);
  CHECK(whole.error.has_value() == parts.error.has_value());
  if (whole.error)
    CHECK(whole.error->code == parts.error->code && whole.error->what == parts.error->what);
  for (const std::string& frame : whole.frames) check_frame(frame);
  return 0;
}
