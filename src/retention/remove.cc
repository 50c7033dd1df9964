#include "retention/remove.h"

#include <algorithm>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/release.h"
#include "model/jobs/submit.h"
#include "model/jobs/tree.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/sound.h"
#include "store/compare_and_set.h"

namespace dunlin::retention {
namespace {

constexpr size_t kGroupMax = 200;  // Jobs of one commit.
constexpr size_t kRowsPerJob = 6;  // Of a removal, at most.
constexpr int kPullsMax = 1000;    // Of replies, at one go.
constexpr size_t kRepliesPerPull = 256;
constexpr char kBehindSlash = '0';  // Behind all that is "JOB/...".
constexpr Millis kReplyHold = std::chrono::seconds(10);

int64_t us(Millis time) { return time.count() * 1000; }

// What is needed to clear the job away.
model::Job stone_of(const model::Job& job, int64_t now_us) {
  model::Job stone;
  stone.set_id(job.id());
  stone.set_queue(job.queue());
  stone.set_key(job.key());
  stone.set_round(job.round());
  stone.set_gone_us(now_us);
  model::Spec& spec = *stone.mutable_spec();
  spec.set_owner(job.spec().owner());
  spec.set_tasks(job.spec().tasks());
  spec.set_reply(job.spec().reply());
  *spec.mutable_after() = job.spec().after();
  if (job.spec().has_iterations()) *spec.mutable_iterations() = job.spec().iterations();
  return stone;
}

// What a job names is asked of the store: if it refused that, one row would stop the sweep for all.
bool is_clearable(const model::Job& job) {
  const model::Spec& spec = job.spec();
  return (spec.owner().empty() || is_name(spec.owner())) &&
         (spec.reply().empty() || is_name(spec.reply())) &&
         (job.key().empty() || is_visible(job.key(), kKeyMax)) && is_after(spec.after());
}

Candidate read_one(const Row& row, const Row& end_row) {
  auto job = parse_row<model::Job>(kJobs, row);
  auto end = parse_row<model::End>(kEnds, end_row);
  Candidate one;
  one.damaged = true;
  if (!job.ok() || !end.ok()) {
    log::warning("{}", (job.ok() ? end.error() : job.error()).what);
  } else if (!is_clearable(job.value().record)) {
    log::warning("row {} of table jobs is malformed and stays", row.key);
  } else {
    one = {std::move(job).value(), std::move(end).value()};
    // A stone of a time that cannot be was always here.
    if (!is_time_us(one.job.record.gone_us())) one.job.record.set_gone_us(1);
  }
  return one;
}

Verdict judge(const Candidate& one) {
  if (one.job.version == 0 || one.job.record.gone_us() != 0) return Verdict::absent;
  return one.end.version == 0 ? Verdict::open : Verdict::removed;
}

void add(const model::History& more, model::History& history) {
  history.set_jobs(history.jobs() + more.jobs());
  history.set_ok(history.ok() + more.ok());
  history.set_failed(history.failed() + more.failed());
  history.set_cancelled(history.cancelled() + more.cancelled());
  history.set_skipped(history.skipped() + more.skipped());
}

model::History history_of(const model::End& end) {
  model::History history;
  history.set_jobs(1);
  history.set_ok(end.ok());
  history.set_failed(end.failed());
  history.set_cancelled(end.kind() == model::End::CANCELLED ? 1 : 0);
  history.set_skipped(end.kind() == model::End::SKIPPED ? 1 : 0);
  return history;
}

std::string prefix_of(const std::string& job) { return job + '/'; }

std::string until_slash(std::string_view text) {
  return std::string(text.substr(0, text.find('/')));
}

}  // namespace

std::string history_key(int64_t ended_us, std::string_view owner) {
  const std::chrono::sys_days day =
      std::chrono::floor<std::chrono::days>(std::chrono::sys_time<std::chrono::microseconds>(
          std::chrono::microseconds(std::clamp<int64_t>(ended_us, 0, kTimeMostUs))));
  // Not by the system's clock, whose nanoseconds end in the year 2262.
  const std::time_t seconds = std::chrono::seconds(day.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%d}/{}", fmt::gmtime(seconds), owner);
}

std::string own_reply_queue(std::string_view job) { return fmt::format("reply.{}", job); }

Result<std::vector<Candidate>> Remover::read(const std::vector<std::string>& jobs) {
  std::vector<std::string> names;
  std::ranges::copy_if(jobs, std::back_inserter(names), is_name);
  const std::vector<Row> rows = TRY(get_rows(store_.table(), kJobs, names));
  const std::vector<Row> ends = TRY(get_rows(store_.table(), kEnds, names));
  std::vector<Candidate> found;
  found.reserve(jobs.size());
  size_t row = 0;
  for (const std::string& id : jobs) {
    Candidate& one = found.emplace_back();
    if (is_name(id)) {
      one = read_one(rows[row], ends[row]);
      ++row;
    } else {
      log::warning("a row names {}, which is not a job id", quote(id));
      one.damaged = true;
    }
    one.job.record.set_id(id);
  }
  return found;
}

Result<std::vector<Verdict>> Remover::remove(std::span<Candidate> jobs, WallTime now) {
  const size_t most = std::clamp<size_t>(options_.commit_rows / kRowsPerJob, 1, kGroupMax);
  std::vector<Verdict> verdicts;
  for (size_t at = 0; at < jobs.size(); at += most) {
    const std::span<Candidate> group = jobs.subspan(at, std::min(most, jobs.size() - at));
    const std::vector<Verdict> some = TRY(remove_group(group, to_us(now)));
    std::vector<model::Job> old;
    std::vector<model::Job> late;
    for (size_t i = 0; i < group.size(); ++i) {
      if (some[i] != Verdict::removed || group[i].job.version == 0) continue;
      (is_old(group[i]) ? old : late).push_back(group[i].job.record);
    }
    Result<void> cleared = clear_some(old, true, now);
    if (cleared.ok()) cleared = clear_some(late, false, now);
    if (!cleared.ok() && cleared.error().code != Code::denied) return cleared.error();
    std::ranges::copy(some, std::back_inserter(verdicts));
  }
  return verdicts;
}

Result<std::vector<Remover::Way>> Remover::choose(std::span<const Candidate> group) {
  std::vector<Way> ways;
  std::vector<std::string> ended;
  for (const Candidate& one : group) {
    if (judge(one) == Verdict::removed) ended.push_back(one.job.record.id());
  }
  // A job that waits for several keeps its row here until the last of them has ended. New ones
  // cannot come: they would change the end's row.
  const std::set<std::string> awaited = TRY(those_with_rows(kAfter, ended));
  std::vector<std::string> small;
  for (const Candidate& one : group) {
    const model::Spec& spec = one.job.record.spec();
    const bool is_small = is_old(one) && spec.tasks() <= kPageTasks && !spec.has_iterations() &&
                          spec.after_size() == 0;
    ways.push_back(judge(one) != Verdict::removed          ? Way::stays
                   : awaited.contains(one.job.record.id()) ? Way::awaited
                   : is_small                              ? Way::at_once
                                                           : Way::by_stone);
    if (ways.back() == Way::at_once) small.push_back(one.job.record.id());
  }
  std::set<std::string> large = TRY(those_with_blobs(small));
  large.merge(TRY(those_with_rows(kOutputs, small)));
  for (size_t i = 0; i < group.size(); ++i) {
    if (ways[i] == Way::at_once && large.contains(group[i].job.record.id()))
      ways[i] = Way::by_stone;
  }
  return ways;
}

std::string Remover::stone_row(const model::Job& stone) const {
  return expiry_key(stone.gone_us() + us(options_.stone_kept), stone.id());
}

// Together if nobody is in the way, else one by one.
Result<std::vector<Verdict>> Remover::remove_group(std::span<Candidate> group, int64_t now_us) {
  const std::vector<Way> ways = TRY(choose(group));
  const bool together = TRY(commit_removal(group, ways, now_us));
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < group.size(); ++i) {
    if (ways[i] == Way::stays || ways[i] == Way::awaited) {
      verdicts.push_back(ways[i] == Way::stays ? judge(group[i]) : Verdict::awaited);
    } else {
      verdicts.push_back(together ? Verdict::removed : TRY(bury_one(group[i], now_us)));
    }
  }
  return verdicts;
}

