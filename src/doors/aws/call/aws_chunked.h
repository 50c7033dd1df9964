// The bodies of S3 uploads whose x-amz-content-sha256 begins with STREAMING-: aws-chunked,
//
//   <size in hex>[;chunk-signature=<hex>]\r\n <bytes> \r\n ... 0[;chunk-signature=...]\r\n
//   [x-amz-checksum-crc32:<base64>\r\n [x-amz-trailer-signature:<hex>\r\n]] \r\n
//
// Takes pieces of any size, gives back the bytes inside. Signatures form a chain that begins with
// that of the request; a wrong one is `denied` at the end of its chunk, so nothing may be made of
// the bytes before the end was seen.
//
// No I/O: pure. A decoder belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws_protocol/sigv4.h"
#include "base/digest.h"
#include "base/result.h"

namespace dunlin::aws {

// What chunks are signed with.
struct ChunkSigner {
  std::string key;   // signing_key()
  std::string time;  // 20130524T000000Z
  std::string scope;
  std::string last;  // The signature before the next one.
};

class ChunkDecoder {
 public:
  // Without a signer chunks are not signed.
  explicit ChunkDecoder(std::optional<ChunkSigner> signer) : signer_(std::move(signer)) {}

  Result<void> feed(std::string_view bytes, std::string& out);

  bool done() const { return state_ == State::done; }  // What comes after is refused.
  const http::Headers& trailers() const { return trailers_; }

 private:
  enum class State { size, bytes, bytes_end, trailer, done };

  Result<void> on_size(std::string_view line);
  Result<void> on_trailer(std::string_view line);
  Result<void> check_chunk();

  std::optional<ChunkSigner> signer_;
  State state_ = State::size;
  std::string line_;  // Not yet whole.
  uint64_t left_ = 0;
  bool last_ = false;
  std::string chunk_signature_;
  Digest chunk_hash_{Digest::Kind::sha256};
  http::Headers trailers_;
};

}  // namespace dunlin::aws
