#include "base/xml.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

std::string xml(std::string_view text) {
  std::string out = "so: ";
  append_xml(text, out);
  return out.substr(4);
}

TEST(Xml, WhatMeansSomethingIsWrittenAsItsName) {
  EXPECT_EQ(xml("a < b & \"c\" > d\r\n\t\x7f \u00e9"),
            "a &lt; b &amp; &quot;c&quot; &gt; d&#13;\n\t\x7f \u00e9");
}

TEST(Xml, WhatXmlCannotHoldIsToldApart) {
  EXPECT_EQ(xml(std::string_view("a\x01"
                                 "b\0c\x1f",
                                 6)),
            "a\uFFFDb\uFFFDc\uFFFD");
  EXPECT_EQ(xml("\xEF\xBF\xBE.\xEF\xBF\xBF\xEF\xBF\xBD\xEF\xBF"), "\uFFFD.\uFFFD\uFFFD\xEF\xBF");
}

}  // namespace
}  // namespace dunlin
