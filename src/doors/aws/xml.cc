#include "doors/aws/xml.h"

#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/xml.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kNamespace = "http://s3.amazonaws.com/doc/2006-03-01/";

struct Entity {
  std::string_view name;
  char c;
};
constexpr std::array<Entity, 5> kEntities = {
    {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};

void append_utf8(uint32_t point, std::string& out) {
  const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0U | point >> 6U);
  } else if (point < 0x10000) {
    add(0xe0U | point >> 12U);
    add(0x80U | (point >> 6U & 0x3fU));
  } else {
    add(0xf0U | point >> 18U);
    add(0x80U | (point >> 12U & 0x3fU));
    add(0x80U | (point >> 6U & 0x3fU));
  }
  add(0x80U | (point & 0x3fU));
}

bool append_entity(std::string_view name, std::string& out) {
  for (const Entity& entity : kEntities) {
    if (entity.name != name) continue;
    out += entity.c;
    return true;
  }
  if (!name.starts_with('#')) return false;
  const bool base16 = name.starts_with("#x");
  name.remove_prefix(base16 ? 2 : 1);
  uint32_t point = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, point, base16 ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != end || point > 0x10ffff) return false;
  append_utf8(point, out);
  return true;
}

}  // namespace

Xml& Xml::open(std::string_view name) {
  text_ += '<';
  text_ += name;
  if (std::exchange(first_, false) && name != "Error") {
    text_ += fmt::format(" xmlns=\"{}\"", kNamespace);
  }
  text_ += '>';
  return *this;
}

Xml& Xml::close(std::string_view name) {
  text_ += fmt::format("</{}>", name);
  return *this;
}

Xml& Xml::leaf(std::string_view name, std::string_view text) {
  open(name);
  append_xml(text, text_);
  return close(name);
}

Xml& Xml::leaf(std::string_view name, uint64_t number) {
  return leaf(name, fmt::to_string(number));
}

HttpReply xml_reply(int status, const Xml& xml) {
  return {
      .status = status,
      .headers = {{"content-type", "application/xml"}, {"x-amz-request-id", hex(random_bytes(8))}},
      .body = xml.text(),
      .length = {}};
}

std::optional<std::string_view> next_element(std::string_view& rest, std::string_view name) {
  const std::string begin = fmt::format("<{}", name);
  const std::string end = fmt::format("</{}>", name);
  for (size_t at = rest.find(begin); at != std::string_view::npos;
       at = rest.find(begin, at + begin.size())) {
    const size_t after = at + begin.size();
    if (after >= rest.size()) return std::nullopt;
    if (rest[after] != '>' && rest[after] != ' ' && rest[after] != '/') continue;
    const size_t close = rest.find('>', after);
    if (close == std::string_view::npos) return std::nullopt;
    if (rest[close - 1] == '/') {
      rest.remove_prefix(close + 1);
      return std::string_view();
    }
    const size_t last = rest.find(end, close + 1);
    if (last == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest.substr(close + 1, last - close - 1);
    rest.remove_prefix(last + end.size());
    return inside;
  }
  return std::nullopt;
}

std::optional<std::string> element_text(std::string_view inside, std::string_view name) {
  const std::optional<std::string_view> text = next_element(inside, name);
  if (!text) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < text->size(); ++i) {
    if ((*text)[i] == '<') return std::nullopt;
    if ((*text)[i] != '&') {
      out += (*text)[i];
      continue;
    }
    const size_t end = text->find(';', i);
    if (end == std::string_view::npos || !append_entity(text->substr(i + 1, end - i - 1), out)) {
      return std::nullopt;
    }
    i = end;
  }
  return out;
}

}  // namespace dunlin::aws
