#include "model/workers.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr size_t kRowsPerScan = 256;

}  // namespace

bool is_online(const model::WorkerInfo& worker, WallTime now) {
  return now.time_since_epoch().count() - worker.seen_ms() < kOnlineFor.count();
}

std::string_view state_word(const model::WorkerInfo& worker, WallTime now) {
  return !is_online(worker, now) ? "offline" : worker.draining() ? "draining" : "online";
}

std::vector<std::string> missing_for(const model::Spec& spec, const model::WorkerInfo& worker) {
  const model::Requirements& needs = spec.requires_();
  std::vector<std::string> missing;
  for (const std::string& tag : needs.tags()) {
    if (std::ranges::find(worker.tags(), tag) == worker.tags().end()) {
      missing.push_back("the tag " + tag);
    }
  }
  if (const std::string& function = spec.command().function(); !function.empty()) {
    if (std::ranges::find(worker.functions(), function) == worker.functions().end()) {
      missing.push_back("the function " + function);
    }
  }
  if (needs.cpus() > worker.slots()) {
    missing.push_back(fmt::format("{} cpus (it has {})", needs.cpus(), worker.slots()));
  }
  if (needs.mem_bytes() > worker.mem_bytes()) {
    missing.push_back(fmt::format("{} of memory (it has {})", human_size(needs.mem_bytes()),
                                  human_size(worker.mem_bytes())));
  }
  if (needs.gpus() > worker.gpus()) {
    missing.push_back(fmt::format("{} gpus (it has {})", needs.gpus(), worker.gpus()));
  }
  return missing;
}

Result<std::vector<model::WorkerInfo>> read_workers(Table& table, std::string after, size_t max) {
  std::vector<model::WorkerInfo> workers;
  while (workers.size() < max) {
    const size_t some = std::min(kRowsPerScan, max - workers.size());
    const std::vector<Row> rows = TRY(table.scan(kWorkers, "", after, some));
    if (rows.empty()) break;
    for (const Row& row : rows) {
      auto worker = parse_row<model::WorkerInfo>(kWorkers, row);
      if (!worker.ok() && is_passed_over(worker.error())) continue;
      workers.push_back(TRY(std::move(worker)).record);
    }
    after = rows.back().key;
  }
  return workers;
}

}  // namespace dunlin
