#include "base/digest.h"

#include <absl/strings/escaping.h>
#include <algorithm>
#include <array>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "base/text.h"

namespace dunlin {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hash(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, kind, nullptr) == 1);
  return {reinterpret_cast<const char*>(out.data()), size};
}

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1U) != 0 ? 0xedb88320U ^ (sum >> 1U) : sum >> 1U;
    table[i] = sum;
  }
  return table;
}

}  // namespace

std::string sha256(std::string_view bytes) { return hash(EVP_sha256(), bytes); }
std::string md5(std::string_view bytes) { return hash(EVP_md5(), bytes); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
             out.data(), &size) != nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string hex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0 || text.find_first_not_of(kHexDigits) != std::string_view::npos) {
    return std::nullopt;
  }
  return absl::HexStringToBytes({text.data(), text.size()});
}

std::optional<std::string> from_base64(std::string_view text) {
  // absl skips white space, and takes '.' for '='.
  const size_t digits = std::min(text.find_first_not_of(kBase64Digits), text.size());
  const std::string_view padding = text.substr(digits);
  std::string bytes;
  if (text.size() % 4 != 0 || (padding != "" && padding != "=" && padding != "==") ||
      !absl::Base64Unescape({text.data(), text.size()}, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size)) == 1);
  return bytes;
}

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Digest::Digest(Kind kind) : kind_(kind), context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr);
  begin();
}

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

void Digest::begin() {
  const EVP_MD* kind = kind_ == Kind::md5 ? EVP_md5() : EVP_sha256();
  CHECK(EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
}

void Digest::update(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), &size) == 1);
  begin();
  return {reinterpret_cast<const char*>(out.data()), size};
}

uint32_t crc32(uint32_t before, std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t sum = ~before;
  for (const char c : bytes) {
    sum = kTable[(sum ^ static_cast<unsigned char>(c)) & 255U] ^ (sum >> 8U);
  }
  return ~sum;
}

std::string crc32_base64(uint32_t sum) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(sum >> shift & 255U);
  return to_base64(bytes);
}

}  // namespace dunlin