Result<Verdict> Remover::bury_one(Candidate& one, int64_t now_us) {
  const std::string id = one.job.record.id();
  bool again = false;
  const auto verdict = compare_and_set([&]() -> Round<Verdict> {
    if (std::exchange(again, true)) one = std::move(TRY(read({id})).front());
    const Verdict judged = judge(one);
    if (judged != Verdict::removed) return std::optional(judged);
    const auto others = TRY(store_.table().scan(kAfter, prefix_of(id), "", 1));
    if (!others.empty()) return std::optional(Verdict::awaited);
    const Way way = Way::by_stone;
    const bool gone = TRY(commit_removal(std::span(&one, 1), std::span(&way, 1), now_us));
    return gone ? std::optional(Verdict::removed) : std::nullopt;
  });
  return TRY(verdict).value_or(Verdict::busy);
}

// False: a row has changed since it was read. Else the jobs that go by a stone are their stones
// now, and those that went at once have the version 0.
Result<bool> Remover::commit_removal(std::span<Candidate> group, std::span<const Way> ways,
                                     int64_t now_us) {
  std::vector<Write> writes;
  std::map<std::string, model::History> gone;
  std::vector<model::Job> stones(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    const Candidate& one = group[i];
    const std::string& id = one.job.record.id();
    const model::End& end = one.end.record;
    if (ways[i] == Way::stays || ways[i] == Way::awaited) continue;
    // Nobody waits for it, and nobody has retried it or submitted a job after it.
    writes.emplace_back(Erase{std::string(kAfter), after_key(id, ""), 0});
    if (ways[i] == Way::at_once) {
      TRY(add_erasure(one, writes));
    } else {
      stones[i] = stone_of(one.job.record, now_us);
      writes.emplace_back(
          Put{std::string(kJobs), id, stones[i].SerializeAsString(), one.job.version});
      writes.emplace_back(Put{std::string(kEnds), id, end.SerializeAsString(), one.end.version});
      writes.emplace_back(Put{std::string(kExpiry), stone_row(stones[i]), "", kAnyVersion});
    }
    add(history_of(end), gone[history_key(end.ended_us(), one.job.record.spec().owner())]);
  }
  if (writes.empty()) return true;
  for (auto& [key, counts] : gone) {
    const Row row = TRY(get_row(store_.table(), kHistory, key));
    model::History before;
    if (before.ParseFromString(row.value)) add(before, counts);  // Else it begins again.
    writes.emplace_back(Put{std::string(kHistory), key, counts.SerializeAsString(), row.version});
  }
  if (!TRY(are_there(group, ways))) return false;
  const auto committed = store_.commit(writes);
  if (!committed.ok() && committed.error().code == Code::conflict) return false;
  if (!committed.ok()) return committed.error();
  for (size_t i = 0; i < group.size(); ++i) {
    if (ways[i] == Way::by_stone) group[i].job = {std::move(stones[i]), committed.value()};
    if (ways[i] != Way::at_once) continue;
    group[i].job.version = 0;
    TRY(drop_own_replies(group[i].job.record, now_us));
  }
  return true;
}

