#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace dunlin {
namespace {

TEST(Text, ADurationIsAWholeNumberAndAUnit) {
  EXPECT_EQ(parse_duration("500ms").value(), Millis(500));
  EXPECT_EQ(parse_duration("90s").value(), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("5m").value(), std::chrono::minutes(5));
  EXPECT_EQ(parse_duration("2h").value(), std::chrono::hours(2));
  EXPECT_EQ(parse_duration("30d").value(), std::chrono::hours(24 * 30));
  EXPECT_EQ(parse_duration("0").value(), Millis(0));
  EXPECT_EQ(parse_duration("0s").value(), Millis(0));
}

TEST(Text, ABadDurationIsRefusedWithTheReason) {
  const auto why = [](std::string_view text) {
    const auto parsed = parse_duration(text);
    return parsed.ok() ? "accepted" : parsed.error().what;
  };
  EXPECT_NE(why("90").find("has no unit"), std::string::npos) << why("90");
  EXPECT_NE(why("5 m").find("unknown unit \" m\""), std::string::npos) << why("5 m");
  EXPECT_NE(why("5y").find("unknown unit \"y\""), std::string::npos) << why("5y");
  EXPECT_NE(why("1.5s").find("unknown unit \".5s\""), std::string::npos) << why("1.5s");
  for (const char* text : {"", "-5s", "+5s", "s", "five"}) {
    EXPECT_NE(why(text).find("does not begin with a whole number"), std::string::npos)
        << text << ": " << why(text);
  }
  for (const char* text : {"99999999999999999999s", "18446744073709551615h", "36501d"}) {
    EXPECT_NE(why(text).find("is too long"), std::string::npos) << why(text);
  }
}

TEST(Text, ANumberHasOnlyDigitsAndFits) {
  EXPECT_EQ(parse_number("token", "0").value(), 0U);
  EXPECT_EQ(parse_number("token", "18446744073709551615").value(), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", "1x", " 1", "18446744073709551616"}) {
    const auto parsed = parse_number("token", text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().what.find("token"), 0U) << parsed.error().what;
  }
}

TEST(Text, ASizeIsAWholeNumberAndAPowerOf1024) {
  EXPECT_EQ(parse_size("0").value(), 0U);
  EXPECT_EQ(parse_size("100").value(), 100U);
  EXPECT_EQ(parse_size("100B").value(), 100U);
  EXPECT_EQ(parse_size("1K").value(), 1024U);
  EXPECT_EQ(parse_size("512M").value(), uint64_t{512} << 20);
  EXPECT_EQ(parse_size("4G").value(), uint64_t{4} << 30);
  EXPECT_EQ(parse_size("4GiB").value(), uint64_t{4} << 30);
  EXPECT_EQ(parse_size("16383P").value(), uint64_t{16383} << 50);
  for (const char* text : {"", "G", "-1G", "4 G", "4GB", "4g", "4KM", "16384P", "4iB", "1.5G",
                           "99999999999999999999"}) {
    const auto parsed = parse_size(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().what.find("the size "), 0U) << parsed.error().what;
  }
}

TEST(Text, TheNearestWordIsOneThatWasProbablyMeant) {
  constexpr std::array<std::string_view, 4> kKnown = {"timeout", "retries", "retry_on", "cwd"};
  EXPECT_EQ(nearest("timout", kKnown), "timeout");
  EXPECT_EQ(nearest("retires", kKnown), "retries");
  EXPECT_EQ(nearest("cdw", kKnown), "");
  EXPECT_EQ(nearest("colour", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(1000, 't'), kKnown), "");
}

TEST(Text, TimesAreShownInTheirTwoLargestUnits) {
  using namespace std::chrono_literals;
  EXPECT_EQ(human_time(0), "0s");
  EXPECT_EQ(human_time(-5), "0s");
  EXPECT_EQ(human_time(0.0061), "6.1ms");
  EXPECT_EQ(human_time(0.0111), "11ms");
  EXPECT_EQ(human_time(0.0999), "0.1s");
  EXPECT_EQ(human_time(0.25), "0.25s");
  EXPECT_EQ(human_time(42.4), "42s");
  EXPECT_EQ(human_time(310), "5m10s");
  EXPECT_EQ(human_time(12'000), "3h20m");
  EXPECT_EQ(human_time(190'000), "2d04h");
  EXPECT_EQ(human_time(-5ms), "0s");
  EXPECT_EQ(human_time(420ms), "0.42s");
  EXPECT_EQ(human_time(9949ms), "9.9s");
  EXPECT_EQ(human_time(9950ms), "9.9s");
  EXPECT_EQ(human_time(9960ms), "10s");
  EXPECT_EQ(human_time(59'499ms), "59s");
  EXPECT_EQ(human_time(59'999ms), "1m00s");
  EXPECT_EQ(human_time(245s), "4m05s");
  EXPECT_EQ(human_time(123min), "2h03m");
  EXPECT_EQ(human_time(76h), "3d04h");
}

TEST(Text, SizesAreShownWithOneDecimalAndTheirUnit) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1023), "1023 B");
  EXPECT_EQ(human_size(1024), "1.0 KiB");
  EXPECT_EQ(human_size(1536), "1.5 KiB");
  EXPECT_EQ(human_size((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_size(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(human_size(UINT64_MAX), "16.0 EiB");
}

TEST(Text, OnlyWellFormedUtf8IsUtf8) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\xa6"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
  for (const char* text :
       {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text)) << escape(text);
  }
}

TEST(Text, Base64IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("\xff\xfe\xfd"), "//79");
}

TEST(Text, EscapedTextIsOneLineAndHarmlessToATerminal) {
  EXPECT_EQ(escape("a\tb\nc\\d"), "a\\tb\\nc\\\\d");
  EXPECT_EQ(escape("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(escape("\xc3\xa9\xff"), "\xc3\xa9\\xff");
  EXPECT_EQ(escape("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(escape(std::string_view("\0", 1)), "\\x00");
}

TEST(Text, WhatIsShortenedStaysUtf8WhereverItIsCut) {
  EXPECT_EQ(shorten("short", 5), "short");
  EXPECT_EQ(shorten("longer", 5), "lo...");
  EXPECT_EQ(shorten("a\xff", 10), "a\\xff");
  std::string long_one = "x";
  for (int i = 0; i < 300; ++i) long_one += "\xc3\xa4";
  for (size_t max = 3; max < 20; ++max) {
    for (const std::string& text : {long_one, long_one.substr(1), '\xff' + long_one}) {
      const std::string cut = shorten(text, max);
      EXPECT_LE(cut.size(), max);
      EXPECT_GE(cut.size() + 1, max);
      EXPECT_TRUE(is_utf8(cut)) << escape(cut);
    }
  }
}

TEST(Text, OfALongPathBothEndsAreShown) {
  EXPECT_EQ(quote_path("/home/ann/\xc3\xa4 b"), "\"/home/ann/\xc3\xa4 b\"");
  EXPECT_EQ(quote_path("/a\n"), "\"/a\\n\"");
  const std::string path = "/home/ann/" + std::string(200, 'x') + "/results/run-17";
  const std::string shown = quote_path(path);
  EXPECT_EQ(shown.find("\"/home/ann/xxx"), 0U);
  EXPECT_NE(shown.find("xxx...xxx"), std::string::npos);
  EXPECT_TRUE(shown.ends_with("xx/results/run-17\"")) << shown;
  std::string odd = "/";
  for (int i = 0; i < 100; ++i) odd += "\xe2\x82\xac";
  EXPECT_TRUE(is_utf8(quote_path(odd))) << escape(quote_path(odd));
}

}  // namespace
}  // namespace dunlin
