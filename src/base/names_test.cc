#include "base/names.h"

#include <gtest/gtest.h>

namespace dunlin {

TEST(Names, ANameHasLettersDigitsAndThreeMarks) {
  EXPECT_TRUE(is_name("AZaz09._-"));
  EXPECT_TRUE(is_name("x"));
  EXPECT_TRUE(is_name(std::string(64, 'x')));
  EXPECT_FALSE(is_name(""));
  EXPECT_FALSE(is_name(std::string(65, 'x')));
}

TEST(Names, EveryOtherByteMakesItNoName) {
  const std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'b'};
    EXPECT_EQ(is_name(text), allowed.find(text[1]) != std::string_view::npos) << byte;
  }
}

TEST(Names, VisibleIsAsciiWithoutSpaces) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte)};
    EXPECT_EQ(is_visible(text, 2), byte >= 0x21 && byte <= 0x7e) << byte;
  }
  EXPECT_FALSE(is_visible("", 2));
  EXPECT_FALSE(is_visible("abc", 2));
}

TEST(Names, AQuoteShowsOddBytesAndIsCut) {
  EXPECT_EQ(quote("plain text"), "\"plain text\"");
  EXPECT_EQ(quote(std::string_view("\0\n\xff", 3)), "\"\\x00\\x0a\\xff\"");
  EXPECT_EQ(quote("\"\\"), "\"\\x22\\x5c\"");
  EXPECT_EQ(quote(""), "\"\"");
  const std::string cut = quote(std::string(1000, 'x'));
  EXPECT_EQ(cut, "\"" + std::string(39, 'x') + "...\"");
  EXPECT_LT(quote(std::string(1000, '\n')).size(), 50U);
}

}  // namespace dunlin
