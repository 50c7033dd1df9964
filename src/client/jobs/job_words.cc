#include "client/jobs/job_words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "cli/output.h"
#include "model/jobs/submit.h"

namespace dunlin::client {
namespace {

constexpr double kSure = 0.95;
constexpr double kHopeless = 0.05;

// What will come of the deadline, as far as it is known.
std::string judgement(const balance::Forecast& forecast) {
  const double chance = forecast.chance;
  if (forecast.eta == balance::kEtaUnknown) return "";
  if (chance >= kSure) return "it will be met";
  std::string text = fmt::format("{:.0f} % likely", chance * 100);
  if (chance < kHopeless) text = "it will be missed";
  if (forecast.more_slots > 0)
    text += fmt::format(": +{} slots would meet it", forecast.more_slots);
  return text;
}

std::string speed_text(double speed) {
  return speed > 0 ? fmt::format("{:.{}f}/s", speed, speed < 100 ? 1 : 0) : "";
}

std::string percent(uint64_t part, uint64_t whole) {
  const double share =
      static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
  return fmt::format("{:.1f} %", std::floor(share * 1000) / 10);
}

}  // namespace

std::string age(int64_t then_us, WallTime now) {
  return cli::ago(static_cast<double>(to_us(now) - then_us) / 1e6);
}

std::string deadline_text(int64_t finish_by_ms, WallTime now, std::string_view judged) {
  const double left_s = static_cast<double>(finish_by_ms - now.time_since_epoch().count()) / 1000;
  const std::string when = left_s > 0 ? "in " + human_time(left_s) : cli::ago(-left_s);
  return fmt::format("{}{}{}", when, judged.empty() ? "" : ", ", judged);
}

std::string iterating_text(const Iterating& iterating, const model::Spec& spec, WallTime now,
                           bool ended) {
  const balance::Ledger& ledger = iterating.ledger.ledger;
  const balance::Task& task = ledger.task;
  std::string out = fmt::format("work      {} of {} iterations done ({})", task.done(),
                                task.iterations, percent(task.done(), task.iterations));
  if (!ended && iterating.speed > 0) {
    out += fmt::format(", {}, {} to go", speed_text(iterating.speed),
                       human_time(static_cast<double>(iterating.forecast.eta)));
  }
  out += '\n';
  if (spec.finish_by_ms() > 0 && !ended) {
    out += "deadline  " + deadline_text(spec.finish_by_ms(), now, judgement(iterating.forecast)) +
           '\n';
  }
  cli::Columns columns(
      {{"PARTITION", true}, {"STATE"}, {"DONE", true}, {"SHARE", true}, {"SPEED", true}});
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    const balance::Partition& partition = task.partitions[i];
    if (partition.finished && partition.done == 0) continue;  // It was not needed.
    const uint64_t share = ledger.holders[i].taken + ledger.holders[i].own.size();
    columns.add({std::to_string(i), std::string(state_word(partition)),
                 std::to_string(partition.done), percent(share, task.iterations),
                 speed_text(speed_of(partition))});
  }
  return out + '\n' + columns.text();
}

}  // namespace dunlin::client
