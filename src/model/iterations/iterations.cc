#include "model/iterations/iterations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "model/counts.h"
#include "model/iterations/ledgers.h"
#include "model/workers.h"

namespace dunlin {
namespace {

constexpr uint32_t kMostDefault = 100;  // Partitions, with a deadline.
constexpr uint32_t kRetriesDefault = 3;
constexpr uint64_t kCountedMax = (uint64_t{1} << 53U) - 1;  // By every reader of JSON.

Error bad_deadline(std::string_view text) {
  return {Code::invalid, fmt::format("the deadline {} is not a time: write 25m, 17:00 or "
                                     "\"2030-01-31 17:00\"",
                                     quote(text))};
}

// The same as `form`, with a digit where that has a 0.
bool looks_like(std::string_view text, std::string_view form) {
  return std::ranges::equal(text, form, [](char have, char want) {
    return want == '0' ? have >= '0' && have <= '9' : have == want;
  });
}

int number_at(std::string_view text, size_t offset, size_t count) {
  int number = 0;
  std::from_chars(text.data() + offset, text.data() + offset + count, number);
  return number;
}

Result<WallTime> local_time(std::tm time, std::string_view text) {
  const int hour = time.tm_hour;
  time.tm_isdst = -1;
  if (hour > 23 || time.tm_min > 59 || time.tm_sec > 59 || time.tm_mon > 11 || time.tm_mday > 31) {
    return bad_deadline(text);
  }
  const std::time_t seconds = std::mktime(&time);
  if (seconds == -1) return bad_deadline(text);
  return WallTime(std::chrono::seconds(seconds));
}

Result<uint64_t> slots_online(Table& table, WallTime now, const model::Spec& spec) {
  uint64_t slots = 0;
  for (const model::WorkerInfo& worker : TRY(read_workers(table))) {
    if (is_online(worker, now) && missing_for(spec, worker).empty()) slots += worker.slots();
  }
  return slots / std::max(spec.requires_().cpus(), 1U);
}

}  // namespace

Result<uint64_t> whole_iterations(double value) {
  if (!(value >= 0 && value <= static_cast<double>(balance::kIterationsMax)) ||
      std::floor(value) != value) {
    return Error{Code::invalid,
                 fmt::format("{} is not a number of iterations: write 1000000 or 1e6", value)};
  }
  return static_cast<uint64_t>(value);
}

Result<uint64_t> parse_iterations(std::string_view text) {
  const auto whole = parse_number("the number of iterations", text);
  if (whole.ok()) return whole.value();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return whole_iterations(value);
  return Error{Code::invalid,
               fmt::format("{} is not a number of iterations: write 1000000 or 1e6", quote(text))};
}

Result<WallTime> parse_deadline(std::string_view text, WallTime now) {
  const std::time_t seconds = now.time_since_epoch().count() / 1000;
  std::tm today = {};
  localtime_r(&seconds, &today);
  today.tm_sec = 0;
  if (looks_like(text, "00:00")) {
    today.tm_hour = number_at(text, 0, 2);
    today.tm_min = number_at(text, 3, 2);
    const WallTime time = TRY(local_time(today, text));
    if (time > now) return time;
    ++today.tm_mday;
    today.tm_isdst = -1;
    return WallTime(std::chrono::seconds(std::mktime(&today)));
  }
  constexpr size_t kToTheMinute = 16;
  const std::string_view minute = text.substr(0, std::min(text.size(), kToTheMinute));
  const std::string_view rest = text.substr(minute.size());
  const bool dated =
      looks_like(minute, "0000-00-00 00:00") || looks_like(minute, "0000-00-00T00:00");
  if (dated && (rest.empty() || looks_like(rest, ":00"))) {
    std::tm time = {};
    if (!rest.empty()) time.tm_sec = number_at(rest, 1, 2);
    time.tm_year = number_at(text, 0, 4) - 1900;
    time.tm_mon = number_at(text, 5, 2) - 1;
    time.tm_mday = number_at(text, 8, 2);
    time.tm_hour = number_at(text, 11, 2);
    time.tm_min = number_at(text, 14, 2);
    const WallTime deadline = TRY(local_time(time, text));
    if (deadline > now) return deadline;
    return Error{Code::invalid, fmt::format("the deadline {} has already passed", quote(text))};
  }
  const auto duration = parse_duration(text);
  if (!duration.ok() || duration.value() <= Millis(0)) return bad_deadline(text);
  return now + duration.value();
}

Result<bool> set_iterations(const IterationOptions& options, model::Spec& spec) {
  if (!options.iterations) {
    if (options.partitions == 0 && options.partitions_max == 0 && options.span == Millis(0)) {
      return false;
    }
    return Error{Code::invalid, fmt::format("{} is for jobs with iterations",
                                            options.partitions > 0       ? "partitions"
                                            : options.partitions_max > 0 ? "partitions_max"
                                                                         : "span")};
  }
  if (*options.iterations > kCountedMax) {
    return Error{Code::invalid, fmt::format("{} iterations are too many: at most {}",
                                            *options.iterations, kCountedMax)};
  }
  if (!spec.inputs().single()) {
    return Error{Code::invalid,
                 "the tasks of a job with iterations are its partitions: it has no array, values "
                 "or other inputs"};
  }
  const bool late = spec.finish_by_ms() > 0;
  const uint32_t first = std::max(options.partitions, 1U);
  const uint32_t most = late ? std::max(kMostDefault, first) : first;
  model::Iterations& iterations = *spec.mutable_iterations();
  iterations.set_total(*options.iterations);
  iterations.set_span_ms(static_cast<uint64_t>(options.span.count()));
  iterations.set_partitions(first);
  spec.set_tasks(options.partitions_max > 0 ? options.partitions_max : most);
  if (!options.retries_said) spec.set_retries(kRetriesDefault);
  return !late && options.partitions == 0 && options.partitions_max == 0;
}

Result<void> fit_to_slots(Table& table, WallTime now, model::Spec& spec) {
  const uint64_t slots = TRY(slots_online(table, now, spec));
  const uint64_t count = std::clamp<uint64_t>(slots, 1, kPartitionsMax);
  spec.set_tasks(count);
  spec.mutable_iterations()->set_partitions(static_cast<uint32_t>(count));
  return {};
}

}  // namespace dunlin
