#include "run/output/outlet.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace dunlin::run {
namespace {

class OutletTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends_.data()), 0);
  }
  void TearDown() override {
    close_reader();
    close(ends_[1]);
    signal(SIGPIPE, before_);
  }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  void take(size_t bytes) {
    std::string text(bytes, '\0');
    ASSERT_EQ(read(ends_[0], text.data(), bytes), static_cast<ssize_t>(bytes));
  }

  std::array<int, 2> ends_ = {-1, -1};
  sighandler_t before_ = SIG_DFL;
};

TEST_F(OutletTest, WhatLiesInAPipeIsNotTaken) {
  Outlet outlet(ends_[1], "a pipe");
  ASSERT_TRUE(outlet.write("hello").ok());
  EXPECT_EQ(outlet.given(), 5U);
  EXPECT_EQ(outlet.written(), 0U);
  ASSERT_TRUE(outlet.flush().ok());
  EXPECT_EQ(outlet.written(), 5U);
  EXPECT_EQ(outlet.taken(), 0U);
  take(3);
  EXPECT_EQ(outlet.taken(), 3U);
  EXPECT_FALSE(outlet.reader_gone());
  close_reader();
  EXPECT_TRUE(outlet.reader_gone());
  EXPECT_EQ(outlet.taken(), 3U);
}

TEST_F(OutletTest, AReaderThatWentAwayIsAnErrorOfItsOwn) {
  Outlet outlet(ends_[1], "a pipe");
  close_reader();
  ASSERT_TRUE(outlet.write("hello").ok());
  const Result<void> flushed = outlet.flush();
  ASSERT_FALSE(flushed.ok());
  EXPECT_TRUE(outlet.reader_gone());
  EXPECT_FALSE(outlet.interrupted());
  EXPECT_EQ(outlet.written(), 0U);
}

TEST_F(OutletTest, ASignalEndsAWriteThatNobodyReads) {
  const int signals = eventfd(1, 0);
  Outlet outlet(ends_[1], "a pipe");
  outlet.watch(signals);
  const Result<void> written = outlet.write(std::string(1 << 20, 'x'));
  ASSERT_FALSE(written.ok());
  EXPECT_TRUE(outlet.interrupted());
  EXPECT_LT(outlet.written(), size_t{1} << 20U);
  EXPECT_EQ(outlet.taken(), 0U);
  close(signals);
}

TEST_F(OutletTest, AFullDiskIsNoticedAndNothingIsWrittenAfterIt) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  Outlet outlet(full, "a full disk");
  ASSERT_TRUE(outlet.write("small").ok());
  const Result<void> flushed = outlet.flush();
  ASSERT_FALSE(flushed.ok());
  EXPECT_EQ(flushed.error().code, Code::full);
  EXPECT_NE(flushed.error().what.find("a full disk"), std::string::npos);
  EXPECT_EQ(outlet.written(), 0U);
  EXPECT_FALSE(outlet.reader_gone());
  ASSERT_TRUE(outlet.write("more").ok());
  EXPECT_FALSE(outlet.flush().ok());
  close(full);
}

}  // namespace
}  // namespace dunlin::run
