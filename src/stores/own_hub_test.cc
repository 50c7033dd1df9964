#include "stores/own_hub.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/who.h"
#include "testing/temp_folder.h"

namespace dunlin::stores {
namespace {

class OwnHub : public testing::Test {
 protected:
  OwnHub() {
    if (const char* state = std::getenv("XDG_STATE_HOME")) before_ = state;
    setenv("XDG_STATE_HOME", root_.c_str(), 1);
  }
  ~OwnHub() override {
    before_.empty() ? unsetenv("XDG_STATE_HOME") : setenv("XDG_STATE_HOME", before_.c_str(), 1);
  }
  std::string file(const std::string& name) const { return root_ + "/dunlin/hubs/" + name; }
  static std::string own(const std::string& address) { return host_name() + "@" + address; }
  void put(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::filesystem::create_directories(root_ + "/dunlin/hubs");
    std::ofstream(file(name)) << text;
    chmod(file(name).c_str(), mode);
  }
  const TestFolder folder_;
  const std::string root_ = folder_.path();
  std::string before_;
};

TEST_F(OwnHub, IsFoundWithItsTokenWhileItRuns) {
  EXPECT_FALSE(own_hub().has_value());
  {
    HubNotes notes;
    ASSERT_TRUE(notes.leave({"dunlin://127.0.0.1:7070"}, "/data/token").ok());
    EXPECT_EQ(own_hub(), "dunlin://127.0.0.1:7070");
    EXPECT_EQ(own_token_file("dunlin://127.0.0.1:7070"), "/data/token");
    EXPECT_EQ(own_token_file("dunlin://localhost:7070"), "/data/token");
    EXPECT_EQ(own_token_file("dunlin://127.0.0.1:7071"), "");
    EXPECT_EQ(own_token_file("postgres://me@db/lab"), "");
    EXPECT_EQ(own_token_file(""), "");
    struct stat found = {};
    ASSERT_EQ(stat(file(own("127.0.0.1:7070")).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(own_hub().has_value());
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:7070"), "");
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/dunlin/hubs"));
}

TEST_F(OwnHub, ThatListensEverywhereIsFoundOnLoopback) {
  HubNotes notes;
  ASSERT_TRUE(notes.leave({"dunlin+tls://0.0.0.0:1", "dunlin+tls://[::]:2"}, "/t").ok());
  EXPECT_EQ(own_token_file("dunlin+tls://127.0.0.1:1"), "/t");
  EXPECT_EQ(own_token_file("dunlin+tls://[::1]:2"), "/t");
}

TEST_F(OwnHub, WithTlsIsFoundWhereItNeedsNone) {
  HubNotes notes;
  const std::string way_in = "dunlin://127.0.0.1:2";
  ASSERT_TRUE(notes.leave({"dunlin+tls://0.0.0.0:1", way_in}, "/t", way_in).ok());
  EXPECT_EQ(own_hub(), way_in);
  EXPECT_EQ(own_token_file(way_in), "/t");
  EXPECT_EQ(own_token_file("dunlin+tls://127.0.0.1:1"), "/t");
}

TEST_F(OwnHub, ThatWasKilledIsNotLookedAtAlsoWhenItsNumberIsUsedAgain) {
  const std::string head = "dunlin://127.0.0.1:1\n/t\n" + host_name() + "\n";
  const std::string number = std::to_string(getpid());
  const std::string birth = process_birth(getpid());
  const std::string boot = birth.substr(0, birth.find(' '));
  put(own("127.0.0.1:1"), head + number + "\n" + birth + "\n");
  EXPECT_EQ(own_hub(), "dunlin://127.0.0.1:1") << "such a note is a good one";
  for (const std::string& process :
       {"999999999\n" + birth, number, number + "\n", number + "\n" + boot + " 1",
        number + "\nanother-boot" + birth.substr(boot.size())}) {
    put(own("127.0.0.1:1"), head + process + "\n");
    EXPECT_FALSE(own_hub().has_value()) << process;
    EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "") << process;
  }
  HubNotes next;
  ASSERT_TRUE(next.leave({"dunlin://127.0.0.1:2"}, "/t").ok());
  EXPECT_FALSE(std::filesystem::exists(file(own("127.0.0.1:1")))) << "the next hub clears up";
}

TEST_F(OwnHub, ClearsUpWhatOlderProgramsLeft) {
  put("127.0.0.1:1",
      "dunlin://127.0.0.1:1\n/t\n" + host_name() + "\n" + std::to_string(getpid()) + "\n");
  HubNotes next;
  ASSERT_TRUE(next.leave({"dunlin://127.0.0.1:2"}, "/t").ok());
  EXPECT_FALSE(std::filesystem::exists(file("127.0.0.1:1")));
}

TEST_F(OwnHub, TakesOnlyItsOwnNoteAlong) {
  const std::string name = own("127.0.0.1:1");
  {
    HubNotes notes;
    ASSERT_TRUE(notes.leave({"dunlin://127.0.0.1:1"}, "/t").ok());
    put(name, "dunlin://127.0.0.1:1\n/t\n" + host_name() + "\n" + std::to_string(getpid()) +
                  "\nanother-boot 1\n");
  }
  EXPECT_TRUE(std::filesystem::exists(file(name)));
}

TEST_F(OwnHub, OfAnotherMachineWithTheSameHomeIsNotOurs) {
  const std::string theirs = "dunlin://127.0.0.1:1\n/t\nsome-other-host-of-the-lab\n" +
                             std::to_string(getpid()) + "\n" + process_birth(getpid()) + "\n";
  put("some-other-host-of-the-lab@127.0.0.1:1", theirs);
  put(own("127.0.0.1:1"), theirs);
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "");
  HubNotes notes;
  ASSERT_TRUE(notes.leave({"dunlin://127.0.0.1:1"}, "/t").ok());
  EXPECT_TRUE(std::filesystem::exists(file("some-other-host-of-the-lab@127.0.0.1:1")));
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "/t");
}

TEST_F(OwnHub, NotesThatOthersCouldHaveWrittenOrThatAreBrokenAreNone) {
  const std::string name = own("127.0.0.1:1");
  const std::string good = "dunlin://127.0.0.1:1\n/t\n" + host_name() + "\n" +
                           std::to_string(getpid()) + "\n" + process_birth(getpid()) + "\n";
  put(name, good);
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "/t");
  put(name, good, 0666);
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "");
  for (size_t size = 0; size < good.size(); ++size) {
    put(name, good.substr(0, size));
    EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "") << size;
  }
  std::filesystem::remove(file(name));
  put("good", good);
  std::filesystem::create_symlink(file("good"), file(name));
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "");
  std::filesystem::remove(file(name));
  ASSERT_EQ(mkfifo(file(name).c_str(), 0600), 0);
  EXPECT_EQ(own_token_file("dunlin://127.0.0.1:1"), "");
}

TEST(ProcessBirth, IsTheSameWhileAProcessLivesAndNoneAfterwards) {
  EXPECT_EQ(process_birth(getpid()), process_birth(getpid()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process_birth(child), "") << "nobody has asked how it ended";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(process_birth(child), "");
}

}  // namespace
}  // namespace dunlin::stores
