#include "base/digest.h"

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

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

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
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const int digit = pad ? 0 : base64_digit(text[i]);
    if (digit < 0) return std::nullopt;
    bits = bits << 6U | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(bits >> shift & 255U);
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
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
