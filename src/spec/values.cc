#include "spec/values.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"

namespace dunlin::spec {
namespace {

constexpr uint64_t kExitMax = 255;

}  // namespace

Error unexpected() { return {Code::invalid, ""}; }

Result<std::string> text_of(const Json& value, size_t max) {
  if (!value.is_string()) return unexpected();
  const auto& text = value.get_ref<const std::string&>();
  const bool fits = !text.empty() && text.size() <= max;
  if (!fits || text.find('\0') != std::string::npos) return unexpected();
  return text;
}

Result<bool> flag_of(const Json& value) {
  if (!value.is_boolean()) return unexpected();
  return value.get<bool>();
}

Result<uint64_t> number_of(const Json& value, uint64_t least, uint64_t most) {
  const bool negative = value.is_number_integer() && !value.is_number_unsigned() && value < 0;
  if (!value.is_number_integer() || negative) return unexpected();
  const auto number = value.get<uint64_t>();
  if (number < least || number > most) return unexpected();
  return number;
}

Result<uint32_t> small_number_of(const Json& value, uint64_t least, uint64_t most) {
  return static_cast<uint32_t>(TRY(number_of(value, least, most)));
}

Result<std::string> word_of(const Json& value) {
  if (value.is_number_integer()) return value.dump();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_string()) return unexpected();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) {
    return Error{Code::invalid, "a word has a NUL byte, which a command cannot take"};
  }
  if (text.size() <= kTextMax) return text;
  return Error{Code::invalid, fmt::format("a word has {} bytes, and at most {} are possible: put "
                                          "it into a file",
                                          text.size(), kTextMax)};
}

Result<void> check_count(size_t count, size_t max) {
  if (count <= max) return {};
  return Error{Code::invalid, fmt::format("{} are too many: at most {}", count, max)};
}

Result<std::vector<std::string>> words_of(const Json& value, size_t max) {
  if (!value.is_array()) return unexpected();
  TRY(check_count(value.size(), max));
  std::vector<std::string> words;
  words.reserve(value.size());
  for (const Json& one : value) words.push_back(TRY(word_of(one)));
  return words;
}

Result<uint64_t> milliseconds_of(const Json& value) {
  const std::string text = TRY(text_of(value));
  return static_cast<uint64_t>(TRY(parse_duration(text)).count());
}

Result<uint64_t> size_of(const Json& value) {
  if (value.is_number_integer()) return number_of(value, 0, kNumberMax);
  const std::string text = TRY(word_of(value));
  return parse_size(text);
}

Result<std::vector<uint32_t>> parse_codes(std::string_view text) {
  std::vector<uint32_t> codes;
  const auto refuse = [&] {
    return Error{Code::invalid, fmt::format("the exit codes {} are not of 1 to {}: write them like "
                                            "1,2,100-120",
                                            quote(text), kExitMax)};
  };
  std::string_view rest = text;
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    const size_t dash = std::min(item.find('-'), item.size());
    const auto first = parse_number("the exit code", item.substr(0, dash));
    const auto last =
        dash == item.size() ? first : parse_number("the exit code", item.substr(dash + 1));
    if (!first.ok() || !last.ok()) return refuse();
    if (first.value() < 1 || first.value() > last.value() || last.value() > kExitMax) {
      return refuse();
    }
    for (uint64_t code = first.value(); code <= last.value(); ++code) {
      codes.push_back(static_cast<uint32_t>(code));
    }
    if (comma == rest.size()) return codes;
    rest.remove_prefix(comma + 1);
  }
}

std::string duration_text(uint64_t milliseconds) {
  struct Unit {
    uint64_t size;
    std::string_view name;
  };
  for (const Unit& unit :
       {Unit{24 * 3600 * 1000, "d"}, Unit{3600 * 1000, "h"}, Unit{60'000, "m"}, Unit{1000, "s"}}) {
    if (milliseconds > 0 && milliseconds % unit.size == 0) {
      return fmt::format("{}{}", milliseconds / unit.size, unit.name);
    }
  }
  return milliseconds == 0 ? "0" : fmt::format("{}ms", milliseconds);
}

}  // namespace dunlin::spec
