// A line plot as an SVG document: axes with ticks at round numbers, a legend, each axis linear or
// logarithmic. Pure.
#pragma once

#include <string>
#include <vector>

namespace dunlin::bench {

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  std::string name = {};
  std::vector<Point> points = {};  // Joined in this order.
  bool dashed = false;             // For what is only quoted or compared with.
  bool marked = true;              // A dot at each point.
};

struct Axis {
  std::string label = {};
  bool log = false;  // Points that are not above zero are left out.
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Line> lines;
};

// One below the other.
std::string to_svg(const std::vector<Plot>& plots);

// Round numbers that cover [low, high]: 1, 2 or 5 times a power of ten apart, or (log) the powers
// of ten. At least two; the first is at most `low`, the last at least `high`.
std::vector<double> ticks(double low, double high, bool log);

// 1500 as "1.5k", 0.02 as "0.02", 2000000 as "2M".
std::string tick_text(double value);

}  // namespace dunlin::bench
