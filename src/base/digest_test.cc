#include "base/digest.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace dunlin {
namespace {

TEST(Digest, HexIsReadInBothCasesAndWrittenInSmallLetters) {
  EXPECT_EQ(hex(std::string_view("\x00\x7f\xab\xff", 4)), "007fabff");
  EXPECT_EQ(from_hex("007FabFF"), std::string("\x00\x7f\xab\xff", 4));
  EXPECT_EQ(from_hex(""), "");
  for (const char* bad : {"0", "0g", "abc", " 00", "00 ", "0x00", "-1", "\xff\xff", "+0"}) {
    EXPECT_EQ(from_hex(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(from_hex(std::string_view("00\0\0", 4)), std::nullopt);
}

TEST(Digest, Base64IsReadOnlyAsItIsWritten) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm8="), "fo");
  EXPECT_EQ(from_base64("Zm9v"), "foo");
  EXPECT_EQ(from_base64("//79"), "\xff\xfe\xfd");
  for (const char* bad :
       {"Zg", "Zg=", "Zg==\n", "Zg==    ", " Zg==", "Zm 9", "Zm9v ", "Z===", "====", "=Zg=", "Zg=a",
        "Zg..", "Zm8.", "__79", "--79", "Zm9v====", "Zg==Zg==", "Zm9vZg", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(from_base64(std::string_view("Zm9\0", 4)), std::nullopt);
}

// Programs differ in what they leave in the bits that stand for nothing; they are not looked at.
TEST(Digest, TheLastBitsOfBase64MayBeAnything) {
  EXPECT_EQ(from_base64("Zh=="), "f");
  EXPECT_EQ(from_base64("Zm9="), "fo");
}

RC_GTEST_PROP(Digest, WhatIsWrittenIsReadAgain, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
  RC_ASSERT(from_hex(hex(bytes)) == bytes);
}

}  // namespace
}  // namespace dunlin
