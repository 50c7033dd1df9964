// The checksums that S3 knows, each of bytes that come in pieces, and how those of parts become
// that of a whole. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's.

namespace dunlin::aws {

enum class ChecksumKind { crc32, crc32c, crc64nvme, sha1, sha256 };

inline constexpr std::array<ChecksumKind, 5> kChecksums = {
    ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme, ChecksumKind::sha1,
    ChecksumKind::sha256};
// What S3 computes of bytes about which the client says nothing.
inline constexpr ChecksumKind kChecksumOfS3 = ChecksumKind::crc64nvme;

std::string_view checksum_word(ChecksumKind kind);                    // "CRC32C"
std::string checksum_header(ChecksumKind kind);                       // "x-amz-checksum-crc32c"
std::string checksum_element(ChecksumKind kind);                      // "ChecksumCRC32C"
std::optional<ChecksumKind> checksum_of_word(std::string_view word);  // In any case.
bool is_crc(ChecksumKind kind);

// A checksum in base64, and what it is of.
struct Checksum {
  ChecksumKind kind = kChecksumOfS3;
  std::string text;  // With "-N" behind it if it is that of the checksums of N parts.
  bool composite = false;

  bool operator==(const Checksum&) const = default;
};

class ChecksumSum {
 public:
  explicit ChecksumSum(ChecksumKind kind);

  void update(std::string_view bytes);
  Checksum finish();  // Once.

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  ChecksumKind kind_;
  uint64_t crc_ = 0;
  std::unique_ptr<evp_md_ctx_st, Free> hash_;  // Null for a CRC.
};

// The checksum of all bytes, from those of two pieces; REQUIRES: a CRC. `size` is that of the
// second one. Nothing if one is no checksum of this kind.
std::optional<std::string> joined(ChecksumKind kind, std::string_view first,
                                  std::string_view second, uint64_t size);

// Whether the text can be one: base64 of so many bytes.
bool is_checksum(ChecksumKind kind, std::string_view text);

}  // namespace dunlin::aws
