#include "bench/balance_part.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/wait.h"

namespace dunlin::bench {
namespace {

constexpr int kChannel = 3;
constexpr double kSliceS = 0.01;
constexpr size_t kLineMax = 200;

// All of `text` is numbers with `between` between them.
template <typename... Number>
bool read_numbers(std::string_view text, char between, Number&... numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  size_t left = sizeof...(numbers);
  const auto read = [&](auto& number) {
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    if (--left == 0) return after == end;
    at = after + 1;
    return after != end && *after == between;
  };
  return (read(numbers) && ...);
}

// The worker's id ends with its process id.
int worker_pid() {
  const char* id = std::getenv("DUNLIN_WORKER");
  if (id == nullptr) return 0;
  const std::string_view text(id);
  int pid = 0;
  return read_numbers(text.substr(text.rfind('-') + 1), ' ', pid) ? pid : 0;
}

class Throttle {
 public:
  explicit Throttle(const PartOptions& options, std::vector<Slowed> slowed)
      : options_(options), slowed_(std::move(slowed)), pid_(worker_pid()) {}

  // What one slice does beyond the end of one span is the beginning of the next.
  void work(uint64_t count) {
    credit_ -= static_cast<double>(count);
    while (credit_ < 0) {
      const double speed = speed_at(options_.speed, slowed_, pid_, seconds());
      const double slice = std::min(kSliceS, -credit_ / speed);
      const auto pause = std::chrono::duration<double>(slice);
      wait_until(posix_clock().now() + std::chrono::ceil<Millis>(pause), posix_clock());
      const double now = seconds();
      credit_ += speed * (now - std::exchange(last_, now));
    }
  }
  void begin() { last_ = seconds(); }

 private:
  double seconds() const {
    const auto wall = posix_clock().wall().time_since_epoch();
    return std::chrono::duration<double>(wall - Millis(options_.begin_ms)).count();
  }

  const PartOptions& options_;
  const std::vector<Slowed> slowed_;
  const int pid_;
  double credit_ = 0;
  double last_ = 0;
};

}  // namespace

std::string to_text(const std::vector<Slowed>& slowed) {
  std::string text;
  for (const Slowed& one : slowed) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", one.pid, one.factor, one.from_s);
  }
  return text;
}

Result<std::vector<Slowed>> parse_slowed(const std::string& text) {
  std::vector<Slowed> slowed;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    Slowed one;
    if (!read_numbers(std::string_view(text).substr(at, comma - at), ':', one.pid, one.factor,
                      one.from_s)) {
      return Error{Code::invalid, fmt::format("{} is not PID:FACTOR:FROM,...", text)};
    }
    slowed.push_back(one);
    at = comma + 1;
  }
  return slowed;
}

double speed_at(double speed, const std::vector<Slowed>& slowed, int pid, double seconds) {
  for (const Slowed& one : slowed) {
    if (one.pid == pid && seconds >= one.from_s) speed *= one.factor;
  }
  return speed;
}

Result<int> run(const PartOptions& options) {
  Throttle throttle(options, TRY(parse_slowed(options.slowed)));
  throttle.begin();
  if (options.share > 0) {
    throttle.work(options.share);
    return kExitDone;
  }
  std::FILE* const channel = fdopen(kChannel, "r+");
  if (channel == nullptr) return Error{Code::invalid, "it is for `dunlin bench balance` alone"};
  std::array<char, kLineMax> line = {};
  constexpr std::string_view kDo = "do ";
  while (dprintf(kChannel, "next\n") > 0 &&
         std::fgets(line.data(), static_cast<int>(line.size()), channel) != nullptr) {
    std::string_view text(line.data());
    text.remove_suffix(text.ends_with('\n') ? 1 : 0);
    uint64_t first = 0;
    uint64_t count = 0;
    if (!text.starts_with(kDo) || !read_numbers(text.substr(kDo.size()), ' ', first, count)) break;
    throttle.work(count);
  }
  std::fclose(channel);
  return kExitDone;
}

}  // namespace dunlin::bench
