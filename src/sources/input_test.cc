#include "sources/input.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "testing/temp_folder.h"

namespace dunlin::sources {
namespace {

using Lines = std::vector<std::string>;

class Pipe {
 public:
  Pipe() { CHECK(::pipe(ends_.data()) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  void write(std::string_view text) const {
    CHECK(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(Input, LinesComeAsSoonAsTheyAreWhole) {
  Pipe pipe;
  LineReader reader(pipe.reader(), 100);
  pipe.write("one\n\nthr");
  EXPECT_EQ(reader.next(10).value(), (Lines{"one", ""}));
  pipe.write("ee\nlast");
  EXPECT_EQ(reader.next(10).value(), Lines{"three"});
  pipe.end();
  EXPECT_EQ(reader.next(10).value(), Lines{"last"});
  EXPECT_EQ(reader.next(10).value(), Lines{});
}

TEST(Input, NoMoreLinesComeThanWereAskedFor) {
  Pipe pipe;
  LineReader reader(pipe.reader(), 100);
  pipe.write("a\nb\nc\n");
  pipe.end();
  EXPECT_EQ(reader.next(2).value(), (Lines{"a", "b"}));
  EXPECT_EQ(reader.next(2).value(), Lines{"c"});
  EXPECT_EQ(reader.next(2).value(), Lines{});
}

TEST(Input, ALineOverTheLimitIsRefusedByNumber) {
  for (const char* end : {"\n", ""}) {
    Pipe pipe;
    LineReader reader(pipe.reader(), 4);
    pipe.write("1234\n12345");
    pipe.write(end);
    pipe.end();
    EXPECT_EQ(reader.next(1).value(), Lines{"1234"});
    const auto refused = reader.next(1);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().what.find("line 2 "), std::string::npos) << refused.error().what;
  }
}

TEST(Input, AFileIsReadWholeOrRefused) {
  const TestFolder folder;
  const std::string file = folder.path() + "/f";
  std::ofstream(file) << "12345";
  EXPECT_EQ(read_input(file, 5).value(), "12345");
  EXPECT_EQ(read_input(file, 4).error().code, Code::invalid);
  EXPECT_EQ(read_input(folder.path() + "/none", 5).error().code, Code::invalid);
  EXPECT_EQ(open_input(file, 5).value().size, 5U);
  EXPECT_EQ(open_input(file, 4).error().code, Code::invalid);
}

TEST(Input, APipeIsCopiedSoThatItCanBeReadTwice) {
  const TestFolder folder;
  const std::string file = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(file) << std::string(200'000, 'x'); });
  const auto opened = open_input(file, 1 << 20);
  writer.join();
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_EQ(opened.value().size, 200'000U);
  for (int times = 0; times < 2; ++times) {
    std::string bytes(10, '\0');
    EXPECT_EQ(opened.value().file->read(199'995, bytes).value(), 5U);
  }
}

}  // namespace
}  // namespace dunlin::sources
