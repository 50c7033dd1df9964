// Building and reading byte formats: little-endian integers, varints, and strings with their size.
//
// ByteReader never reads past its end: it fails instead, once, and stays failed. So a decoder reads
// all fields and asks ok() at the end.
//
// Pure. A reader belongs to one thread.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dunlin {

static_assert(std::endian::native == std::endian::little, "formats are little-endian as they are");

template <std::unsigned_integral T>
void append_fixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <std::unsigned_integral T>
void overwrite_fixed(std::string& out, size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof(T));
}

inline void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

inline void append_sized(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

  template <std::unsigned_integral T>
  T fixed() {
    T value = 0;
    if (rest_.size() < sizeof(T)) return fail(value);
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return fail(uint64_t{0});
  }

  std::string_view sized() {
    const uint64_t size = varint();
    if (size > rest_.size()) return fail(std::string_view());
    return take(size);
  }

  // All that is left.
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  template <typename T>
  T fail(T value) {
    ok_ = false;
    rest_ = {};
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace dunlin
