#include "model/jobs/submit.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/names.h"
#include "model/jobs/release.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/tasks/submit_folder.h"
#include "store/compare_and_set.h"

namespace dunlin {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";  // In ASCII order.
constexpr int kTimeDigits = 9;  // 45 bits of milliseconds: for a thousand years.
constexpr int kRandomDigits = 4;
constexpr uint64_t kPartitionMessages = 16;  // Some stores take few rows in a commit.

void append_digits(std::string& out, uint64_t value, int digits) {
  for (int i = digits; i-- > 0;) out += kDigits[value >> (5U * static_cast<unsigned>(i)) & 31U];
}

// Without what differs between two submissions of the same thing.
model::Spec essence(const model::Job& job) {
  model::Spec spec = job.spec();
  spec.clear_created_us();
  spec.clear_reply();
  spec.clear_finish_by_ms();
  spec.set_cwd(std::string(path_of(job.spec().cwd())));
  if (spec.has_iterations()) {  // However many partitions share them.
    spec.clear_tasks();
    spec.mutable_iterations()->clear_partitions();
  }
  std::ranges::stable_sort(*spec.mutable_env(), {}, &model::Variable::name);
  std::ranges::sort(*spec.mutable_retry_on());
  const auto repeated = std::ranges::unique(*spec.mutable_retry_on());
  spec.mutable_retry_on()->erase(repeated.begin(), repeated.end());
  spec.clear_stdin();  // Compared by itself: it may stand in the job or in a blob.
  spec.clear_stdin_blob();
  const std::string own = input_blob_name(job.id(), "");
  const auto shorten = [&](std::string& name) {
    if (name.starts_with(own)) name.erase(0, own.size());
  };
  for (model::Source& source : *spec.mutable_inputs()->mutable_sources()) {
    shorten(*source.mutable_blob());
  }
  return spec;
}

// At the same time, or after as long as the other.
bool same_deadline(const model::Spec& one, const model::Spec& other) {
  const auto left_ms = [](const model::Spec& spec) {
    return spec.finish_by_ms() - spec.created_us() / 1000;
  };
  if (one.finish_by_ms() == other.finish_by_ms()) return true;
  return one.finish_by_ms() != 0 && other.finish_by_ms() != 0 && left_ms(one) == left_ms(other);
}

Result<bool> holds_same(Blobs& blobs, const std::string& name, const NamedBlob& wanted) {
  constexpr size_t kPart = 1 << 20;
  for (uint64_t offset = 0; offset < wanted.size;) {
    const std::string bytes = TRY(wanted.source(offset, kPart));
    Result<std::string> stored = blobs.get(name, offset, bytes.size());
    if (!stored.ok() && stored.error().code != Code::not_found) return stored.error();
    if (!stored.ok() || stored.value() != bytes || bytes.empty()) return false;
    offset += bytes.size();
  }
  return TRY(blobs.get(name, wanted.size, 1)).empty();
}

// Programs before this one kept a longer input in the job itself.
Result<bool> has_same_stdin(Store& store, const model::Spec& stored, const model::Spec& spec,
                            const std::vector<NamedBlob>& blobs) {
  const auto given = std::ranges::find(blobs, spec.stdin_blob(), &NamedBlob::name);
  const uint64_t size = given == blobs.end() ? spec.stdin().size() : given->size;
  if (stored.stdin_blob().empty()) {
    if (stored.stdin().size() != size) return false;
    return stored.stdin() == (given == blobs.end() ? spec.stdin() : TRY(given->source(0, size)));
  }
  if (given != blobs.end()) return holds_same(store.blobs(), stored.stdin_blob(), *given);
  return holds_same(store.blobs(), stored.stdin_blob(), blob_of_bytes("", spec.stdin()));
}

// Is what is stored the job that we are about to submit?
Result<bool> is_same(Store& store, const model::Job& stored, const model::Job& job,
                     const SubmitOptions& options) {
  if (essence(stored).SerializeAsString() != essence(job).SerializeAsString() ||
      !same_deadline(stored.spec(), job.spec())) {
    return false;
  }
  if (!TRY(has_same_stdin(store, stored.spec(), job.spec(), options.blobs))) return false;
  for (const NamedBlob& blob : options.blobs) {
    if (blob.name == job.spec().stdin_blob()) continue;
    const std::string which = blob.name.substr(input_blob_name(job.id(), "").size());
    if (!TRY(holds_same(store.blobs(), input_blob_name(stored.id(), which), blob))) return false;
  }
  return true;
}

// The job that was submitted with this key or id before, if it is the same one; none if there is
// none.
Result<std::optional<std::string>> find_existing(Store& store, const model::Job& job,
                                                 const SubmitOptions& options, const Row& key) {
  const std::string id = key.version != 0 ? key.value : job.id();
  const auto stored = TRY(read_record<model::Job>(store.table(), kJobs, id));
  const bool gone = stored.record.gone_us() != 0;
  if (gone && id == job.id()) return std::optional(id);  // It has ended, and was removed since.
  if (gone || stored.version == 0) return std::optional<std::string>();
  // Two may make the same id by chance. (What is ours may be there if its answer was lost, and the
  // row changed before the commit was repeated.)
  const bool taken =
      options.fresh && id == job.id() && stored.record.spec().reply() != job.spec().reply();
  if (!taken && TRY(is_same(store, stored.record, job, options))) return std::optional(id);
  if (id == job.id()) {
    return Error{Code::conflict,
                 fmt::format("the id {} belongs to another job: submit again with a new one", id)};
  }
  return Error{Code::conflict,
               fmt::format("the key {} belongs to job {}, which is a different one: use another "
                           "--key, or look at it with `dunlin status {}`",
                           quote(options.key), id, id)};
}

// Those that a job comes after, in the order of the spec.
struct Others {
  std::vector<Row> ends;
  std::vector<Stored<model::Job>> jobs;
};

// `not_found` if one is gone. The ends first: one that is removed after that changes its end.
Result<Others> read_others(Store& store, const model::Spec& spec) {
  Others others;
  if (spec.after_size() == 0) return others;
  const std::vector<std::string> keys(spec.after().begin(), spec.after().end());
  others.ends = TRY(get_rows(store.table(), kEnds, keys));
  for (const std::string& key : keys) others.jobs.push_back(TRY(read_job(store.table(), key)));
  return others;
}

// What comes after other jobs starts, waits or is skipped by how they stand at this very moment:
// if that changes before the commit, it conflicts. One that has not ended might end and go away
// before the commit, and would then have no end as well: so its own row is compared, too.
Result<std::vector<Write>> beginning(const model::Job& job, const Others& others) {
  std::vector<Write> writes;
  const Decision decision = TRY(decide_release(job.spec(), others.ends));
  const bool waits = decision.what == Release::wait;
  for (size_t i = 0; i < others.ends.size(); ++i) {
    const Row& end = others.ends[i];
    if (end.version != 0) {
      writes.emplace_back(Put{std::string(kEnds), end.key, end.value, end.version});
    } else {
      writes.emplace_back(Erase{std::string(kEnds), end.key, 0});
      writes.emplace_back(same_again(others.jobs[i]));
    }
    if (!waits) continue;
    // The mark makes whoever ends the other job look at what comes after it.
    if (end.version == 0) {
      writes.emplace_back(Put{std::string(kAfter), after_key(end.key, ""), "", kAnyVersion});
    }
    // One that has ended must stay until it is decided: its end will be asked for again.
    writes.emplace_back(Put{std::string(kAfter), after_key(end.key, job.id()), "", 0});
  }
  const int64_t now_us = job.spec().created_us();
  switch (decision.what) {
    case Release::wait:
      writes.emplace_back(Put{std::string(kWaits), job.id(), "", 0});
      break;
    case Release::go:
      writes.emplace_back(Push{job.queue(), first_messages(job, now_us)});
      break;
    case Release::skip:
      writes.emplace_back(skipped_end(job.id(), decision.why, now_us));
      break;
  }
  return writes;
}

// Where the route is, and that it is used. None if that is so already.
Result<std::optional<Put>> open_route(Table& table, const model::Job& job) {
  const Row row = TRY(get_row(table, kRoutes, job.queue()));
  Put put = put_route(job);
  put.version = row.version;
  // A damaged row is put again; in one that nobody uses, it says since when.
  return row.version == 0 || row.value != put.value ? std::optional(put) : std::nullopt;
}

// The one commit. `route`: if it must be put. `key`: its row as it is, which may name a job that is
// gone; none if the job has no key.
Result<std::vector<Write>> submission(const model::Job& job, const Row& key,
                                      const std::optional<Put>& route, const Others& others) {
  std::vector<Write> writes = TRY(beginning(job, others));
  writes.emplace_back(Put{std::string(kJobs), job.id(), job.SerializeAsString(), 0});
  if (route) writes.emplace_back(*route);
  if (job.spec().keep_ms() != 0 && job.spec().keep_ms() != kKeepForever) {
    const int64_t due_us =
        job.spec().created_us() + static_cast<int64_t>(job.spec().keep_ms()) * 1000;
    writes.emplace_back(Put{std::string(kExpiry), expiry_key(due_us, job.id()), "", kAnyVersion});
  }
  if (!key.key.empty()) {
    writes.emplace_back(Put{std::string(kKeys), key.key, job.id(), key.version});
  }
  return writes;
}

Result<void> put_blobs(Blobs& store, const std::vector<NamedBlob>& blobs) {
  for (const NamedBlob& blob : blobs) TRY(store.put(blob.name, blob.size, blob.source));
  return {};
}

// A job that this one comes after is gone, so nobody can submit it any more. Whoever did so before
// needs them.
Result<void> erase_blobs(Store& store, const std::string& job,
                         const std::vector<NamedBlob>& blobs) {
  if (TRY(get_row(store.table(), kJobs, job)).version != 0) return {};
  for (const NamedBlob& blob : blobs) TRY(store.blobs().erase(blob.name));
  return {};
}

// Each worker keeps it in memory.
Result<void> check_stdin(const model::Spec& spec, const std::vector<NamedBlob>& blobs) {
  if (spec.stdin_blob().empty()) return {};
  for (const NamedBlob& blob : blobs) {
    if (blob.name != spec.stdin_blob() || blob.size <= kStdinMax) continue;
    return Error{Code::invalid,
                 fmt::format("the standard input has {} bytes, more than the limit of {} (64 MiB): "
                             "store it where workers can read it, e.g. with `dunlin store blob "
                             "put`, and let the command read it there",
                             blob.size, kStdinMax)};
  }
  return {};
}

void tidy_up(model::Spec& spec) {
  auto& tags = *spec.mutable_requires_()->mutable_tags();
  std::ranges::sort(tags);
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  auto& after = *spec.mutable_after();
  std::ranges::sort(after);
  after.erase(std::unique(after.begin(), after.end()), after.end());
}

}  // namespace

