#include "model/release.h"

#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "model/keys.h"
#include "model/submit.h"

namespace dunlin {
namespace {

constexpr size_t kSkippedMax = 100'000;  // Jobs in one cascade.
constexpr size_t kRowsPerScan = 1000;

Put same_again(const Stored<model::Job>& job) {
  return {std::string(kJobs), job.record.id(), job.record.SerializeAsString(), job.version};
}

Erase forget_mark(const std::string& ended) {
  return {std::string(kAfter), after_key(ended, ""), kAnyVersion};
}

// Does what is due for one job. Returns it if it has ended without a start, so that what comes
// after it must be looked at, and then its rows forgotten.
Result<std::optional<model::Job>> release_one(Store& store, const std::string& id, int64_t now_us) {
  constexpr int kTriesMax = 20;
  Table& table = store.table();
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const Stored<model::Job> job = TRY(read_job(table, id));
    if (TRY(get_row(table, kWaits, id)).version == 0) break;
    if (TRY(get_row(table, kEnds, id)).version != 0) return std::optional(job.record);
    const model::Spec& spec = job.record.spec();
    const std::vector<std::string> keys(spec.after().begin(), spec.after().end());
    const std::vector<Row> ends = TRY(get_rows(table, kEnds, keys));
    const Decision decision = TRY(decide_release(spec, ends));
    if (decision.what == Release::wait) break;
    const bool go = decision.what == Release::go;
    const auto committed =
        store.commit(go ? go_writes(job, now_us) : skip_writes(job, decision.why, now_us));
    if (committed.ok() && go) break;
    if (committed.ok()) return std::optional(job.record);
    if (committed.error().code != Code::conflict) return committed.error();
  }
  return std::optional<model::Job>();
}

Result<void> append_dependants(Table& table, const std::string& ended,
                               std::deque<std::string>& into) {
  const std::string prefix = after_key(ended, "");
  std::string after;
  while (true) {
    const std::vector<Row> rows = TRY(table.scan(kAfter, prefix, after, kRowsPerScan));
    if (rows.empty()) return {};
    for (const Row& row : rows) {
      if (row.key.size() > prefix.size()) into.push_back(row.key.substr(prefix.size()));
    }
    after = rows.back().key;
  }
}

Result<void> release_all(Store& store, std::deque<std::string> jobs, int64_t now_us) {
  std::map<std::string, model::Job> ended;
  std::vector<const model::Job*> order;
  while (!jobs.empty()) {
    const std::string id = jobs.front();
    jobs.pop_front();
    if (ended.contains(id)) continue;
    auto job = TRY(release_one(store, id, now_us));
    if (!job) continue;
    if (ended.size() >= kSkippedMax) {
      return Error{Code::full, fmt::format("more than {} jobs depend on one", kSkippedMax)};
    }
    order.push_back(&ended.emplace(id, *std::move(job)).first->second);
    TRY(append_dependants(store.table(), id, jobs));
  }
  // Last, and from the far end: if we die on the way, whoever repeats this finds the rest.
  for (size_t i = order.size(); i-- > 0;) {
    TRY(store.commit(skipped_writes(*order[i])));
  }
  return {};
}

}  // namespace

Result<Decision> decide_release(const model::Spec& spec, std::span<const Row> ends) {
  CHECK(ends.size() == static_cast<size_t>(spec.after_size()));
  Decision decision{.what = Release::go};
  for (const Row& row : ends) {
    if (row.version == 0) {
      decision.what = Release::wait;
      continue;
    }
    const model::End end = TRY(parse_row<model::End>(kEnds, row)).record;
    if (end.kind() == model::End::DONE && end.failed() == 0) continue;
    std::string how = fmt::format("had {} of {} tasks fail", end.failed(), end.ok() + end.failed());
    if (end.kind() == model::End::CANCELLED) how = "was cancelled";
    if (end.kind() == model::End::SKIPPED) how = "was skipped";
    return Decision{Release::skip, fmt::format("job {} {}", row.key, how)};
  }
  return decision;
}

std::vector<Write> go_writes(const Stored<model::Job>& job, int64_t now_us) {
  std::vector<Write> writes = {same_again(job),
                               Push{job.record.queue(), first_messages(job.record, now_us)}};
  for (Write& write : forget_writes(job.record)) writes.push_back(std::move(write));
  return writes;
}

std::vector<Write> skip_writes(const Stored<model::Job>& job, const std::string& why,
                               int64_t now_us) {
  return {same_again(job), skipped_end(job.record.id(), why, now_us)};
}

Put skipped_end(const std::string& job, const std::string& why, int64_t now_us) {
  model::End end;
  end.set_kind(model::End::SKIPPED);
  end.set_why(why);
  end.set_ended_us(now_us);
  return {std::string(kEnds), job, end.SerializeAsString(), 0};
}

std::vector<Write> forget_writes(const model::Job& job) {
  std::vector<Write> writes;
  for (const std::string& other : job.spec().after()) {
    writes.emplace_back(Erase{std::string(kAfter), after_key(other, job.id()), kAnyVersion});
  }
  writes.emplace_back(Erase{std::string(kWaits), job.id(), kAnyVersion});
  return writes;
}

std::vector<Write> skipped_writes(const model::Job& job) {
  std::vector<Write> writes = forget_writes(job);
  writes.emplace_back(forget_mark(job.id()));
  return writes;
}

std::vector<Write> released_writes(const Row& end) {
  return {Put{std::string(kEnds), end.key, end.value, end.version}, forget_mark(end.key)};
}

Result<void> release_if_ready(Store& store, const std::string& job, int64_t now_us) {
  return release_all(store, {job}, now_us);
}

Result<void> release_dependants(Store& store, const std::string& ended, int64_t now_us) {
  const Row end = TRY(get_row(store.table(), kEnds, ended));
  if (end.version == 0) return {};
  std::deque<std::string> jobs;
  TRY(append_dependants(store.table(), ended, jobs));
  TRY(release_all(store, std::move(jobs), now_us));
  const auto committed = store.commit(released_writes(end));
  if (!committed.ok() && committed.error().code != Code::conflict) return committed.error();
  return {};
}

}  // namespace dunlin
