// Hashes and spellings of bytes that protocols use: SHA-256, HMAC, MD5, CRC-32, hex, base64.
// Pure, except that random_bytes() asks the system.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's.

namespace dunlin {

// Results are bytes, not text.
std::string sha256(std::string_view bytes);
std::string md5(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

std::string hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);
std::optional<std::string> from_base64(std::string_view text);

// Bytes that nobody can guess.
std::string random_bytes(size_t size);

// In a time that tells nothing about where they differ.
bool equal(std::string_view a, std::string_view b);

// The hash of bytes that come in pieces.
class Digest {
 public:
  enum class Kind { md5, sha256 };
  explicit Digest(Kind kind);

  void update(std::string_view bytes);
  std::string finish();  // Begins anew.

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void begin();

  Kind kind_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Of zlib and of S3's checksums; begin with 0.
uint32_t crc32(uint32_t before, std::string_view bytes);
std::string crc32_base64(uint32_t sum);  // As S3 writes it.

}  // namespace dunlin
