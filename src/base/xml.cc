#include "base/xml.h"

namespace dunlin {

namespace {

constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
}

// U+FFFE and U+FFFF.
bool begins_with_none(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

}  // namespace

void append_xml(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\r') {
      out += "&#13;";
    } else if (is_control(c)) {
      out += kNoCharacter;
    } else if (begins_with_none(text.substr(i))) {
      out += kNoCharacter;
      i += 2;
    } else {
      out += c;
    }
  }
}

std::string xml_text(std::string_view text) {
  std::string out;
  append_xml(text, out);
  return out;
}

}  // namespace dunlin
