#include "run/output/joblog.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "base/crc32c.h"
#include "base/enum_table.h"

namespace dunlin::run {
namespace {

uint64_t size_of(const model::Output& output) {
  return output.where() == model::Output::HERE ? output.bytes().size() : output.size();
}

struct Status {
  int exit = 0;
  uint32_t signal = 0;
};

// What the log says of a task in each state; nothing where the outcome itself has the numbers.
constexpr std::array<std::optional<Status>, 7> kStatuses = {
    std::nullopt,                      // STATE_NONE
    std::nullopt,                      // STATE_OK
    std::nullopt,                      // STATE_FAILED
    std::nullopt,                      // STATE_CRASHED
    Status{.exit = -1, .signal = 15},  // STATE_TIMEOUT
    Status{.exit = -1, .signal = 9},   // STATE_LOST
    Status{.exit = 127, .signal = 0},  // STATE_REFUSED
};
static_assert(kStatuses.size() == model::State_ARRAYSIZE);

Status status_of(const model::Outcome& outcome) {
  return entry_of(kStatuses, outcome.state()).value_or(Status{outcome.exit(), outcome.signal()});
}

}  // namespace

std::string joblog_line(uint64_t task, const model::Outcome& outcome, std::string_view host,
                        std::string_view command) {
  const auto started = static_cast<double>(outcome.received_us() + outcome.waited_us());
  const Status status = status_of(outcome);
  std::string line = fmt::format("{}\t{}\t{:.3f}\t{:10.3f}\t0\t{}\t{}\t{}\t{}", task + 1, host,
                                 started / 1e6, static_cast<double>(outcome.ran_us()) / 1e6,
                                 size_of(outcome.out()), status.exit, status.signal, command);
  // As GNU parallel does: a line of the log stays one line.
  std::replace(line.begin(), line.end(), '\n', '\0');
  return line + '\n';
}

std::string results_name(std::string_view value) {
  if (value.empty()) return "\\e";
  if (value == "." || value == "..") return "\\" + std::string(value);
  std::string name;
  for (const char c : value) {
    if (c == '\\') {
      name += "\\\\";
    } else if (c == '/') {
      name += "\\_";
    } else if (c == '\t') {
      name += "\\t";
    } else if (c == '\0') {
      name += "\\0";
    } else {
      name += c;
    }
  }
  if (name.size() <= kResultsNameMax) return name;
  const std::string mark = fmt::format("\\{:08x}", crc32c(value));
  return name.substr(0, kResultsNameMax - mark.size()) + mark;
}

std::string results_folder(const std::vector<std::string>& names,
                           const std::vector<std::string>& values) {
  std::vector<std::string> heads;
  heads.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    heads.push_back(i < names.size() ? names[i] : std::to_string(i + 1));
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    const double left = std::strtod(heads[one].c_str(), nullptr);
    const double right = std::strtod(heads[other].c_str(), nullptr);
    if (left != right) return left < right;
    return heads[one] < heads[other];
  });
  std::string folder;
  for (const size_t i : order) {
    if (!folder.empty()) folder += '/';
    folder += results_name(heads[i]) + '/' + results_name(values[i]);
  }
  return folder;
}

std::string Tagger::feed(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    if (at_start_) out += tag_;
    const size_t end = piece.find('\n');
    at_start_ = end != std::string_view::npos;
    const std::string_view line = piece.substr(0, at_start_ ? end + 1 : piece.size());
    out += line;
    piece.remove_prefix(line.size());
  }
  return out;
}

}  // namespace dunlin::run
