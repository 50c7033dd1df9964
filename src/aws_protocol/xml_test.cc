#include "aws_protocol/xml.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace dunlin::aws {
namespace {

XmlElement right(std::string_view text) {
  const std::optional<XmlElement> root = read_xml(text);
  EXPECT_TRUE(root) << text;
  return root.value_or(XmlElement());
}

std::string nested(size_t depth) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += "<a>";
  for (size_t i = 0; i < depth; ++i) text += "</a>";
  return text;
}

TEST(ReadXml, ADocumentHasElementsAndTexts) {
  const XmlElement root = right(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
      "  <Quiet>true</Quiet><Object><Key>one</Key></Object><Object><Key>two</Key></Object>\n"
      "</Delete>\n");
  EXPECT_EQ(root.name, "Delete");
  EXPECT_EQ(root.text, std::nullopt);
  ASSERT_EQ(root.children.size(), 3U);
  EXPECT_EQ(root.text_of("Quiet"), "true");
  EXPECT_EQ(root.text_of("Object"), std::nullopt);
  EXPECT_EQ(root.text_of("Key"), std::nullopt);
  EXPECT_EQ(root.children[2].text_of("Key"), "two");
  EXPECT_EQ(root.child("Object"), &root.children[1]);
  EXPECT_EQ(root.child("object"), nullptr);
  ASSERT_NE(root.find("Key"), nullptr);
  EXPECT_EQ(root.find("Key")->text, "one");
  EXPECT_EQ(root.find("Delete"), &root);
  EXPECT_EQ(root.find("Nothing"), nullptr);
}

TEST(ReadXml, WhatIsWrittenIsReadAgain) {
  const std::string text = " <&>\"'\r\n\t ]]> \u00e9";
  Xml xml;
  xml.open("ListBucketResult").leaf("Key", text).leaf("Size", 7);
  const XmlElement root = right(xml.close("ListBucketResult").text());
  EXPECT_EQ(root.text_of("Key"), text);
  EXPECT_EQ(root.text_of("Size"), "7");
}

TEST(ReadXml, PrefixesAreNoPartOfNames) {
  const XmlElement root =
      right("<s3:Delete xmlns:s3=\"urn:x\"><s3:Object><s3:Key>k</s3:Key></s3:Object></s3:Delete>");
  EXPECT_EQ(root.name, "Delete");
  ASSERT_NE(root.child("Object"), nullptr);
  EXPECT_EQ(root.child("Object")->text_of("Key"), "k");
  EXPECT_EQ(right("<a><Keys>no</Keys><Key>yes</Key></a>").text_of("Key"), "yes");
}

TEST(ReadXml, CommentsAndInstructionsAreLeftOut) {
  const XmlElement root = right(
      "<!-- <Key>no</Key> --><?go <Key>no</Key> ?><a><!-- <Key>no</Key> --><Key>y<!-- - -->es"
      "<?go?></Key></a><!-- -->");
  EXPECT_EQ(root.children.size(), 1U);
  EXPECT_EQ(root.text_of("Key"), "yes");
}

TEST(ReadXml, CdataIsText) {
  EXPECT_EQ(right("<a><Key><![CDATA[<b>&amp;]]></Key></a>").text_of("Key"), "<b>&amp;");
  EXPECT_EQ(right("<a><Key>x<![CDATA[]]>&lt;<![CDATA[>]]></Key></a>").text_of("Key"), "x<>");
  EXPECT_EQ(right("<a><![CDATA[<Key>no</Key>]]></a>").find("Key"), nullptr);
}

TEST(ReadXml, WhiteSpaceMayStandInTagsAndIsKeptInTexts) {
  const XmlElement root =
      right("\n <a\n>\t<Part\n x = '<>' ><N >1</N\n></Part \t><Empty\n/></a >\n");
  ASSERT_NE(root.child("Part"), nullptr);
  EXPECT_EQ(root.child("Part")->text_of("N"), "1");
  EXPECT_EQ(root.text_of("Empty"), "");
  EXPECT_EQ(right("<a><Key> </Key></a>").text_of("Key"), " ");
  EXPECT_EQ(right("<a><Key>  x\ty  </Key></a>").text_of("Key"), "  x\ty  ");
  EXPECT_EQ(right("<a><Key>\n</Key></a>").text_of("Key"), "\n");
}