// An erasure does not tell whether the row was there. Whoever removes the same jobs beside us
// changes the history as well: if they are there after we have read it, they are counted once.
Result<bool> Remover::are_there(std::span<const Candidate> group, std::span<const Way> ways) {
  std::vector<std::string> ids;
  std::vector<uint64_t> versions;
  for (size_t i = 0; i < group.size(); ++i) {
    if (ways[i] != Way::at_once) continue;
    ids.push_back(group[i].job.record.id());
    versions.push_back(group[i].job.version);
  }
  if (ids.empty()) return true;
  const std::vector<Row> rows = TRY(get_rows(store_.table(), kJobs, ids));
  return std::ranges::equal(rows, versions, {}, &Row::version);
}

// All of a small job. Should a store apply only the first of these, the job is found again.
Result<void> Remover::add_erasure(const Candidate& one, std::vector<Write>& writes) {
  const std::string& id = one.job.record.id();
  writes.emplace_back(Erase{std::string(kPages), page_key(id, 0), kAnyVersion});
  if (!one.job.record.key().empty()) {
    const Row key = TRY(get_row(store_.table(), kKeys, one.job.record.key()));
    if (key.version != 0 && key.value == id) {
      writes.emplace_back(Erase{std::string(kKeys), key.key, key.version});
    }
  }
  writes.emplace_back(Erase{std::string(kEnds), id, one.end.version});
  writes.emplace_back(Erase{std::string(kJobs), id, one.job.version});
  return {};
}

// Which of the jobs has something in a list that is sorted by job: one look for each that has, not
// for each that may. `next` gives the first job there whose part of the list is behind `after`, or
// nothing. Jobs of owners are looked at one by one, with `has`: who removes them sees no others.
Result<std::set<std::string>> Remover::those_with(std::span<const std::string> jobs,
                                                  const Found& next, const Has& has) {
  std::set<std::string> parts;
  std::set<std::string> found;
  for (const std::string& job : jobs) {
    if (owner_of_job(job).empty()) {
      parts.insert(prefix_of(job));
    } else if (TRY(has(job))) {
      found.insert(job);
    }
  }
  auto at = parts.begin();
  while (at != parts.end()) {
    const std::string job = TRY(next(*at));
    if (job.empty()) break;
    at = parts.lower_bound(prefix_of(job));
    if (at == parts.end() || *at != prefix_of(job)) continue;
    found.insert(job);
    ++at;
  }
  return found;
}

