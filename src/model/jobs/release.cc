#include "model/jobs/release.h"

#include <fmt/format.h>
#include <utility>

#include "model/jobs/cascade.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "store/compare_and_set.h"

namespace dunlin {
namespace {

Erase forget_mark(const std::string& ended) {
  return {std::string(kAfter), after_key(ended, ""), kAnyVersion};
}

Answer carry_out(Store& store, const Request& request) {
  if (const auto* get = std::get_if<Get>(&request)) {
    auto rows = store.table().get(get->table, get->keys);
    return rows.ok() ? Answer(Rows{std::move(rows).value()}) : rows.error();
  }
  if (const auto* scan = std::get_if<Scan>(&request)) {
    auto rows = store.table().scan(scan->table, scan->prefix, scan->after, scan->max);
    return rows.ok() ? Answer(Rows{std::move(rows).value()}) : rows.error();
  }
  const auto committed = store.commit(std::get<Commit>(request).writes);
  return committed.ok() ? Answer(Committed{committed.value()}) : committed.error();
}

Result<void> run(Store& store, Cascade cascade, int64_t now_us) {
  while (!cascade.done()) TRY(cascade.take(carry_out(store, cascade.next(now_us))));
  return cascade.trouble() ? Result<void>(*cascade.trouble()) : Result<void>();
}

}  // namespace

Result<Decision> decide_release(const model::Spec& spec, std::span<const Row> ends) {
  if (ends.size() != static_cast<size_t>(spec.after_size())) {
    return Error{Code::corrupt, fmt::format("the store gave {} rows for {} keys of table {}",
                                            ends.size(), spec.after_size(), kEnds)};
  }
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
  // Its route may have been removed while it waited.
  std::vector<Write> writes = {same_again(job), put_route(job.record),
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
  return run(store, Cascade::of(job), now_us);
}

Result<void> release_dependants(Store& store, const std::string& ended, int64_t now_us) {
  // If others are in the way each time, the mark stays, and whoever looks at the end next goes on.
  const auto released = compare_and_set([&]() -> Round<uint64_t> {
    const Row end = TRY(get_row(store.table(), kEnds, ended));
    if (end.version == 0) return std::optional(end.version);
    TRY(run(store, Cascade::after(ended), now_us));
    // A conflict: it was opened again; or a submission of another job after it has compared the
    // end.
    return unless_conflict(store.commit(released_writes(end)));
  });
  return released.ok() ? Result<void>() : released.error();
}

}  // namespace dunlin
