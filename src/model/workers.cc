#include "model/workers.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "model/keys.h"
#include "model/match.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr size_t kRowsPerScan = 256;

std::string amount_words(const Lack& lack) {
  if (lack.what == Lack::What::memory) {
    return fmt::format("{} of memory (it has {})", human_size(lack.needed), human_size(lack.has));
  }
  return fmt::format("{} {} (it has {})", lack.needed,
                     lack.what == Lack::What::cpus ? "cpus" : "gpus", lack.has);
}

}  // namespace

bool is_online(const model::WorkerInfo& worker, WallTime now) {
  return now.time_since_epoch().count() - worker.seen_ms() < kOnlineFor.count();
}

std::string_view state_word(const model::WorkerInfo& worker, WallTime now) {
  return !is_online(worker, now) ? "offline" : worker.draining() ? "draining" : "online";
}

std::vector<std::string> missing_for(const model::Spec& spec, const model::WorkerInfo& worker) {
  const auto has_tag = [&](const std::string& tag) {
    return std::ranges::find(worker.tags(), tag) != worker.tags().end();
  };
  const std::vector<Lack> lacks =
      lacks_of(spec.requires_(), {worker.slots(), worker.mem_bytes(), worker.gpus(), has_tag});
  const auto is_tag = [](const Lack& lack) { return lack.what == Lack::What::tag; };
  std::vector<std::string> missing;
  for (const Lack& lack : lacks) {
    if (is_tag(lack)) missing.push_back("the tag " + lack.tag);
  }
  if (const std::string& function = spec.command().function(); !function.empty()) {
    if (std::ranges::find(worker.functions(), function) == worker.functions().end()) {
      missing.push_back("the function " + function);
    }
  }
  for (const Lack& lack : lacks) {
    if (!is_tag(lack)) missing.push_back(amount_words(lack));
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
