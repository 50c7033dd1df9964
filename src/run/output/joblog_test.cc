#include "run/output/joblog.h"

#include <gtest/gtest.h>

namespace dunlin::run {
namespace {

TEST(Joblog, ALineIsThatOfGnuParallel) {
  model::Outcome outcome;
  outcome.set_state(model::STATE_FAILED);
  outcome.set_exit(1);
  outcome.set_received_us(1'794'746'548'572'000);
  outcome.set_waited_us(500'000);
  outcome.set_ran_us(6'400);
  outcome.mutable_out()->set_bytes("a 1\n");
  EXPECT_EQ(joblog_line(1, outcome, ":", "echo a\t1"),
            "2\t:\t1794746549.072\t     0.006\t0\t4\t1\t0\techo a\t1\n");
}

TEST(Joblog, ALineStaysALine) {
  EXPECT_EQ(joblog_line(0, {}, ":", "a\nb"),
            std::string("1\t:\t0.000\t     0.000\t0\t0\t0\t0\ta\0b\n", 33));
}

TEST(Joblog, EveryEndHasAnExitAndASignal) {
  const auto shown = [](model::State state) {
    model::Outcome outcome;
    outcome.set_state(state);
    outcome.mutable_out()->set_where(model::Output::BLOB);
    outcome.mutable_out()->set_size(7);
    const std::string line = joblog_line(0, outcome, "h", "c");
    return line.substr(line.find("\t0\t7\t") + 5);
  };
  EXPECT_EQ(shown(model::STATE_TIMEOUT), "-1\t15\tc\n");
  EXPECT_EQ(shown(model::STATE_LOST), "-1\t9\tc\n");
  EXPECT_EQ(shown(model::STATE_REFUSED), "127\t0\tc\n");
  EXPECT_EQ(shown(model::STATE_OK), "0\t0\tc\n");
}

TEST(Joblog, ResultsStandInAFolderForEachColumn) {
  EXPECT_EQ(results_folder({}, {"a", "x/y z"}), "1/a/2/x\\_y z");
  EXPECT_EQ(results_folder({"size", "name"}, {"3", "a"}), "name/a/size/3");
  std::vector<std::string> values(11, "v");
  EXPECT_EQ(results_folder({}, values).find("1/v/2/v/3/v"), 0U);
}

TEST(Joblog, ANameOfAResultNeverLeadsElsewhere) {
  EXPECT_EQ(results_name(".."), "\\..");
  EXPECT_EQ(results_name("."), "\\.");
  EXPECT_EQ(results_name(""), "\\e");
  EXPECT_EQ(results_name("../etc"), "..\\_etc");
  EXPECT_EQ(results_name(std::string_view("a\tb\\c\0", 6)), "a\\tb\\\\c\\0");
  const std::string one = results_name(std::string(1000, 'x'));
  const std::string other = results_name(std::string(1001, 'x'));
  EXPECT_EQ(one.size(), 255U);
  EXPECT_NE(one, other);
}

TEST(Joblog, ATagStandsInFrontOfEachLine) {
  Tagger tagger("t");
  EXPECT_EQ(tagger.feed("a\nb"), "t\ta\nt\tb");
  EXPECT_EQ(tagger.feed("c\n"), "c\n");
  EXPECT_EQ(tagger.feed("\nd"), "t\t\nt\td");
  EXPECT_EQ(tagger.feed(""), "");
}

}  // namespace
}  // namespace dunlin::run
