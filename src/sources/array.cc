#include "sources/array.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "model/keys.h"

namespace dunlin::sources {
namespace {

constexpr uint64_t kListedMax = 1'000'000;  // Numbers that are not a simple range.

constexpr std::string_view kExamples = "write it like 0-999, 1-10:3 or 0,5,7-9";

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

Error no_array(std::string_view text) {
  return invalid(fmt::format("the array {} does not consist of numbers from 0 to {}: {}",
                             quote(text), INT64_MAX, kExamples));
}

struct NumberRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t step = 1;

  uint64_t count() const { return (last - first) / step + 1; }
};

// N, A-B or A-B:STEP.
Result<NumberRange> parse_range(std::string_view text) {
  const auto number = [text](std::string_view digits) -> Result<uint64_t> {
    const Result<uint64_t> parsed = parse_number("", digits);
    if (!parsed.ok() || parsed.value() > INT64_MAX) return no_array(text);
    return parsed;
  };
  NumberRange range;
  const std::string_view ends = text.substr(0, text.find(':'));
  const size_t dash = ends.find('-');
  range.first = TRY(number(ends.substr(0, dash)));
  range.last = range.first;
  if (dash != std::string_view::npos) {
    range.last = TRY(number(ends.substr(dash + 1)));
  }
  if (ends.size() < text.size()) {
    range.step = TRY(number(text.substr(ends.size() + 1)));
  }
  if (range.step == 0) {
    return invalid(fmt::format("the array {} has the step 0: it must be at least 1", quote(text)));
  }
  if (range.last < range.first) {
    return invalid(fmt::format("the array {} ends before it begins: write the smaller number first",
                               quote(text)));
  }
  return range;
}

Error too_many(std::string_view text, uint64_t count, uint64_t max, std::string_view what) {
  return invalid(
      fmt::format("the array {} makes {} tasks, but a job has at most {}{}: split it "
                  "into several",
                  quote(text), count, max, what));
}

}  // namespace

std::string why_no_array(const std::string& text) {
  const auto parsed = parse_array(text);
  return parsed.ok() ? "" : parsed.error().what;
}

Result<NumberList> parse_array(std::string_view text) {
  NumberList numbers;
  if (text.find(',') == std::string_view::npos) {
    const NumberRange range = TRY(parse_range(text));
    numbers.first = static_cast<int64_t>(range.first);
    numbers.step = static_cast<int64_t>(range.step);
    numbers.count = range.count();
    if (numbers.count > kTasksMax) return too_many(text, numbers.count, kTasksMax, "");
    return numbers;
  }
  for (std::string_view rest = text; true;) {
    const size_t comma = rest.find(',');
    const NumberRange range = TRY(parse_range(rest.substr(0, comma)));
    if (range.count() > kListedMax - numbers.count) {
      return too_many(text, numbers.count + range.count(), kListedMax, " that are listed");
    }
    numbers.count += range.count();
    for (uint64_t i = 0; i < range.count(); ++i) {
      numbers.listed.push_back(static_cast<int64_t>(range.first + i * range.step));
    }
    if (comma == std::string_view::npos) return numbers;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace dunlin::sources
