// How bytes on a connection become frames. Pure: no sockets, no clock.
//
//   client to hub   "DUNLIN", u16 protocol version, then frames
//   hub to client   frames
//   a frame         u32 length, then so many bytes: one message of wire/dunlin.proto
//
// Numbers are little-endian. Until the hello is accepted a frame is small, so that a stranger
// cannot make the hub hold much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin {

inline constexpr uint16_t kProtocolVersion = 2;
inline constexpr size_t kPrefaceSize = 8;
inline constexpr size_t kFrameHeaderSize = 4;
inline constexpr size_t kHelloMax = 4 << 10;   // Of a frame before the hello is accepted.
inline constexpr size_t kFrameMax = 16 << 20;  // Of a frame after that.

// What a client sends first.
void append_preface(std::string& out, uint16_t version = kProtocolVersion);

// Appends room for a frame's header; finish_frame() fills it in when the body has been appended.
// Returns where the frame starts.
size_t begin_frame(std::string& out);
void finish_frame(std::string& out, size_t start);

// Cuts what arrives into frames. It keeps only what it was really given, however long a frame
// claims to be, and copies nothing if whole frames are given at once.
//
//   reader.feed(bytes);
//   while (true) { frame = TRY(reader.next()); if (!frame) break; ... }
class FrameReader {
 public:
  enum class From {
    client,  // The preface comes first.
    hub,
  };
  explicit FrameReader(From from) : preface_wanted_(from == From::client) {}

  // `bytes` must stay as they are until next() has returned nothing. REQUIRES: next() has returned
  // nothing, or feed() was never called.
  void feed(std::string_view bytes);

  // The body of the next whole frame, valid until the next call; nothing if more bytes are needed.
  //
  // After an error there are no more frames, and the connection is to be closed. `invalid`: the
  // peer does not speak this protocol. `unsupported`: a client of another protocol version; its
  // text is for a Refused, which such a client can read.
  Result<std::optional<std::string_view>> next();

  // The longest frame that is read from now on: kHelloMax at first.
  void set_limit(size_t bytes) { limit_ = bytes; }

 private:
  Result<bool> read_preface();
  bool fill(size_t size);
  Error fail(Code code, std::string what);

  bool preface_wanted_;
  size_t limit_ = kHelloMax;
  std::string_view fed_;    // What was fed and is not yet used.
  std::string rest_;        // The start of a frame whose end was not fed yet.
  bool rest_used_ = false;  // `rest_` is the frame that next() returned.
  std::optional<Error> failed_;
};

}  // namespace dunlin
