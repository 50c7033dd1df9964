#include "base/xml.h"

namespace dunlin {

void append_xml(std::string_view text, std::string& out) {
  for (const char c : text) {
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
    } else {
      out += c;
    }
  }
}

}  // namespace dunlin
