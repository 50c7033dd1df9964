// What the fuzz targets share. A target is one LLVMFuzzerTestOneInput and its seeds().
//
// The fuzz preset links it with libFuzzer, which looks for inputs that break it (scripts/fuzz).
// Every other build links it with replay.cc, which runs the seeds and the inputs kept in corpus/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace dunlin {

// Good inputs to begin with, of every kind that the target knows.
std::vector<std::string> seeds();

// Turns the input into choices. After its end every choice is the first one, so every input means
// something.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }

  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  size_t below(size_t limit) { return limit < 2 ? 0 : number() % limit; }

  // Small ones take one byte, and so do those next to 2^64, 2^63 and 2^32.
  uint64_t number() {
    const uint8_t first = byte();
    if (first < kLongNumber) return first;
    if (first > kLongNumber) {
      constexpr uint64_t kEdges[] = {0, 1ULL << 63U, 1ULL << 32U};
      return kEdges[first % 3] - (first / 3) % 2;
    }
    uint64_t value = 0;
    std::memcpy(&value, rest_.data(), std::min(rest_.size(), sizeof(value)));
    rest_.remove_prefix(std::min(rest_.size(), sizeof(value)));
    return value;
  }
  std::string_view bytes(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view sized() { return bytes(number()); }
  std::string_view rest() { return bytes(rest_.size()); }

  static constexpr uint8_t kLongNumber = 0xf8;

 private:
  std::string_view rest_;
};

// Writes what Input reads.
class Output {
 public:
  Output& byte(size_t value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  Output& number(uint64_t value) {
    if (value < Input::kLongNumber) return byte(value);
    byte(Input::kLongNumber);
    append_fixed(bytes_, value);
    return *this;
  }
  Output& sized(std::string_view bytes) { return number(bytes.size()).raw(bytes); }
  Output& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace dunlin
