#include "aws_protocol/xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <pugixml.hpp>
#include <utility>

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

// Appends the text of a node, with what its references stand for.
bool append_text(std::string_view text, std::string& out) {
  while (true) {
    const size_t begin = text.find('&');
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return true;
    text.remove_prefix(begin + 1);
    const size_t end = text.find(';');
    if (end == std::string_view::npos || !append_entity(text.substr(0, end), out)) return false;
    text.remove_prefix(end + 1);
  }
}

std::string_view bare_name(std::string_view name) { return name.substr(name.find(':') + 1); }

// False if it is deeper than the bound.
bool read_element(const pugi::xml_node& node, size_t depth, XmlElement& element) {
  if (depth > kXmlDepthMax) return false;
  element.name = bare_name(node.name());
  std::string text;
  bool plain = true;
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_element) {
      plain = false;
      if (!read_element(child, depth + 1, element.children.emplace_back())) return false;
    } else if (child.type() == pugi::node_cdata) {
      text += child.value();
    } else {
      plain = plain && append_text(child.value(), text);
    }
  }
  if (plain) element.text = std::move(text);
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

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto found = std::ranges::find(children, wanted, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

const XmlElement* XmlElement::find(std::string_view wanted) const {
  if (name == wanted) return this;
  for (const XmlElement& one : children) {
    if (const XmlElement* found = one.find(wanted)) return found;
  }
  return nullptr;
}

std::optional<std::string> XmlElement::text_of(std::string_view wanted) const {
  const XmlElement* found = child(wanted);
  return found == nullptr ? std::nullopt : found->text;
}

std::optional<XmlElement> read_xml(std::string_view bytes) {
  // Each element has at least one '<'; the parser ends at a zero byte.
  if (bytes.size() > kXmlBytesMax || bytes.find('\0') != std::string_view::npos ||
      std::ranges::count(bytes, '<') > static_cast<ptrdiff_t>(2 * kXmlElementsMax)) {
    return std::nullopt;
  }
  constexpr unsigned kParts =
      pugi::parse_cdata | pugi::parse_eol | pugi::parse_ws_pcdata_single | pugi::parse_doctype;
  pugi::xml_document document;
  if (!document.load_buffer(bytes.data(), bytes.size(), kParts, pugi::encoding_utf8)) {
    return std::nullopt;
  }
  std::optional<XmlElement> root;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() != pugi::node_element || root) return std::nullopt;
    if (!read_element(node, 1, root.emplace())) return std::nullopt;
  }
  return root;
}

}  // namespace dunlin::aws
