#include "model/workers.h"

#include <algorithm>

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

Result<std::vector<model::WorkerInfo>> read_workers(Table& table, std::string after, size_t max) {
  std::vector<model::WorkerInfo> workers;
  while (workers.size() < max) {
    const size_t some = std::min(kRowsPerScan, max - workers.size());
    const std::vector<Row> rows = TRY(table.scan(kWorkers, "", after, some));
    if (rows.empty()) break;
    for (const Row& row : rows) {
      workers.push_back(TRY(parse_row<model::WorkerInfo>(kWorkers, row)).record);
    }
    after = rows.back().key;
  }
  return workers;
}

}  // namespace dunlin
