#include "run/shown.h"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/waker.h"
#include "model/jobs/results.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/rows.h"
#include "run/runner.h"

namespace dunlin::run {
namespace {

constexpr size_t kRowsPerScan = 1000;

}  // namespace

Result<void> Shown::read(Table& table) {
  std::string after;
  while (true) {
    const auto rows = TRY(table.scan(kShownTable, std::string(kRunId) + '/', after, kRowsPerScan));
    if (rows.empty()) return {};
    for (const Row& row : rows) {
      pages_[TRY(number_in_key(kShownTable, row.key))] = row.value;
    }
    after = rows.back().key;
  }
}

Result<void> Shown::read_unshown(Table& table,
                                 const std::function<void(uint64_t task)>& take) const {
  const auto skip = [this](uint64_t page) { return is_full(page); };
  return read_pages(table, kRunId, 0, level_size(0, tasks_), skip,
                    [&](uint64_t number, const model::Page& page) -> Result<bool> {
                      for (const TaskResult& result : TRY(results_of(number, page))) {
                        if (!has(result.task)) take(result.task);
                      }
                      return true;
                    });
}

bool Shown::has(uint64_t task) const {
  const auto page = pages_.find(page_of(task));
  return page != pages_.end() && has_bit(page->second, offset_of(task));
}

void Shown::add(uint64_t task) { set_bit(pages_[page_of(task)], offset_of(task)); }

bool Shown::is_full(uint64_t page) const {
  const auto found = pages_.find(page);
  return found != pages_.end() && count_bits(found->second) == page_size(page, tasks_);
}

std::string Shown::row(uint64_t page) const {
  const auto found = pages_.find(page);
  return found == pages_.end() ? std::string() : found->second;
}

Marker::Marker(std::unique_ptr<engine::FileStore> store, std::function<Result<void>()> sync)
    : store_(std::move(store)), sync_(std::move(sync)) {}

void Marker::write(const Shown& shown, const std::set<uint64_t>& pages,
                   std::vector<std::string> blobs) {
  CHECK(!busy_);
  busy_ = true;
  std::vector<Write> writes;
  for (const uint64_t page : pages) {
    writes.emplace_back(Put{kShownTable, page_key(kRunId, page), shown.row(page), kAnyVersion});
  }
  lane_.post([this, writes = std::move(writes), blobs = std::move(blobs)] {
    done_.put(carry_out(writes, blobs));
  });
}

Result<void> Marker::carry_out(const std::vector<Write>& writes,
                               const std::vector<std::string>& blobs) {
  TRY(sync_());
  for (size_t at = 0; at < writes.size(); at += kBatchMax) {
    const size_t count = std::min(writes.size() - at, kBatchMax);
    TRY(store_->commit(std::span(writes).subspan(at, count)));
  }
  for (const std::string& blob : blobs) TRY(store_->blobs().erase(blob));
  return {};
}

Result<void> Marker::look() {
  for (Result<void>& result : done_.take()) {
    busy_ = false;
    if (!result.ok()) return result;
  }
  return {};
}

Result<void> Marker::wait() {
  while (busy_) {
    pollfd done = {.fd = done_.descriptor(), .events = POLLIN, .revents = 0};
    poll(&done, 1, -1);
    TRY(look());
  }
  return {};
}

}  // namespace dunlin::run
