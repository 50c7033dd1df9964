#include "bench/plot.h"

#include <gtest/gtest.h>

namespace dunlin::bench {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

using Marks = std::vector<double>;

TEST(Plot, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(ticks(0, 100, false), (Marks{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(ticks(0, 5735, false), (Marks{0, 1000, 2000, 3000, 4000, 5000, 6000}));
  EXPECT_EQ(ticks(0, 4, false), (Marks{0, 1, 2, 3, 4}));
}

TEST(Plot, LogarithmicTicksArePowersOfTen) {
  EXPECT_EQ(ticks(1, 1024, true), (Marks{1, 10, 100, 1000, 10000}));
  EXPECT_EQ(ticks(0.5, 80, true), (Marks{0.1, 1, 10, 100}));
  EXPECT_EQ(ticks(10, 1000, true), (Marks{10, 100, 1000}));
}

TEST(Plot, OneValueAloneStillHasTwoTicks) {
  EXPECT_GE(ticks(7, 7, true).size(), 2U);
  EXPECT_GE(ticks(7, 7, false).size(), 2U);
  EXPECT_GE(ticks(0, 0, false).size(), 2U);
}

TEST(Plot, TickTextIsShort) {
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(0.02), "0.02");
  EXPECT_EQ(tick_text(1500), "1.5k");
  EXPECT_EQ(tick_text(119'000), "119k");
  EXPECT_EQ(tick_text(2e6), "2M");
}

TEST(Plot, DrawsEveryLineWithItsPointsAndName) {
  const std::string svg =
      to_svg({{.title = "speed",
               .x = {"instances", true},
               .y = {"tasks/s", true},
               .lines = {{.name = "ours", .points = {{1, 100}, {10, 1000}}},
                         {.name = "a < b & c", .points = {{1, 50}}, .dashed = true}}}});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 2U);  // The line, and its place in the legend.
  EXPECT_EQ(count(svg, ">ours<"), 1U);
  EXPECT_EQ(count(svg, ">a &lt; b &amp; c<"), 1U);
}

TEST(Plot, PlacesPointsInsideTheAxes) {
  const std::string svg = to_svg({{.title = "t",
                                   .x = {"x"},
                                   .y = {"y"},
                                   .lines = {{.name = "l", .points = {{0, 0}, {10, 50}}}}}});
  // The first at the crossing of the axes, the last at their far ends.
  EXPECT_NE(svg.find("points=\"70.0,385.0 530.0,40.0\""), std::string::npos) << svg;
}

TEST(Plot, LeavesOutWhatALogarithmicAxisCannotShow) {
  const std::string svg = to_svg({{.title = "t",
                                   .x = {"x", true},
                                   .y = {"y"},
                                   .lines = {{.name = "l", .points = {{0, 1}, {-1, 1}, {1, 1}}}}}});
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0U);
}

TEST(Plot, SeveralStandBelowEachOther) {
  const Plot plot{.title = "t", .x = {"x"}, .y = {"y"}, .lines = {}};
  EXPECT_NE(to_svg({plot}).find("height=\"440\""), std::string::npos);
  const std::string both = to_svg({plot, plot});
  EXPECT_NE(both.find("height=\"880\""), std::string::npos);
  EXPECT_EQ(count(both, "translate(0 0)"), 1U);
  EXPECT_EQ(count(both, "translate(0 440)"), 1U);
  EXPECT_EQ(count(both, "</svg>"), 1U);
}

TEST(Plot, SurvivesHavingNothingToShow) {
  const std::string svg = to_svg({{.title = "t", .x = {"x", true}, .y = {"y"}, .lines = {}}});
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0U);
}

}  // namespace
}  // namespace dunlin::bench
