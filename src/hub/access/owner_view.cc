#include "hub/access/owner_view.h"

#include <algorithm>
#include <fmt/format.h>

#include "hub/access/table_rules.h"
#include "model/keys.h"
#include "model/owned.h"

namespace dunlin::hub {
namespace {

constexpr int kRoundsMax = 200;  // Of looking for something to show.
constexpr uint64_t kRowsPerScan = 1000;

std::string owned_row(std::string_view owner, std::string_view job) {
  return fmt::format("{}/{}", owner, job);
}

Error too_many(std::string_view table) {
  return {Code::full,
          fmt::format("the table {} holds too many rows of other owners to find any of this one",
                      table)};
}

// Their rows by the table of the owner's jobs. A page is empty only at the end.
Answer scan_jobs(const std::string& owner, Core& core, Scan&& scan, Instant now) {
  if (scan.prefix.size() > kNameMax) return Rows{};  // Ids are shorter.
  if (scan.after.size() > kNameMax) scan.after.resize(kNameMax);
  const size_t start = owned_row(owner, "").size();
  std::string after = scan.after.empty() ? "" : owned_row(owner, scan.after);
  for (int round = 0; round < kRoundsMax; ++round) {
    Answer listed = core.handle(Scan{.table = std::string(kOwnedJobs),
                                     .prefix = owned_row(owner, scan.prefix),
                                     .after = after,
                                     .max = scan.max},
                                now);
    auto* rows = std::get_if<Rows>(&listed);
    if (rows == nullptr || rows->rows.empty()) return listed;
    Get get{.table = scan.table, .keys = {}};
    for (const Row& row : rows->rows) get.keys.push_back(row.key.substr(start));
    after = rows->rows.back().key;
    Answer found = core.handle(std::move(get), now);
    auto* jobs = std::get_if<Rows>(&found);
    if (jobs == nullptr) return found;
    std::erase_if(jobs->rows, [](const Row& row) { return row.version == 0; });
    if (!jobs->rows.empty()) return found;
  }
  return too_many(scan.table);
}

// Keys are DAY/OWNER.
Answer scan_history(const std::string& owner, Core& core, Scan&& scan, Instant now) {
  const std::string end = '/' + owner;
  const uint64_t wanted = scan.max;
  scan.max = kRowsPerScan;
  for (int round = 0; round < kRoundsMax; ++round) {
    Answer answer = core.handle(Scan(scan), now);
    auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.empty()) return answer;
    scan.after = rows->rows.back().key;
    std::erase_if(rows->rows, [&](const Row& row) { return !row.key.ends_with(end); });
    if (rows->rows.size() > wanted) rows->rows.resize(wanted);
    if (!rows->rows.empty()) return answer;
  }
  return too_many(scan.table);
}

bool is_route_of(const std::string& owner, const Row& row) {
  model::Route route;
  return row.version != 0 && route.ParseFromString(row.value) && route.owner() == owner;
}

// Those of others are as good as absent, and are not even read: how much room they would take in an
// answer is not to be seen either.
Answer get_jobs(const std::string& owner, Core& core, Get&& get, Instant now) {
  Get own{.table = get.table, .keys = {}};
  for (const std::string& key : get.keys) {
    if (is_job_of(owner, key)) own.keys.push_back(key);
  }
  Rows answer;
  std::vector<Row> found;
  if (!own.keys.empty()) {
    Answer some = core.handle(std::move(own), now);
    auto* rows = std::get_if<Rows>(&some);
    if (rows == nullptr) return some;
    found = std::move(rows->rows);
  }
  auto next = found.begin();
  for (std::string& key : get.keys) {
    if (!is_job_of(owner, key)) {
      answer.rows.push_back({.key = std::move(key), .value = {}, .version = 0});
    } else if (next == found.end()) {
      break;  // There was no room for more.
    } else {
      answer.rows.push_back(std::move(*next++));
    }
  }
  return answer;
}

Answer get_routes(const std::string& owner, Core& core, Get&& get, Instant now) {
  Answer answer = core.handle(std::move(get), now);
  if (auto* rows = std::get_if<Rows>(&answer)) {
    for (Row& row : rows->rows) {
      if (!is_route_of(owner, row)) row = {.key = std::move(row.key), .value = {}, .version = 0};
    }
  }
  return answer;
}

Answer ask_depth(const std::string& owner, Core& core, AskDepth&& ask, Instant now) {
  if (ask.queue.starts_with(kReplyPrefix)) return core.handle(std::move(ask), now);
  Answer answer = core.handle(Get{std::string(kRoutes), {ask.queue}}, now);
  const auto* rows = std::get_if<Rows>(&answer);
  if (rows == nullptr) return answer;
  if (rows->rows.empty() || !is_route_of(owner, rows->rows.front())) {
    return Error{
        Code::denied,
        fmt::format(
            "the token is bound to the owner {0}, and the queue {1} belongs to no route of {0}",
            owner, ask.queue)};
  }
  return core.handle(std::move(ask), now);
}

}  // namespace

bool note_owned(Commit& commit) {
  std::vector<Write> more;
  for (const Write& write : commit.writes) {
    const auto* put = std::get_if<Put>(&write);
    const auto* erase = std::get_if<Erase>(&write);
    if (put != nullptr && put->table == kJobs) {
      const std::string_view owner = owner_of_job(put->key);
      if (owner.empty() || (put->version != 0 && put->version != kAnyVersion)) continue;
      more.emplace_back(Put{std::string(kOwnedJobs), owned_row(owner, put->key), "", kAnyVersion});
    } else if (erase != nullptr && erase->table == kJobs) {
      const std::string_view owner = owner_of_job(erase->key);
      if (owner.empty()) continue;
      more.emplace_back(Erase{std::string(kOwnedJobs), owned_row(owner, erase->key), kAnyVersion});
    }
  }
  std::ranges::move(more, std::back_inserter(commit.writes));
  return !more.empty();
}

Answer handle_as(const std::string& owner, Core& core, Request&& request, Instant now) {
  if (auto* scan = std::get_if<Scan>(&request)) {
    if (scan->table == kJobs) return scan_jobs(owner, core, std::move(*scan), now);
    if (scan->table == kHistory) return scan_history(owner, core, std::move(*scan), now);
  } else if (auto* get = std::get_if<Get>(&request)) {
    if (get->table == kJobs) return get_jobs(owner, core, std::move(*get), now);
    if (get->table == kRoutes) return get_routes(owner, core, std::move(*get), now);
  } else if (auto* ask = std::get_if<AskDepth>(&request)) {
    return ask_depth(owner, core, std::move(*ask), now);
  }
  return core.handle(std::move(request), now);
}

Answer list_public(Core& core, BlobList&& list, Instant now) {
  Answer answer = core.handle(BlobList(list), now);
  auto* names = std::get_if<BlobNames>(&answer);
  if (names == nullptr || names->blobs.empty()) return answer;
  const auto is_private = [](const BlobInfo& blob) { return blob.name.starts_with(kPrivateBlobs); };
  std::erase_if(names->blobs, is_private);
  if (!names->blobs.empty()) return answer;
  // An empty page would be the end: go on behind them.
  std::string behind(kPrivateBlobs);
  behind.back() = static_cast<char>(behind.back() + 1);
  list.after = std::max(list.after, behind);
  Answer rest = core.handle(std::move(list), now);
  return rest;
}

}  // namespace dunlin::hub