Result<std::string> Remover::next_with_blob(const std::string& after) {
  const std::vector<BlobInfo> some =
      TRY(store_.blobs().list(kJobBlobs, std::string(kJobBlobs) + after, 1));
  if (some.empty()) return std::string();
  const std::string_view name = std::string_view(some.front().name).substr(kJobBlobs.size());
  if (name.starts_with('/')) return next_with_blob(std::string(1, kBehindSlash));
  return until_slash(name);
}

Result<std::string> Remover::next_with_row(std::string_view table, const std::string& after) {
  const std::vector<Row> some = TRY(store_.table().scan(table, "", after, 1));
  if (some.empty()) return std::string();
  if (some.front().key.starts_with('/')) return next_with_row(table, std::string(1, kBehindSlash));
  return until_slash(some.front().key);
}

Result<std::set<std::string>> Remover::those_with_blobs(std::span<const std::string> jobs) {
  return those_with(
      jobs, [this](const std::string& after) { return next_with_blob(after); },
      [this](const std::string& job) -> Result<bool> {
        const std::string prefix = std::string(kJobBlobs) + prefix_of(job);
        return !TRY(store_.blobs().list(prefix, "", 1)).empty();
      });
}

Result<std::set<std::string>> Remover::those_with_rows(std::string_view table,
                                                       std::span<const std::string> jobs) {
  return those_with(
      jobs, [&](const std::string& after) { return next_with_row(table, after); },
      [&](const std::string& job) -> Result<bool> {
        return !TRY(store_.table().scan(table, prefix_of(job), "", 1)).empty();
      });
}

Result<void> Remover::erase_orphans(const std::string& until, const Found& next,
                                    const std::function<Result<void>(const std::string&)>& erase) {
  std::string after;
  while (true) {
    std::vector<std::string> jobs;
    while (jobs.size() < kGroupMax) {
      const std::string job = TRY(next(after));
      if (job.empty() || job >= until) break;
      after = job + kBehindSlash;
      if (is_job_id(job)) jobs.push_back(job);  // Else it is a user's.
    }
    if (jobs.empty()) return {};
    for (const Candidate& one : TRY(read(jobs))) {
      if (one.job.version == 0 && !one.damaged) TRY(erase(one.job.record.id()));
    }
  }
}

Result<void> Remover::erase_orphans(const std::string& until) {
  TRY(erase_orphans(
      until, [this](const std::string& after) { return next_with_blob(after); },
      [this](const std::string& job) { return erase_blobs(job); }));
  for (const std::string_view table : {kOutputs, kPages, kNodes}) {
    TRY(erase_orphans(
        until, [&](const std::string& after) { return next_with_row(table, after); },
        [&](const std::string& job) { return erase_rows(table, job); }));
  }
  // A partition that came back begins a ledger of its own.
  return erase_orphans(
      until, [this](const std::string& after) { return next_with_row(kLedgers, after); },
      [this](const std::string& job) { return store_.table().erase(kLedgers, job, kAnyVersion); });
}

Result<void> Remover::clear(std::vector<model::Job> stones, WallTime now) {
  const auto late = std::ranges::partition(stones, [&](const model::Job& stone) {
    return to_us(now) - stone.gone_us() >= us(options_.stone_kept);
  });
  const auto resting = static_cast<size_t>(late.begin() - stones.begin());
  TRY(clear_some(std::span(stones).first(resting), true, now));
  return clear_some(std::span(stones).subspan(resting), false, now);
}

Result<void> Remover::clear_some(std::span<const model::Job> stones, bool with_stones,
                                 WallTime now) {
  if (stones.empty()) return {};
  waiting_.clear();
  std::vector<std::string> ids;
  for (const model::Job& stone : stones) ids.push_back(stone.id());
  for (const std::string& job : TRY(those_with_blobs(ids))) TRY(erase_blobs(job));
  for (const std::string& job : TRY(those_with_rows(kOutputs, ids))) TRY(erase_rows(kOutputs, job));
  for (const model::Job& stone : stones) {
    TRY(clear_rows(stone));
    if (with_stones) TRY(erase_stone(stone));
  }
  TRY(flush());
  for (const model::Job& stone : stones) TRY(drop_own_replies(stone, to_us(now)));
  return {};
}

