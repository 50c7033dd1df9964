#include "base/log.h"

#include <array>
#include <atomic>
#include <ctime>
#include <string>
#include <sys/time.h>
#include <unistd.h>

namespace dunlin::log {
namespace {

std::atomic<Level> lowest = Level::info;
std::atomic<uint64_t> error_count = 0;

std::string time_now() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  const size_t size = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", std::string_view(text.data(), size), now.tv_usec / 1000);
}

}  // namespace

void set_level(Level level) { lowest = level; }

uint64_t errors() { return error_count; }

void write(Level level, std::string_view line) {
  if (level == Level::error) ++error_count;
  if (level < lowest) return;
  constexpr std::array<const char*, 4> kNames = {"debug", "info", "warning", "error"};
  const std::string whole =
      fmt::format("{} {} {}\n", time_now(), kNames.at(static_cast<size_t>(level)), line);
  // If standard error is gone there is nobody left to tell.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace dunlin::log