TEST(ReadXml, ReferencesMeanCharacters) {
  EXPECT_EQ(right("<a><Key>&amp;&lt;&gt;&quot;&apos;&#78;&#x4e;&#xE9;&#x20AC;&#x1F600;</Key></a>")
                .text_of("Key"),
            "&<>\"'NN\u00e9\u20ac\U0001F600");
  EXPECT_EQ(right("<a><Key>&amp;lt;</Key></a>").text_of("Key"), "&lt;");
  for (const char* text : {"&nope;", "&amp", "&", "a & b", "&;", "&#;", "&#x;", "&#xg;",
                           "&#1114112;", "&#-1;", "&AMP;", "&#99999999999;", "& amp;"}) {
    const XmlElement root = right(fmt::format("<a><Key>{}</Key><Key2>x</Key2></a>", text));
    EXPECT_EQ(root.text_of("Key"), std::nullopt) << text;
    EXPECT_EQ(root.text_of("Key2"), "x") << text;
  }
}

TEST(ReadXml, EntitiesAreNeverDeclared) {
  for (const char* text :
       {"<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY x \"y\">]><a><Key>&x;</Key></a>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<?xml version=\"1.0\"?><!-- --><!DOCTYPE a><a/>", "<a><!DOCTYPE b></a>",
        "<!ENTITY x \"y\"><a/>", "<a/><!DOCTYPE a>"}) {
    EXPECT_FALSE(read_xml(text)) << text;
  }
  EXPECT_TRUE(read_xml("<a><![CDATA[<!DOCTYPE a>]]><!-- <!DOCTYPE a> --></a>"));
}

TEST(ReadXml, WhatIsNoWholeDocumentIsRefused) {
  for (const char* text : {"",
                           " ",
                           "text",
                           "<",
                           "<a",
                           "<a>",
                           "<a/",
                           "</a>",
                           "<a></b>",
                           "<a><b></a></b>",
                           "<a></a",
                           "<>",
                           "< a/>",
                           "<a/><b/>",
                           "<a x></a>",
                           "<a x=1></a>",
                           "<a x='1></a>",
                           "<a><!-- </a>",
                           "<!-- <a/>",
                           "<a><![CDATA[</a>",
                           "<a><?go</a>",
                           "<a>&amp;",
                           "{\"a\":1}",
                           "<1/>"}) {
    EXPECT_FALSE(read_xml(text)) << text;
  }
  EXPECT_FALSE(read_xml(std::string_view("<a>\0</a>", 8)));
  EXPECT_FALSE(read_xml(std::string_view("<a/>\0<b/>", 9)));
}

TEST(ReadXml, EveryTruncationIsRefused) {
  const std::string whole =
      "<?xml version=\"1.0\"?><Delete><Object><Key><![CDATA[a]]>&amp;</Key></Object></Delete>";
  ASSERT_TRUE(read_xml(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_xml(whole.substr(0, size))) << size;
  }
}

TEST(ReadXml, DepthAndSizeAreBounded) {
  EXPECT_TRUE(read_xml(nested(kXmlDepthMax)));
  EXPECT_FALSE(read_xml(nested(kXmlDepthMax + 1)));
  EXPECT_FALSE(read_xml(nested(kXmlElementsMax)));
  std::string wide = "<a>";
  for (size_t i = 0; i < 100'000; ++i) wide += "<b/>";
  EXPECT_EQ(right(wide + "</a>").children.size(), 100'000U);
  for (size_t i = 0; i < 2 * kXmlElementsMax; ++i) wide += "<b/>";
  EXPECT_FALSE(read_xml(wide + "</a>"));
  EXPECT_FALSE(read_xml("<a>" + std::string(kXmlBytesMax, 'x') + "</a>"));
}

}  // namespace
}  // namespace dunlin::aws
