#include "base/text.h"

#include <absl/strings/escaping.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>
#include <vector>

#include "base/names.h"

namespace dunlin {
namespace {

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr int64_t kDurationMax = int64_t{36'500} * 86'400'000;  // A century.

// The size of the UTF-8 character at the front; 0 if there is none.
size_t front_character(std::string_view bytes) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < size) return 0;
  for (size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

// How many letters must be added, dropped or changed to make one of the other.
size_t distance(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < one.size(); ++i) {
    size_t corner = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t changed = corner + (one[i] == other[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, corner + 1, row[j] + 1});
    }
  }
  return row.back();
}

constexpr size_t kPathMax = 100;

// Whether a character of UTF-8 does not begin here.
bool is_inside_character(char byte) { return (static_cast<uint8_t>(byte) & 0xc0U) == 0x80U; }

// The size of the longest front of whole characters. REQUIRES: `text` is UTF-8, and longer.
size_t front_of(std::string_view text, size_t size) {
  while (size > 0 && is_inside_character(text[size])) --size;
  return size;
}

}  // namespace

Result<Millis> parse_duration(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::invalid, fmt::format("the duration {} {}: write it like 500ms, 90s, 5m or "
                                            "2h",
                                            quote(text), why)};
  };
  uint64_t count = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed == std::errc::result_out_of_range) return refuse("is too long");
  if (failed != std::errc()) return refuse("does not begin with a whole number");
  const std::string_view name(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (name.empty()) {
    if (count == 0) return Millis(0);
    return refuse("has no unit");
  }
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (count > static_cast<uint64_t>(kDurationMax / unit.ms)) return refuse("is too long");
    return Millis(static_cast<int64_t>(count) * unit.ms);
  }
  return refuse(fmt::format("has the unknown unit {}", quote(name)));
}

Result<uint64_t> parse_size(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::invalid,
                 fmt::format("the size {} {}: write it like 512M, 4G or 1T", quote(text), why)};
  };
  uint64_t count = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed == std::errc::result_out_of_range) return refuse("is too large");
  if (failed != std::errc()) return refuse("does not begin with a whole number");
  std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (unit.size() == 3 && unit.ends_with("iB")) unit.remove_suffix(2);
  if (unit.empty() || unit == "B") return count;
  const size_t power = std::string_view("KMGTP").find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) {
    return refuse(fmt::format("has the unknown unit {}", quote(unit)));
  }
  const auto shift = static_cast<unsigned>(10 * (power + 1));
  if (count > UINT64_MAX >> shift) return refuse("is too large");
  return count << shift;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kLettersMax = 64;
  std::string_view best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  if (word.size() > kLettersMax) return best;
  for (const std::string_view one : known) {
    if (const size_t letters = distance(word, one); letters < least) {
      least = letters;
      best = one;
    }
  }
  return best;
}

Result<uint64_t> parse_number(std::string_view what, std::string_view text) {
  uint64_t number = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc() && rest == text.data() + text.size()) return number;
  return Error{Code::invalid,
               fmt::format("{} {} is not a number from 0 to {}", what, quote(text), UINT64_MAX)};
}

uint64_t fingerprint(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

std::string count_of(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string human_time(double seconds) {
  constexpr double kMax = 1e12;
  if (!(seconds > 0)) return "0s";
  if (seconds < 0.0995) return fmt::format("{:.2g}ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.2g}s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(std::min(seconds, kMax)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86'400) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d{:02}h", whole / 86'400, whole % 86'400 / 3600);
}

std::string human_size(uint64_t bytes) {
  constexpr std::array<const char*, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto shown = static_cast<double>(bytes) / 1024;
  size_t name = 0;
  for (; shown >= 1023.95 && name + 1 < kNames.size(); ++name) shown /= 1024;
  return fmt::format("{:.1f} {}", shown, kNames.at(name));
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t size = front_character(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::string escape(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t size = front_character(bytes);
    const auto first = static_cast<uint8_t>(bytes.front());
    if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (first == '\\') {
      out += "\\\\";
    } else if (size == 0 || first < 0x20 || first == 0x7f) {
      out += fmt::format("\\x{:02x}", first);
    } else if (first == 0xc2 && static_cast<uint8_t>(bytes[1]) < 0xa0) {  // Terminals obey these.
      out += fmt::format("\\xc2\\x{:02x}", static_cast<uint8_t>(bytes[1]));
    } else {
      out += bytes.substr(0, size);
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string shorten(std::string text, size_t max) {
  if (!is_utf8(text)) text = escape(text);
  if (text.size() <= max) return text;
  text.resize(front_of(text, max - 3));
  return text + "...";
}

std::string quote_path(std::string_view path) {
  std::string text = escape(path);
  if (text.size() > kPathMax) {
    size_t back = text.size() - kPathMax / 2;
    while (is_inside_character(text[back])) ++back;
    text = text.substr(0, front_of(text, kPathMax / 2)) + "..." + text.substr(back);
  }
  return '"' + text + '"';
}

}  // namespace dunlin
