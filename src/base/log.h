// One line a happening, to standard error: a time, a level, a sentence with key=value.
//
//   log::info("listening address={} data={}", address, folder);
//
// Safe from any thread: a line is one write. Not for hot paths.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace dunlin::log {

enum class Level { debug, info, warning, error, off };

void set_level(Level level);  // Lines below it are dropped. The default is info.
void write(Level level, std::string_view line);

// How many errors were logged: a simulation that logs one has failed.
uint64_t errors();

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace dunlin::log
