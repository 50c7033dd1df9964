#include "run/halt.h"

#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/names.h"
#include "base/text.h"

namespace dunlin::run {
namespace {

using When = Halt::When;
using What = Halt::What;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kShort = {
    {{"0", "never"},
     {"1", "soon,fail=1"},
     {"2", "now,fail=1"},
     {"-1", "soon,success=1"},
     {"-2", "now,success=1"}}};

Error refused(std::string_view text) {
  return {Code::invalid, fmt::format("--halt {} is not understood: write it like now,fail=1, "
                                     "soon,fail=10%, soon,success=1 or never",
                                     quote(text))};
}

}  // namespace

Result<Halt> parse_halt(std::string_view text) {
  std::string_view full = text;
  for (const auto& [name, meaning] : kShort) {
    if (text == name) full = meaning;
  }
  Halt halt;
  if (full == "never") return halt;
  std::string_view amount = full;
  halt.when = When::soon;
  if (const size_t comma = full.find(','); comma != std::string_view::npos) {
    const std::string_view when = full.substr(0, comma);
    const std::string_view rest = full.substr(comma + 1);
    const std::string_view what = rest.substr(0, rest.find('='));
    if (what.size() == rest.size() || (when != "soon" && when != "now") ||
        (what != "fail" && what != "success" && what != "done")) {
      return refused(text);
    }
    halt.when = when == "now" ? When::now : When::soon;
    halt.what = what == "fail" ? What::fail : what == "done" ? What::done : What::success;
    amount = rest.substr(what.size() + 1);
  } else if (!full.ends_with('%')) {
    return refused(text);
  }
  halt.percent = amount.ends_with('%');
  if (halt.percent) amount.remove_suffix(1);
  const auto count = parse_number("the count of --halt", amount);
  if (!count.ok() || count.value() == 0 || (halt.percent && count.value() > 100)) {
    return refused(text);
  }
  halt.count = count.value();
  return halt;
}

When should_halt(const Halt& halt, uint64_t ok, uint64_t failed, uint64_t total) {
  if (halt.when == When::never) return When::never;
  const uint64_t reached = halt.what == What::fail      ? failed
                           : halt.what == What::success ? ok
                                                        : ok + failed;
  // Rounded up, so that 1 % of 10 tasks is one of them; a job has far fewer than 2^57 tasks.
  const uint64_t limit = halt.percent ? (total * halt.count + 99) / 100 : halt.count;
  return reached > 0 && reached >= limit ? halt.when : When::never;
}

}  // namespace dunlin::run