std::string job_id_prefix(WallTime time) {
  std::string id;
  append_digits(id, static_cast<uint64_t>(std::max<int64_t>(0, time.time_since_epoch().count())),
                kTimeDigits);
  return id;
}

std::string make_job_id(Random& random, WallTime now) {
  std::string id = job_id_prefix(now);
  append_digits(id, random.next(), kRandomDigits);
  return id;
}

NamedBlob blob_of_bytes(std::string name, std::string bytes) {
  const uint64_t size = bytes.size();
  return {std::move(name), size,
          [all = std::move(bytes)](uint64_t offset, size_t max) -> Result<std::string> {
            return all.substr(std::min<uint64_t>(offset, all.size()), max);
          }};
}

std::string input_blob_name(std::string_view job, std::string_view which) {
  return fmt::format("jobs/{}/input/{}", job, which);
}

std::vector<Message> first_messages(const model::Job& job, int64_t sent_us) {
  const model::Spec& spec = job.spec();
  model::Range range;
  range.set_job(job.id());
  range.set_attempt(1);
  range.set_round(job.round());
  range.set_sent_us(sent_us);
  embed_spec(range, spec);
  std::vector<Message> messages;
  const auto add = [&](uint64_t first, uint64_t last) {
    range.set_first(first);
    range.set_last(last);
    messages.push_back({range_id(range), range.SerializeAsString()});
  };
  if (!spec.has_iterations()) {
    add(0, spec.tasks());
    return messages;
  }
  // Partitions are few and long: a worker with a free slot takes one.
  const uint64_t partitions = spec.iterations().partitions();
  const uint64_t each = (partitions + kPartitionMessages - 1) / kPartitionMessages;
  for (uint64_t first = 0; first < partitions; first += each) {
    add(first, std::min(first + each, partitions));
  }
  range.set_reserve(true);
  if (partitions < spec.tasks()) add(partitions, spec.tasks());
  return messages;
}