Result<void> Remover::erase_blobs(const std::string& job) {
  const std::string prefix = std::string(kJobBlobs) + prefix_of(job);
  while (true) {
    const std::vector<BlobInfo> some = TRY(store_.blobs().list(prefix, "", 1000));
    if (some.empty()) return {};
    for (const BlobInfo& blob : some) TRY(store_.blobs().erase(blob.name));
  }
}

Result<void> Remover::erase_rows(std::string_view table, const std::string& job) {
  while (TRY(store_.table().erase_all(table, prefix_of(job))) > 0) {
  }
  return {};
}

Result<void> Remover::clear_rows(const model::Job& stone) {
  const uint64_t tasks = std::clamp<uint64_t>(stone.spec().tasks(), 1, kTasksMax);
  const std::string& id = stone.id();
  std::vector<Write> writes;
  if (root_level(tasks) == 0) {
    writes.emplace_back(Erase{std::string(kPages), page_key(id, 0), kAnyVersion});
  } else {
    TRY(erase_rows(kPages, id));
    TRY(erase_rows(kNodes, id));
  }
  if (stone.spec().has_iterations()) {
    writes.emplace_back(Erase{std::string(kLedgers), id, kAnyVersion});
  }
  return write(std::move(writes));
}

Result<void> Remover::erase_stone(const model::Job& stone) {
  const std::string& id = stone.id();
  if (stone.spec().after_size() > 0) {
    for (Write& one : forget_writes(stone)) TRY(write({std::move(one)}));
  }
  std::vector<Write> writes;
  if (!stone.key().empty()) {
    const Row key = TRY(get_row(store_.table(), kKeys, stone.key()));
    if (key.version != 0 && key.value == id) {
      writes.emplace_back(Erase{std::string(kKeys), stone.key(), key.version});
    }
  }
  writes.emplace_back(Erase{std::string(kEnds), id, kAnyVersion});
  writes.emplace_back(Erase{std::string(kJobs), id, kAnyVersion});
  writes.emplace_back(Erase{std::string(kExpiry), stone_row(stone), kAnyVersion});
  return write(std::move(writes));
}

// What is of other jobs is given back.
Result<void> Remover::drop_replies(const std::string& name, int64_t ended_us) {
  Queue& queue = store_.queue();
  for (int pulls = 0; pulls < kPullsMax; ++pulls) {
    if (TRY(queue.depth(name)).ready == 0) break;
    const std::vector<dunlin::Delivery> some =
        TRY(queue.pull(name, kRepliesPerPull, kReplyHold, Millis(0)));
    std::vector<std::string> jobs;
    std::set<std::string> named;
    for (const dunlin::Delivery& delivery : some) {
      model::Reply reply;
      jobs.push_back(reply.ParseFromString(delivery.body) ? reply.job() : "");
      if (!jobs.back().empty()) named.insert(jobs.back());
    }
    std::set<std::string> wanted;
    for (const Candidate& one : TRY(read({named.begin(), named.end()}))) {
      const Verdict verdict = judge(one);
      if (verdict == Verdict::absent) continue;
      if (verdict == Verdict::open || one.end.record.ended_us() >= ended_us) {
        wanted.insert(one.job.record.id());
      }
    }
    std::vector<Lease> done;
    std::vector<Lease> others;
    for (size_t i = 0; i < some.size(); ++i) {
      (wanted.contains(jobs[i]) ? others : done).push_back(some[i].lease);
    }
    if (!others.empty()) TRY(queue.renew(name, others, Millis(0)));
    if (done.empty()) break;
    const Result<void> finished = queue.finish(name, done);
    if (!finished.ok() && finished.error().code != Code::conflict) return finished.error();
  }
  return {};
}

// Those of a `submit --wait` that did not wait to the end, with their queue.
Result<void> Remover::drop_own_replies(const model::Job& job, int64_t now_us) {
  if (job.spec().reply() != own_reply_queue(job.id())) return {};
  TRY(drop_replies(job.spec().reply(), now_us));
  return store_.drop_queue(job.spec().reply());
}

Result<void> Remover::write(std::vector<Write> writes) {
  if (waiting_.size() + writes.size() > std::min(options_.commit_rows, kBatchMax / 2)) TRY(flush());
  std::ranges::move(writes, std::back_inserter(waiting_));
  return {};
}

// What is erased may be erased again: a conflict is somebody who used the key again.
Result<void> Remover::flush() {
  if (waiting_.empty()) return {};
  const auto committed = store_.commit(std::exchange(waiting_, {}));
  if (committed.ok() || committed.error().code == Code::conflict) return {};
  return committed.error();
}

}  // namespace dunlin::retention
