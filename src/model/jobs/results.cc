#include "model/jobs/results.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/enum_table.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr uint64_t kPagesPerScan = 16;
constexpr size_t kPart = 1 << 20;

// By model::State. What has no outcome waits.
constexpr std::array<std::string_view, 7> kStates = {"waiting", "ok",   "failed", "crashed",
                                                     "timeout", "lost", "refused"};
static_assert(kStates.size() == model::State_ARRAYSIZE);

Error corrupt_page(std::string_view key) {
  return {Code::corrupt, fmt::format("row {} of table pages is not what we wrote: look at it with "
                                     "`dunlin store get pages {}`",
                                     key, key)};
}

// The last key that sorts before the page's.
std::string key_before(std::string_view job, uint64_t number) {
  return number == 0 ? "" : page_key(job, number - 1);
}

}  // namespace

Result<std::vector<TaskResult>> results_of(uint64_t number, const model::Page& page) {
  std::vector<TaskResult> results;
  results.reserve(static_cast<size_t>(page.outcomes_size()));
  for (const model::Outcome& outcome : page.outcomes()) {
    if (outcome.offset() >= kPageTasks) return corrupt_page(fmt::format("{}", number));
    const uint32_t worker = outcome.worker();
    const bool known = worker < static_cast<uint32_t>(page.workers_size());
    results.push_back({.task = number * kPageTasks + outcome.offset(),
                       .outcome = outcome,
                       .worker = known ? page.workers(static_cast<int>(worker)) : "",
                       .committed_us = page.committed_us()});
  }
  // Most are in order, and to look is quicker than to sort.
  const bool ordered = std::ranges::is_sorted(results, {}, &TaskResult::task);
  if (!ordered) std::ranges::sort(results, {}, &TaskResult::task);
  // Of a thousand outcomes of one task each would bring its output.
  const auto twin = std::ranges::adjacent_find(results, {}, &TaskResult::task);
  if (twin != results.end()) return corrupt_page(fmt::format("{}", number));
  return results;
}

Result<void> read_pages(Table& table, std::string_view job, uint64_t first, uint64_t last,
                        const SkipPage& skip, const TakePage& take) {
  const std::string prefix = fmt::format("{}/", job);
  uint64_t from = first;
  while (true) {
    while (from < last && skip(from)) ++from;
    uint64_t until = from;  // Of the pages that are wanted, one after the other.
    while (until < last && until < from + kPagesPerScan && !skip(until)) ++until;
    if (from == until) return {};
    const auto rows =
        TRY(table.scan(kPages, prefix, key_before(job, from), static_cast<size_t>(until - from)));
    if (rows.empty()) return {};
    for (const Row& row : rows) {
      const uint64_t number = TRY(number_in_key(kPages, row.key));
      // Of another key, which sorts elsewhere, we would go on before it, for ever.
      if (row.key != page_key(job, number)) return corrupt_page(row.key);
      if (number >= last) return {};
      from = number + 1;
      if (skip(number)) continue;
      const auto page = TRY(parse_row<model::Page>(kPages, row));
      if (!TRY(take(number, page.record))) return {};
    }
  }
}

Result<void> ResultReader::read_more() {
  const uint64_t pages = page_of(last_ - 1) + 1;
  uint64_t bytes = 0;
  uint64_t reached = pages;
  const auto take = [&](uint64_t number, const model::Page& page) -> Result<bool> {
    for (TaskResult& result : TRY(results_of(number, page))) {
      if (result.task >= next_ && result.task < last_) ready_.push_back(std::move(result));
    }
    bytes += page.ByteSizeLong();
    if (bytes < kPart) return true;
    reached = number + 1;
    return false;
  };
  TRY(read_pages(
      table_, job_, page_of(next_), pages, [](uint64_t) { return false; }, take));
  next_ = std::min(last_, reached * kPageTasks);
  return {};
}

Result<std::optional<TaskResult>> ResultReader::next() {
  while (ready_.empty() && next_ < last_) TRY(read_more());
  if (ready_.empty()) return std::optional<TaskResult>();
  std::optional<TaskResult> result = std::move(ready_.front());
  ready_.pop_front();
  return result;
}

ResultFollower::ResultFollower(std::string job, uint64_t tasks)
    : job_(std::move(job)), tasks_(tasks), complete_(level_size(0, tasks), false) {}

Result<void> ResultFollower::add(uint64_t number, const model::Page& page, const Take& take) {
  if (number >= complete_.size() || complete_[number]) return {};
  std::string& bits = partial_[number];
  for (const TaskResult& result : TRY(results_of(number, page))) {
    const uint32_t offset = result.outcome.offset();
    if (result.task >= tasks_ || has_bit(bits, offset)) continue;
    set_bit(bits, offset);
    ++taken_;
    TRY(take(result));
  }
  if (count_bits(bits) == page_size(number, tasks_)) {
    complete_[number] = true;
    partial_.erase(number);
  }
  return {};
}

Result<void> ResultFollower::add(const model::Reply& reply, const Take& take) {
  if (reply.job() != job_) return {};
  for (const auto& part : reply.parts()) TRY(add(part.page(), part.outcomes(), take));
  return {};
}

Result<void> ResultFollower::look(Table& table, const Take& take) {
  return read_pages(
      table, job_, 0, complete_.size(), [&](uint64_t number) { return complete_[number]; },
      [&](uint64_t number, const model::Page& page) -> Result<bool> {
        TRY(add(number, page, take));
        return true;
      });
}

Result<void> read_output(Store& store, std::string_view job, uint64_t task,
                         const model::Outcome& outcome, std::string_view which,
                         const TakeBytes& take) {
  const model::Output& output = which == "err" ? outcome.err() : outcome.out();
  if (output.where() == model::Output::HERE) {
    return output.bytes().empty() ? Result<void>() : take(output.bytes());
  }
  const auto gone = [&] {
    return Error{
        Code::not_found,
        fmt::format("the std{} of task {} of job {} is no longer in the store", which, task, job)};
  };
  if (output.where() == model::Output::ROW) {
    const Row row =
        TRY(get_row(store.table(), kOutputs, output_key(job, task, outcome.attempt(), which)));
    if (row.version == 0) return gone();
    if (row.value.size() != output.size()) {
      return Error{Code::corrupt,
                   fmt::format("the std{} of task {} of job {} has another size than "
                               "its outcome says",
                               which, task, job)};
    }
    return take(row.value);
  }
  const std::string name = blob_name(job, task, outcome.attempt(), which);
  for (uint64_t offset = 0; offset < output.size();) {
    const Result<std::string> part = store.blobs().get(name, offset, kPart);
    if (!part.ok() && part.error().code == Code::not_found) return gone();
    if (!part.ok()) return part.error();
    if (part.value().empty()) return gone();
    TRY(take(part.value()));
    offset += part.value().size();
  }
  return {};
}

Result<std::string> whole_output(Store& store, std::string_view job, uint64_t task,
                                 const model::Outcome& outcome, std::string_view which) {
  std::string all;
  TRY(read_output(store, job, task, outcome, which, [&](std::string_view part) -> Result<void> {
    all += part;
    return {};
  }));
  return all;
}

std::string_view state_word(model::State state) { return entry_of(kStates, state); }

std::string why_of(const model::Outcome& outcome) {
  if (!outcome.why().empty()) return outcome.why();
  if (outcome.state() == model::STATE_FAILED) return fmt::format("exit code {}", outcome.exit());
  if (outcome.state() == model::STATE_CRASHED) return fmt::format("signal {}", outcome.signal());
  return std::string(state_word(outcome.state()));
}

}  // namespace dunlin
