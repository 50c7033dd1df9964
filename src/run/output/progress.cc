#include "run/output/progress.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "base/text.h"

namespace dunlin::run {
namespace {

constexpr Millis kWindow{30'000};
constexpr Millis kApart{500};
constexpr uint64_t kEnough = 10;   // Tasks in the window that make a speed.
constexpr size_t kBarLeast = 10;   // A shorter bar says nothing.
constexpr double kLeftMax = 1e10;  // Seconds: nobody waits for more.

double seconds(Millis duration) { return static_cast<double>(duration.count()) / 1000; }

// Rounded down, and 100 only when all is done.
uint64_t percent(const RunProgress& progress) {
  return progress.total == 0 ? 100 : progress.done() * 100 / progress.total;
}

// What stands to the right of the bar, the most important first.
std::vector<std::string> facts_of(const RunProgress& progress) {
  const std::string total = std::to_string(progress.total);
  std::vector<std::string> facts{fmt::format("{:>{}}/{}", progress.done(), total.size(), total)};
  if (progress.failed > 0) facts.push_back(fmt::format("{} failed", progress.failed));
  if (progress.done() == progress.total) {
    facts.push_back("in " + human_time(progress.elapsed));
  } else if (progress.left) {
    facts.push_back(human_time(*progress.left) + " left");
  }
  if (progress.per_s > 0) facts.push_back(human_rate(progress.per_s));
  return facts;
}

std::string bar(const RunProgress& progress, size_t columns, const LineStyle& style) {
  const double share = progress.total == 0 ? 1
                                           : static_cast<double>(progress.done()) /
                                                 static_cast<double>(progress.total);
  const size_t halves =
      std::min(static_cast<size_t>(share * static_cast<double>(2 * columns)), 2 * columns);
  const bool half = halves % 2 == 1;
  std::string full;
  for (size_t i = 0; i < halves / 2; ++i) full += style.unicode ? "━" : "#";
  if (half) full += style.unicode ? "╸" : "-";
  std::string rest;
  for (size_t i = halves / 2 + (half ? 1 : 0); i < columns; ++i) {
    rest += !style.unicode ? "." : style.colour ? "━" : "─";
  }
  if (!style.colour) return full + rest;
  const char* const tone = progress.failed > 0 ? "\x1b[31m" : "\x1b[32m";
  return fmt::format("{}{}\x1b[90m{}\x1b[0m", tone, full, rest);
}

}  // namespace

void Pace::on(Millis now, uint64_t done) {
  if (!first_) first_ = Point{now, done};
  const size_t size = points_.size();
  if (size >= 2 && points_[size - 1].at - points_[size - 2].at < kApart) points_.pop_back();
  points_.push_back({now, done});
  while (points_.size() > 2 && now - points_[1].at >= kWindow) points_.pop_front();
}

double Pace::per_s() const {
  if (points_.empty()) return 0;
  const Point& last = points_.back();
  const Point& from = last.done - points_.front().done >= kEnough ? points_.front() : *first_;
  const Millis time = last.at - from.at;
  return time <= Millis(0) ? 0 : static_cast<double>(last.done - from.done) / seconds(time);
}

std::optional<Millis> Pace::left(uint64_t total) const {
  const double speed = per_s();
  if (speed <= 0 || points_.back().done > total) return std::nullopt;
  const double left = static_cast<double>(total - points_.back().done) / speed;
  if (left > kLeftMax) return std::nullopt;
  return Millis(static_cast<int64_t>(left * 1000));
}

std::string progress_bar(const RunProgress& progress, const LineStyle& style) {
  const std::string head = fmt::format("{:3}%", percent(progress));
  if (head.size() > style.width) return "";
  std::string tail;
  std::vector<std::string> facts = facts_of(progress);
  // What does not fit is left out from its end, the bar before the last of them.
  for (const std::string& fact : facts) {
    if (head.size() + tail.size() + 2 + fact.size() > style.width) break;
    tail += "  " + fact;
  }
  const size_t used = head.size() + 1 + tail.size();
  if (used + kBarLeast > style.width) return head + tail;
  // A little shorter than could be, so that it does not change with every digit.
  const size_t columns = std::min<size_t>(style.width - used, style.width * 3 / 8);
  return fmt::format("{} {}{}", head, bar(progress, columns, style), tail);
}

std::string progress_text(const RunProgress& progress) {
  std::string text =
      fmt::format("{} of {} done ({}%)", progress.done(), progress.total, percent(progress));
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  if (progress.running > 0) text += fmt::format(", {} running", progress.running);
  if (progress.per_s > 0) text += ", " + human_rate(progress.per_s);
  if (progress.done() == progress.total) return text + ", took " + human_time(progress.elapsed);
  if (progress.left) text += fmt::format(", {} left", human_time(*progress.left));
  return text;
}

std::string human_rate(double per_s) {
  if (!(per_s > 0)) return "0/s";
  if (per_s >= 999'950) return fmt::format("{:.1f}M/s", per_s / 1e6);
  if (per_s >= 9'999.5) return fmt::format("{:.1f}k/s", per_s / 1e3);
  if (per_s >= 9.95) return fmt::format("{:.0f}/s", per_s);
  if (per_s >= 0.1) return fmt::format("{:.1f}/s", per_s);
  if (per_s * 60 >= 1) return fmt::format("{:.0f}/min", per_s * 60);
  return fmt::format("{:.1f}/h", per_s * 3600);
}

}  // namespace dunlin::run
