#include "bench/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/xml.h"

namespace dunlin::bench {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 440;
constexpr double kLeft = 70;
constexpr double kRight = 190;  // For the legend.
constexpr double kTop = 40;
constexpr double kBottom = 55;
// Distinguishable for the colour-blind (Okabe and Ito).
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#000000"};

std::string escaped(const std::string& text) {
  std::string out;
  append_xml(text, out);
  return out;
}

std::string words(double x, double y, const std::string& text, const std::string& attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes,
                     escaped(text));
}

std::string stroke(Point from, Point to, const std::string& attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"{}/>\n", from.x,
                     from.y, to.x, to.y, attributes);
}

// From a value to a place between `begin` and `end`.
class Scale {
 public:
  Scale(const Axis& axis, double low, double high, double begin, double end)
      : log_(axis.log), ticks_(ticks(low, high, axis.log)), begin_(begin), end_(end) {}

  const std::vector<double>& marks() const { return ticks_; }
  double place(double value) const {
    const double low = warp(ticks_.front());
    const double high = warp(ticks_.back());
    return begin_ + (end_ - begin_) * (warp(value) - low) / (high - low);
  }

 private:
  double warp(double value) const { return log_ ? std::log10(value) : value; }

  bool log_;
  std::vector<double> ticks_;
  double begin_;
  double end_;
};

bool fits(const Plot& plot, const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!plot.x.log || point.x > 0) &&
         (!plot.y.log || point.y > 0);
}

// A linear axis begins at zero, so that heights can be compared.
Scale scale_of(const Plot& plot, const Axis& axis, double Point::*part, double begin, double end) {
  double low = axis.log ? std::numeric_limits<double>::max() : 0;
  double high = std::numeric_limits<double>::lowest();
  for (const Line& line : plot.lines) {
    for (const Point& point : line.points) {
      if (!fits(plot, point)) continue;
      low = std::min(low, point.*part);
      high = std::max(high, point.*part);
    }
  }
  if (high < low) low = high = 1;  // There is nothing to show.
  return {axis, low, high, begin, end};
}

std::string draw_axes(const Plot& plot, const Scale& x, const Scale& y) {
  const double right = kWidth - kRight;
  const double bottom = kHeight - kBottom;
  std::string out;
  for (const double mark : x.marks()) {
    out += stroke({x.place(mark), kTop}, {x.place(mark), bottom}, " stroke=\"#ddd\"");
    out += words(x.place(mark), bottom + 18, tick_text(mark), " text-anchor=\"middle\"");
  }
  for (const double mark : y.marks()) {
    out += stroke({kLeft, y.place(mark)}, {right, y.place(mark)}, " stroke=\"#ddd\"");
    out += words(kLeft - 8, y.place(mark) + 4, tick_text(mark), " text-anchor=\"end\"");
  }
  out += stroke({kLeft, bottom}, {right, bottom}, " stroke=\"#333\"");
  out += stroke({kLeft, kTop}, {kLeft, bottom}, " stroke=\"#333\"");
  const double middle_y = (kTop + bottom) / 2;
  out += words((kLeft + right) / 2, kHeight - 14, plot.x.label, " text-anchor=\"middle\"");
  out +=
      words(18, middle_y, plot.y.label,
            fmt::format(" text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1f})\"", middle_y));
  out += words(kLeft, 24, plot.title, " font-size=\"15\" font-weight=\"bold\"");
  return out;
}

std::string draw_line(const Plot& plot, size_t number, const Scale& x, const Scale& y) {
  const Line& line = plot.lines[number];
  const std::string colour = kColours[number % kColours.size()];
  const std::string look = fmt::format(" stroke=\"{}\" stroke-width=\"2\"{}", colour,
                                       line.dashed ? " stroke-dasharray=\"6 4\"" : "");
  std::string path;
  std::string dots;
  for (const Point& point : line.points) {
    if (!fits(plot, point)) continue;
    const Point at = {x.place(point.x), y.place(point.y)};
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", at.x, at.y);
    if (!line.marked) continue;
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", at.x, at.y,
                        colour);
  }
  const double legend_y = kTop + 10 + 20 * static_cast<double>(number);
  const double legend_x = kWidth - kRight + 14;
  std::string out = fmt::format("<polyline points=\"{}\" fill=\"none\"{}/>\n", path, look) + dots;
  out += stroke({legend_x, legend_y}, {legend_x + 24, legend_y}, look);
  return out + words(legend_x + 30, legend_y + 4, line.name, "");
}

}  // namespace

std::vector<double> ticks(double low, double high, bool log) {
  std::vector<double> marks;
  if (log) {
    const auto first = std::lround(std::floor(std::log10(low) + 1e-9));
    const auto last = std::max(first + 1, std::lround(std::ceil(std::log10(high) - 1e-9)));
    for (long power = first; power <= last; ++power) {
      marks.push_back(std::pow(10.0, static_cast<double>(power)));
    }
    return marks;
  }
  constexpr double kSteps = 6;  // About so many.
  const double span = high > low ? high - low : std::max(1.0, std::abs(low));
  const double power = std::pow(10, std::floor(std::log10(span / kSteps)));
  double step = 10 * power;
  for (const double times : {5.0, 2.0, 1.0}) {
    if (times * power * kSteps >= span) step = times * power;
  }
  const auto first = std::lround(std::floor(low / step + 1e-9));
  const auto last = std::max(first + 1, std::lround(std::ceil(high / step - 1e-9)));
  for (long at = first; at <= last; ++at) marks.push_back(static_cast<double>(at) * step);
  return marks;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e3) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string to_svg(const std::vector<Plot>& plots) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight * static_cast<double>(plots.size()));
  for (size_t i = 0; i < plots.size(); ++i) {
    const Plot& plot = plots[i];
    const Scale x = scale_of(plot, plot.x, &Point::x, kLeft, kWidth - kRight);
    const Scale y = scale_of(plot, plot.y, &Point::y, kHeight - kBottom, kTop);
    out += fmt::format("<g transform=\"translate(0 {})\">\n", kHeight * static_cast<double>(i));
    out += draw_axes(plot, x, y);
    for (size_t line = 0; line < plot.lines.size(); ++line) out += draw_line(plot, line, x, y);
    out += "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace dunlin::bench