Result<Submitted> submit(Store& store, model::Spec spec, const SubmitOptions& options) {
  tidy_up(spec);
  TRY(validate_spec(spec));
  TRY(check_stdin(spec, options.blobs));
  if (!is_name(options.id)) {
    return Error{Code::invalid, fmt::format("the job id {} is not a name", quote(options.id))};
  }
  if (!options.key.empty() && !is_name(options.key)) {
    return Error{Code::invalid,
                 fmt::format("the key {} is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                             quote(options.key))};
  }
  model::Job job;
  job.set_id(options.id);
  job.set_queue(queue_of(route_of(spec)));
  const std::string key_row = dunlin::key_row(options.id, options.key);
  job.set_key(key_row);
  *job.mutable_spec() = std::move(spec);

  const Error busy = {Code::conflict, fmt::format("job {} could not be submitted because other "
                                                  "clients kept changing the same rows: try again",
                                                  job.id())};
  bool blobs_there = false;
  bool again = false;
  return compare_and_set(busy, [&]() -> Round<Submitted> {
    Row key;
    if (!key_row.empty()) key = TRY(get_row(store.table(), kKeys, key_row));
    const bool look = !options.fresh || std::exchange(again, true) || key.version != 0;
    const auto existing =
        look ? TRY(find_existing(store, job, options, key)) : std::optional<std::string>();
    if (existing) return std::optional(Submitted{*existing, true});
    const Result<Others> others = read_others(store, job.spec());
    if (!others.ok() && others.error().code == Code::not_found && blobs_there) {
      TRY(erase_blobs(store, job.id(), options.blobs));
    }
    if (!others.ok()) return others.error();
    if (!blobs_there) TRY(put_blobs(store.blobs(), options.blobs));
    blobs_there = true;
    const std::optional<Put> route =
        options.route_known ? std::nullopt : TRY(open_route(store.table(), job));
    const auto committed = store.commit(TRY(submission(job, key, route, others.value())));
    if (!TRY(unless_conflict(committed))) return std::optional<Submitted>();
    return std::optional(Submitted{job.id(), false});
  });
}

}  // namespace dunlin
