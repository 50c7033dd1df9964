#include "wire/frame.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.h"

namespace dunlin {
namespace {

constexpr std::string_view kMagic = "DUNLIN";
constexpr size_t kRestKept = 64 << 10;  // Room that is kept for the next frame.

}  // namespace

void append_preface(std::string& out, uint16_t version) {
  out += kMagic;
  append_fixed(out, version);
}

size_t begin_frame(std::string& out) {
  const size_t start = out.size();
  append_fixed(out, uint32_t{0});
  return start;
}

void finish_frame(std::string& out, size_t start) {
  const size_t size = out.size() - start - kFrameHeaderSize;
  CHECK(size <= UINT32_MAX);
  overwrite_fixed(out, start, static_cast<uint32_t>(size));
}

void FrameReader::feed(std::string_view bytes) {
  CHECK(fed_.empty());
  if (!failed_) fed_ = bytes;
}

Error FrameReader::fail(Code code, std::string what) {
  failed_ = Error{code, std::move(what)};
  fed_ = {};
  return *failed_;
}

// Moves bytes from `fed_` to `rest_` until that has `size`; says whether it has.
bool FrameReader::fill(size_t size) {
  if (rest_.size() < size) {
    const size_t some = std::min(size - rest_.size(), fed_.size());
    rest_.append(fed_.substr(0, some));
    fed_.remove_prefix(some);
  }
  return rest_.size() >= size;
}

Result<bool> FrameReader::read_preface() {
  const bool whole = fill(kPrefaceSize);
  const std::string_view magic = std::string_view(rest_).substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) {
    return fail(Code::invalid, "not a dunlin client: the connection does not start with DUNLIN");
  }
  if (!whole) return false;
  const auto version = ByteReader(std::string_view(rest_).substr(kMagic.size())).fixed<uint16_t>();
  if (version != kProtocolVersion) {
    return fail(
        Code::unsupported,
        fmt::format("this hub speaks protocol version {}, the client speaks {}: install "
                    "the same release of dunlin on both sides (the {} is older)",
                    kProtocolVersion, version, version < kProtocolVersion ? "client" : "hub"));
  }
  preface_wanted_ = false;
  rest_.clear();
  return true;
}

Result<std::optional<std::string_view>> FrameReader::next() {
  if (failed_) return *failed_;
  if (rest_used_) {
    rest_.clear();
    if (rest_.capacity() > kRestKept) rest_.shrink_to_fit();
    rest_used_ = false;
  }
  if (preface_wanted_ && !TRY(read_preface())) return std::optional<std::string_view>();

  const bool direct = rest_.empty() && fed_.size() >= kFrameHeaderSize;
  if (!direct && !fill(kFrameHeaderSize)) return std::optional<std::string_view>();
  const std::string_view header = direct ? fed_ : std::string_view(rest_);
  const size_t size = ByteReader(header).fixed<uint32_t>();
  if (size == 0) return fail(Code::invalid, "a frame of length 0");
  if (size > limit_) {
    return fail(Code::invalid, fmt::format("a frame of {} bytes, at most {} are allowed{}", size,
                                           limit_, limit_ < kFrameMax ? " here" : ""));
  }
  if (direct && fed_.size() - kFrameHeaderSize >= size) {
    const std::string_view frame = fed_.substr(kFrameHeaderSize, size);
    fed_.remove_prefix(kFrameHeaderSize + size);
    return std::optional(frame);
  }
  if (!fill(kFrameHeaderSize + size)) return std::optional<std::string_view>();
  rest_used_ = true;
  return std::optional(std::string_view(rest_).substr(kFrameHeaderSize));
}

}  // namespace dunlin
