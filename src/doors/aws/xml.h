// The little XML that S3 speaks: documents built by hand, and documents of a few known elements
// read. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/http.h"

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

HttpReply xml_reply(int status, const Xml& xml);

// Takes the next element of that name off `rest` and returns what is inside; nothing if there is
// none. Elements of the same name do not stand in each other.
std::optional<std::string_view> next_element(std::string_view& rest, std::string_view name);

// The text of the first element of that name; nothing if there is none or it is no text.
std::optional<std::string> element_text(std::string_view inside, std::string_view name);

}  // namespace dunlin::aws
