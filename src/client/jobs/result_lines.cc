#include "client/jobs/result_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text.h"
#include "model/keys.h"
#include "model/views/json.h"

namespace dunlin::client {
namespace {

constexpr size_t kRowsPerFlush = 256;
constexpr size_t kBytesPerFlush = 256 << 10;

cli::Columns result_columns() {
  return cli::Columns({{"TASK", true},
                       {"STATE"},
                       {"EXIT", true},
                       {"ATTEMPT", true},
                       {"RAN", true},
                       {"WORKER"},
                       {"OUTPUT"}});
}

uint64_t size_of(const model::Output& output) {
  return output.where() == model::Output::HERE ? output.bytes().size() : output.size();
}

std::string output_cell(const model::Output& output) {
  const std::string cut =
      output.cut() > 0 ? fmt::format(", {} are missing", human_size(output.cut())) : "";
  if (output.where() != model::Output::HERE || !cut.empty()) {
    return fmt::format("({}{})", human_size(size_of(output)), cut);
  }
  std::string_view bytes = output.bytes();
  while (bytes.ends_with('\n')) bytes.remove_suffix(1);
  return cli::cell(bytes);
}

}  // namespace

Result<TaskSpan> parse_tasks(const std::string& text, uint64_t tasks) {
  if (text.empty()) return TaskSpan{0, tasks};
  const size_t dash = text.find('-');
  const uint64_t first = TRY(parse_number("the task", text.substr(0, dash)));
  const uint64_t last =
      dash == std::string::npos ? first : TRY(parse_number("the task", text.substr(dash + 1)));
  if (first > last) {
    return Error{Code::invalid,
                 fmt::format("the tasks {} end before they begin: write A-B", quote(text))};
  }
  if (last >= tasks) {
    return Error{Code::not_found, fmt::format("there is no task {}: the job has the tasks 0 to {}",
                                              last, tasks - 1)};
  }
  return TaskSpan{first, last + 1};
}

std::string missing_words(const model::Spec& spec, const model::Outcome& outcome,
                          std::string_view which) {
  const model::Output& output = which == "err" ? outcome.err() : outcome.out();
  if (output.cut() == 0) return "";
  const uint64_t limit = spec.output_max() != 0 ? spec.output_max() : kOutputMaxDefault;
  // Up to the limit all was kept; else the worker could not keep it, and says why.
  const std::string why = size_of(output) >= limit || outcome.why().empty()
                              ? "`submit --output-max` sets how much is kept"
                              : outcome.why();
  return fmt::format("std{} is incomplete: after {} another {} are missing: {}", which,
                     human_size(size_of(output)), human_size(output.cut()), why);
}

void CutOutputs::add(const model::Job& job, const TaskResult& result) {
  const uint64_t before = cut_.count;
  for (const char* which : {"out", "err"}) {
    const std::string words = missing_words(job.spec(), result.outcome, which);
    if (!words.empty()) cut_.add(result.task, "its " + words);
  }
  const model::Outcome& outcome = result.outcome;
  const bool shown = outcome.state() != model::STATE_OK && outcome.why().size() <= failure_shown_;
  if (cut_.count == before && !shown && !outcome.why().empty()) {
    notes_.add(result.task, outcome.why());
  }
}

void CutOutputs::say() const {
  cut_.say();
  notes_.say();
}

void CutOutputs::Lines::add(uint64_t task, const std::string& words) {
  if (++count == 1) first = fmt::format("task {}: {}", task, words);
}

void CutOutputs::Lines::say() const {
  if (count == 0) return;
  cli::complain(count == 1 ? first
                           : fmt::format("{}; likewise {}", first, count_of(count - 1, "other")));
}

ResultPrinter::ResultPrinter(Store& store, const model::Job& job, cli::Form form)
    : store_(store), job_(job), form_(form), columns_(result_columns()) {}

Result<void> ResultPrinter::add(const TaskResult& result) {
  const model::Outcome& outcome = result.outcome;
  if (form_ == cli::Form::json) return add_json(result);
  if (form_ == cli::Form::quiet) {
    TRY(flush());
    return read_output(store_, job_.id(), result.task, outcome, "out", cli::print);
  }
  const bool ok = outcome.state() == model::STATE_OK;
  const std::string shown = ok && !outcome.value().empty() ? cli::cell(outcome.value())
                            : ok                           ? output_cell(outcome.out())
                                                           : cli::cell(why_of(outcome));
  columns_.add({std::to_string(result.task), std::string(state_word(outcome.state())),
                std::to_string(outcome.exit()), std::to_string(outcome.attempt()),
                human_time(static_cast<double>(outcome.ran_us()) / 1e6), result.worker, shown});
  ++rows_;
  return flush_if_large();
}

Result<void> ResultPrinter::add_missing(uint64_t task, std::string_view state) {
  if (form_ == cli::Form::json) {
    lines_ += cli::json_line(missing_json(job_.id(), task, state));
  } else if (form_ == cli::Form::plain) {
    columns_.add({std::to_string(task), std::string(state), "", "", "", "", ""});
    ++rows_;
  }
  return flush_if_large();
}

Result<void> ResultPrinter::add_json(const TaskResult& result) {
  lines_ += cli::json_line(TRY(result_json(store_, job_, result)));
  return flush_if_large();
}

Result<void> ResultPrinter::flush_if_large() {
  return rows_ >= kRowsPerFlush || lines_.size() >= kBytesPerFlush ? flush() : Result<void>();
}

Result<void> ResultPrinter::flush() {
  if (rows_ > 0) TRY(cli::print(columns_.text()));
  TRY(cli::print(lines_));
  columns_ = result_columns();
  rows_ = 0;
  lines_.clear();
  return {};
}

}  // namespace dunlin::client
