#include "doors/aws/call/aws_chunked.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace dunlin::aws {
namespace {

constexpr size_t kLineMax = 1024;
constexpr size_t kTrailersMax = 16;
constexpr std::string_view kExtension = ";chunk-signature=";
constexpr std::string_view kTrailerSignature = "x-amz-trailer-signature";

Error broken(std::string_view what) {
  return {Code::invalid, fmt::format("the aws-chunked body is broken: {}", what)};
}

}  // namespace

Result<void> ChunkDecoder::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (state_ == State::done) return broken("there are bytes after its end");
    if (state_ == State::bytes) {
      const std::string_view some = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
      if (signer_) chunk_hash_.update(some);
      out += some;
      bytes.remove_prefix(some.size());
      left_ -= some.size();
      if (left_ == 0) state_ = State::bytes_end;
      continue;
    }
    const size_t end = bytes.find('\n');
    const bool whole = end != std::string_view::npos;
    line_ += bytes.substr(0, end);
    if (line_.size() > kLineMax) return broken("a line is too long");
    bytes.remove_prefix(whole ? end + 1 : bytes.size());
    if (!whole) break;  // The line goes on in the next piece.
    if (!line_.ends_with('\r')) return broken("a line does not end with CR LF");
    line_.pop_back();
    const std::string line = std::exchange(line_, {});
    if (state_ == State::size) {
      TRY(on_size(line));
    } else if (state_ == State::trailer) {
      TRY(on_trailer(line));
    } else {
      if (!line.empty()) return broken("a chunk is longer than its size");
      TRY(check_chunk());
      state_ = State::size;
    }
  }
  return {};
}

Result<void> ChunkDecoder::on_size(std::string_view line) {
  const size_t semicolon = std::min(line.find(';'), line.size());
  const char* end = line.data() + semicolon;
  const auto parsed = std::from_chars(line.data(), end, left_, 16);
  if (semicolon == 0 || parsed.ec != std::errc() || parsed.ptr != end) {
    return broken("a chunk has no size");
  }
  chunk_signature_.clear();
  if (line.substr(semicolon).starts_with(kExtension)) {
    chunk_signature_ = line.substr(semicolon + kExtension.size());
  }
  if (left_ > 0) {
    state_ = State::bytes;
    return {};
  }
  TRY(check_chunk());
  state_ = State::trailer;
  return {};
}

Result<void> ChunkDecoder::check_chunk() {
  if (!signer_) return {};
  const std::string text =
      fmt::format("AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{}\n{}\n{}", signer_->time, signer_->scope,
                  signer_->last, hex(sha256("")), hex(chunk_hash_.finish()));
  signer_->last = hex(hmac_sha256(signer_->key, text));
  if (equal(signer_->last, chunk_signature_)) return {};
  return Error{Code::denied, "the signature of a chunk does not match its bytes"};
}

Result<void> ChunkDecoder::on_trailer(std::string_view line) {
  if (!line.empty()) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || trailers_.size() == kTrailersMax) {
      return broken("a trailer has no name");
    }
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    trailers_.emplace_back(line.substr(0, colon), value);
    return {};
  }
  state_ = State::done;
  const std::string* given = http::find_header(trailers_, kTrailerSignature);
  if (!signer_ || trailers_.empty()) return {};
  std::string canonical;
  for (const auto& [name, value] : trailers_) {
    if (name != kTrailerSignature) canonical.append(name).append(":").append(value).append("\n");
  }
  const std::string text = fmt::format("AWS4-HMAC-SHA256-TRAILER\n{}\n{}\n{}\n{}", signer_->time,
                                       signer_->scope, signer_->last, hex(sha256(canonical)));
  if (given && equal(hex(hmac_sha256(signer_->key, text)), *given)) return {};
  return Error{Code::denied, "the signature of the trailers does not match them"};
}

}  // namespace dunlin::aws
