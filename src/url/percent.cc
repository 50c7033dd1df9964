#include "url/percent.h"

#include <algorithm>

#include "base/digest.h"

namespace dunlin {
namespace {

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encode(std::string_view bytes, bool keep_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    if (unreserved(c) || (keep_slash && c == '/')) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> percent_decode(std::string_view text) { return hex_decode(text, "%"); }

std::optional<std::string> hex_decode(std::string_view text, std::string_view marks) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (marks.find(text[i]) == std::string_view::npos) {
      bytes += text[i];
      continue;
    }
    const std::optional<std::string> byte = from_hex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) return std::nullopt;
    bytes += *byte;
    i += 2;
  }
  return bytes;
}

std::optional<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (one.empty()) continue;
    const size_t equals = std::min(one.find('='), one.size());
    std::optional<std::string> name = percent_decode(one.substr(0, equals));
    std::optional<std::string> value = percent_decode(one.substr(std::min(one.size(), equals + 1)));
    if (!name || !value) return std::nullopt;
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

const std::string* find(const Query& query, std::string_view name) {
  const auto found = std::ranges::find(query, name, &Query::value_type::first);
  return found == query.end() ? nullptr : &found->second;
}

}  // namespace dunlin
