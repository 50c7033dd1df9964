#include "client/iterative.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text.h"
#include "client/output.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kMostDefault = 100;  // Partitions, with a deadline.
constexpr uint32_t kRetriesDefault = 3;
constexpr double kSure = 0.95;
constexpr double kHopeless = 0.05;

Error bad_deadline(std::string_view text) {
  return {Code::invalid, fmt::format("--finish-by {} is no time: write 25m, 17:00 or "
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
  if (hour > 23 || time.tm_min > 59 || time.tm_mon > 11 || time.tm_mday > 31) {
    return bad_deadline(text);
  }
  const std::time_t seconds = std::mktime(&time);
  if (seconds == -1) return bad_deadline(text);
  return WallTime(std::chrono::seconds(seconds));
}

std::string_view state_of(const balance::Partition& partition) {
  if (partition.finished) return "ended";
  return partition.started ? "runs" : "waits";
}

// What will come of the deadline, as far as it is known.
std::string judgement(const balance::Forecast& forecast) {
  const double chance = forecast.chance;
  if (forecast.eta == balance::kEtaUnknown) return "";
  if (chance >= kSure) return "it will be met";
  std::string text = fmt::format("{:.0f} % likely", chance * 100);
  if (chance < kHopeless) text = "it cannot be met like this";
  if (forecast.more_slots > 0) text += fmt::format(": +{} slots would", forecast.more_slots);
  return text;
}

std::string speed_text(double speed) {
  return speed > 0 ? fmt::format("{:.{}f}/s", speed, speed < 100 ? 1 : 0) : "";
}

// Lately; of one that has ended, in all.
double speed_of(const balance::Partition& partition) {
  if (!partition.finished) return partition.speed();
  const std::chrono::duration<double> time = partition.last - partition.init;
  return time.count() > 0 ? static_cast<double>(partition.done) / time.count() : 0;
}

std::string percent(uint64_t part, uint64_t whole) {
  const double share =
      static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
  return fmt::format("{:.1f} %", std::floor(share * 1000) / 10);
}

}  // namespace

Result<uint64_t> parse_iterations(std::string_view text) {
  const auto whole = parse_number("--iterations", text);
  if (whole.ok()) return whole;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (!number || value < 0 || value > double{balance::kIterationsMax} ||
      std::floor(value) != value) {
    return Error{Code::invalid,
                 fmt::format("--iterations {} is no number of iterations: write 1000000 or 1e6",
                             quote(text))};
  }
  return static_cast<uint64_t>(value);
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
  if (looks_like(text, "0000-00-00 00:00") || looks_like(text, "0000-00-00T00:00")) {
    std::tm time = {};
    time.tm_year = number_at(text, 0, 4) - 1900;
    time.tm_mon = number_at(text, 5, 2) - 1;
    time.tm_mday = number_at(text, 8, 2);
    time.tm_hour = number_at(text, 11, 2);
    time.tm_min = number_at(text, 14, 2);
    const WallTime deadline = TRY(local_time(time, text));
    if (deadline > now) return deadline;
    return Error{Code::invalid, fmt::format("--finish-by {} is over already", quote(text))};
  }
  const auto duration = parse_duration(text);
  if (!duration.ok() || duration.value() <= Millis(0)) return bad_deadline(text);
  return now + duration.value();
}

Result<bool> set_iterations(const SubmitVerb& verb, WallTime now, model::Spec& spec) {
  if (!verb.finish_by.empty()) {
    spec.set_finish_by_ms(TRY(parse_deadline(verb.finish_by, now)).time_since_epoch().count());
  }
  if (verb.iterations.empty()) {
    if (verb.partitions == 0 && verb.partitions_max == 0 && verb.span.empty()) return false;
    return Error{Code::invalid,
                 "--partitions, --partitions-max and --span are for jobs with --iterations"};
  }
  if (!spec.inputs().single()) {
    return Error{Code::invalid,
                 "the tasks of a job with --iterations are its partitions: it has no other inputs"};
  }
  model::Iterations& iterations = *spec.mutable_iterations();
  iterations.set_total(TRY(parse_iterations(verb.iterations)));
  if (!verb.span.empty()) {
    iterations.set_span_ms(static_cast<uint64_t>(TRY(parse_duration(verb.span)).count()));
  }
  const bool late = !verb.finish_by.empty();
  const uint32_t first = std::max(verb.partitions, 1U);
  iterations.set_partitions(first);
  const uint32_t most = late ? std::max(kMostDefault, first) : first;
  spec.set_tasks(verb.partitions_max > 0 ? verb.partitions_max : most);
  if (!verb.retries) spec.set_retries(kRetriesDefault);
  return !late && verb.partitions == 0 && verb.partitions_max == 0;
}

void set_partitions(uint64_t slots, model::Spec& spec) {
  const uint64_t count = std::clamp<uint64_t>(slots, 1, kPartitionsMax);
  spec.set_tasks(count);
  spec.mutable_iterations()->set_partitions(static_cast<uint32_t>(count));
}

Result<Iterating> read_iterating(Table& table, const model::Job& job, WallTime now) {
  const IterativeJob iterative = iterative_job(job.id(), job.spec());
  Iterating found{.ledger = TRY(read_ledger(table, iterative, now)), .forecast = {}};
  found.since = now - found.ledger.begun;
  const balance::Task& task = found.ledger.ledger.task;
  const Millis left = iterative.finish_by ? *iterative.finish_by - now : balance::kNoDeadline;
  found.forecast = forecast(task, found.since, left);
  for (const balance::Partition& partition : task.partitions) {
    if (task.is_active(partition, found.since)) found.speed += partition.speed();
  }
  return found;
}

std::string deadline_text(int64_t finish_by_ms, WallTime now, std::string_view judged) {
  const double left_s = static_cast<double>(finish_by_ms - now.time_since_epoch().count()) / 1000;
  const std::string when = left_s > 0 ? "in " + human_time(left_s) : ago(-left_s);
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
  Columns columns(
      {{"PARTITION", true}, {"STATE"}, {"DONE", true}, {"SHARE", true}, {"SPEED", true}});
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    const balance::Partition& partition = task.partitions[i];
    if (partition.finished && partition.done == 0) continue;  // It was not needed.
    const uint64_t share = ledger.holders[i].taken + ledger.holders[i].own.size();
    columns.add({std::to_string(i), std::string(state_of(partition)),
                 std::to_string(partition.done), percent(share, task.iterations),
                 partition.speed() > 0 ? fmt::format("{:.4g}/s", partition.speed()) : ""});
  }
  return out + '\n' + columns.text();
}

ordered_json iterating_json(const Iterating& iterating, bool ended) {
  const balance::Ledger& ledger = iterating.ledger.ledger;
  const balance::Task& task = ledger.task;
  ordered_json object;
  object["total"] = task.iterations;
  object["done"] = task.done();
  if (!ended) {
    object["speed"] = iterating.speed;
    if (iterating.forecast.eta < balance::kEtaUnknown) object["eta_s"] = iterating.forecast.eta;
    object["chance"] = iterating.forecast.chance;
    object["more_slots"] = iterating.forecast.more_slots;
  }
  object["partitions"] = ordered_json::array();
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    const balance::Partition& partition = task.partitions[i];
    const balance::Ledger::Holder& holder = ledger.holders[i];
    ordered_json one;
    one["partition"] = i;
    one["state"] = state_of(partition);
    one["attempt"] = holder.attempt;
    one["done"] = partition.done;
    one["share"] = holder.taken + holder.own.size();
    one["speed"] = speed_of(partition);
    one["spans"] = ordered_json::array();
    for (const balance::Span& span : holder.spans) one["spans"].push_back({span.first, span.last});
    object["partitions"].push_back(std::move(one));
  }
  return object;
}

}  // namespace dunlin
