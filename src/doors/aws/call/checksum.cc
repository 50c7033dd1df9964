#include "doors/aws/call/checksum.h"

#include <algorithm>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

struct Form {
  std::string_view word;
  std::string_view lower;
  size_t bytes;
  uint64_t polynomial;  // Of a CRC, its bits in reverse.
};

constexpr std::array<Form, 5> kForms = {{{"CRC32", "crc32", 4, 0xedb88320},
                                         {"CRC32C", "crc32c", 4, 0x82f63b78},
                                         {"CRC64NVME", "crc64nvme", 8, 0x9a6c9329ac4bc9b5},
                                         {"SHA1", "sha1", 20, 0},
                                         {"SHA256", "sha256", 32, 0}}};

const Form& form_of(ChecksumKind kind) { return kForms[static_cast<size_t>(kind)]; }

// A table for each of eight bytes that are taken at once.
using Tables = std::array<std::array<uint64_t, 256>, 8>;

constexpr Tables tables_of(uint64_t polynomial) {
  Tables tables{};
  for (uint64_t byte = 0; byte < 256; ++byte) {
    uint64_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1U) != 0 ? polynomial ^ (sum >> 1U) : sum >> 1U;
    tables[0][byte] = sum;
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint64_t before = tables[i - 1][byte];
      tables[i][byte] = tables[0][before & 255U] ^ (before >> 8U);
    }
  }
  return tables;
}

// `before` is the sum of the bytes in front of these.
uint64_t crc64(const Tables& tables, uint64_t before, std::string_view bytes) {
  uint64_t sum = ~before;
  while (bytes.size() >= 8) {
    uint64_t next = 0;
    for (size_t i = 0; i < 8; ++i) {
      next |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    next ^= sum;
    sum = 0;
    for (size_t i = 0; i < 8; ++i) sum ^= tables[7 - i][next >> (8 * i) & 255U];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) {
    sum = tables[0][(sum ^ static_cast<unsigned char>(c)) & 255U] ^ (sum >> 8U);
  }
  return ~sum;
}

std::string bytes_of(uint64_t sum, size_t size) {
  std::string bytes;
  for (size_t i = size; i-- > 0;) {
    bytes += i < sizeof(sum) ? static_cast<char>(sum >> (8 * i) & 255U) : '\0';
  }
  return bytes;
}

std::optional<uint64_t> number_of(const Form& form, std::string_view text) {
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes || bytes->size() != form.bytes) return std::nullopt;
  uint64_t sum = 0;
  for (const char c : *bytes) sum = sum << 8U | static_cast<unsigned char>(c);
  return sum;
}

// Polynomials over GF(2), modulo that of the CRC: the highest bit is the number 1.
uint64_t multiply(uint64_t a, uint64_t b, const Form& form) {
  uint64_t product = 0;
  for (uint64_t bit = uint64_t{1} << (8 * form.bytes - 1); bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1U) != 0 ? (b >> 1U) ^ form.polynomial : b >> 1U;
  }
  return product;
}

// What so many bytes behind a sum multiply it by.
uint64_t shift_of(uint64_t bytes, const Form& form) {
  const uint64_t one = uint64_t{1} << (8 * form.bytes - 1);
  uint64_t factor = one;
  uint64_t square = one >> 8U;  // x to the 8th: one byte.
  for (; bytes != 0; bytes >>= 1U) {
    if ((bytes & 1U) != 0) factor = multiply(square, factor, form);
    square = multiply(square, square, form);
  }
  return factor;
}

}  // namespace

std::string_view checksum_word(ChecksumKind kind) { return form_of(kind).word; }

std::string checksum_header(ChecksumKind kind) {
  return "x-amz-checksum-" + std::string(form_of(kind).lower);
}

std::string checksum_element(ChecksumKind kind) {
  return "Checksum" + std::string(checksum_word(kind));
}

std::optional<ChecksumKind> checksum_of_word(std::string_view word) {
  for (const ChecksumKind kind : kChecksums) {
    const bool same = std::ranges::equal(word, checksum_word(kind), [](char a, char b) {
      return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b);
    });
    if (same) return kind;
  }
  return std::nullopt;
}

bool is_crc(ChecksumKind kind) { return form_of(kind).polynomial != 0; }

ChecksumSum::ChecksumSum(ChecksumKind kind) : kind_(kind) {
  if (is_crc(kind)) return;
  hash_.reset(EVP_MD_CTX_new());
  CHECK(hash_ != nullptr);
  const EVP_MD* const how = kind == ChecksumKind::sha1 ? EVP_sha1() : EVP_sha256();
  CHECK(EVP_DigestInit_ex(hash_.get(), how, nullptr) == 1);
}

void ChecksumSum::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

void ChecksumSum::update(std::string_view bytes) {
  static constexpr Tables kCrc64 = tables_of(kForms[2].polynomial);
  if (hash_) {
    CHECK(EVP_DigestUpdate(hash_.get(), bytes.data(), bytes.size()) == 1);
  } else if (kind_ == ChecksumKind::crc64nvme) {
    crc_ = crc64(kCrc64, crc_, bytes);
  } else if (kind_ == ChecksumKind::crc32c) {
    crc_ = crc32c(bytes, static_cast<uint32_t>(crc_));
  } else {
    crc_ = crc32(static_cast<uint32_t>(crc_), bytes);
  }
}

Checksum ChecksumSum::finish() {
  std::string bytes = bytes_of(crc_, form_of(kind_).bytes);
  if (hash_) {
    CHECK(EVP_DigestFinal_ex(hash_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                             nullptr) == 1);
  }
  return {kind_, to_base64(bytes), false};
}

std::optional<std::string> joined(ChecksumKind kind, std::string_view first,
                                  std::string_view second, uint64_t size) {
  CHECK(is_crc(kind));
  const Form& form = form_of(kind);
  const std::optional<uint64_t> a = number_of(form, first);
  const std::optional<uint64_t> b = number_of(form, second);
  if (!a || !b) return std::nullopt;
  return to_base64(bytes_of(multiply(shift_of(size, form), *a, form) ^ *b, form.bytes));
}

bool is_checksum(ChecksumKind kind, std::string_view text) {
  const std::optional<std::string> bytes = from_base64(text);
  return bytes && bytes->size() == form_of(kind).bytes;
}

}  // namespace dunlin::aws
