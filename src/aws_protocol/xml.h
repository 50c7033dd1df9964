// The little XML that S3 speaks: documents written by hand, and documents of strangers read within
// bounds. Pure; from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin::aws {

class Xml {
 public:
  Xml& open(std::string_view name);  // The first one gets S3's namespace, but for Error.
  Xml& close(std::string_view name);
  Xml& leaf(std::string_view name, std::string_view text);
  Xml& leaf(std::string_view name, uint64_t number);

  const std::string& text() const { return text_; }

 private:
  std::string text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  bool first_ = true;
};

// An element of a document that was read. Attributes, comments and processing instructions are
// left out; names are without their prefixes.
struct XmlElement {
  std::string name = {};
  std::optional<std::string> text =
      {};  // None: it has elements, or a reference that means nothing.
  std::vector<XmlElement> children = {};

  // The first child of that name, and the first element of that name in the document's order,
  // itself included; null if there is none.
  const XmlElement* child(std::string_view name) const;
  const XmlElement* find(std::string_view name) const;

  // The text of the first child of that name; none if there is no such child, or it has no text.
  std::optional<std::string> text_of(std::string_view name) const;
};

inline constexpr size_t kXmlBytesMax = 16 << 20;
inline constexpr size_t kXmlElementsMax = 200'000;
inline constexpr size_t kXmlDepthMax = 32;

// The outermost element of a whole document in UTF-8. None if it is not one, is larger or deeper
// than the bounds, or has a DOCTYPE: entities are never declared here, and never fetched.
std::optional<XmlElement> read_xml(std::string_view bytes);

}  // namespace dunlin::aws
