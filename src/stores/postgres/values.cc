#include "stores/postgres/values.h"

#include <bit>
#include <cstring>

namespace dunlin::postgres {
namespace {

constexpr uint32_t kByteaType = 17;
constexpr uint32_t kInt8Type = 20;
constexpr uint32_t kTextType = 25;

// As the network has it: the highest byte first.
template <typename T>
void append_big(std::string& out, T value) {
  for (size_t shift = sizeof(T) * 8; shift > 0; shift -= 8) {
    out += static_cast<char>(static_cast<uint64_t>(value) >> (shift - 8) & 0xff);
  }
}

std::string number_bytes(int64_t value) {
  std::string bytes;
  append_big(bytes, value);
  return bytes;
}

}  // namespace

PgParams& PgParams::number(int64_t value) {
  values_.push_back(number_bytes(value));
  return *this;
}

PgParams& PgParams::text(std::string_view value) {
  values_.emplace_back(value);
  return *this;
}

PgParams& PgParams::numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> bytes;
  bytes.reserve(values.size());
  for (const int64_t value : values) bytes.push_back(number_bytes(value));
  return array(kInt8Type, {bytes.begin(), bytes.end()});
}

PgParams& PgParams::texts(const std::vector<std::string_view>& values) {
  return array(kTextType, values);
}

PgParams& PgParams::bytes(const std::vector<std::string_view>& values) {
  return array(kByteaType, values);
}

PgParams& PgParams::array(uint32_t type, const std::vector<std::string_view>& values) {
  std::string out;
  append_big<uint32_t>(out, values.empty() ? 0 : 1);  // Dimensions.
  append_big<uint32_t>(out, 0);                       // No nulls.
  append_big<uint32_t>(out, type);
  if (!values.empty()) {
    append_big<uint32_t>(out, static_cast<uint32_t>(values.size()));
    append_big<uint32_t>(out, 1);  // The first index.
    for (const std::string_view value : values) {
      append_big<uint32_t>(out, static_cast<uint32_t>(value.size()));
      out += value;
    }
  }
  values_.push_back(std::move(out));
  return *this;
}

int64_t PgRows::number(int row, int column) const {
  uint64_t value = 0;
  for (const char c : text(row, column)) value = value << 8 | static_cast<uint8_t>(c);
  return std::bit_cast<int64_t>(value);
}

}  // namespace dunlin::postgres
