// Hands out the partitions of a tenant's jobs, and takes back those that are lost.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "balance/balancer.h"
#include "base/log.h"
#include "model/rows.h"
#include "store/compare_and_set.h"
#include "tascaas/dispatcher.h"
#include "tascaas/ending.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

constexpr Millis kHold = std::chrono::seconds(30);  // From the pull to the commit.
constexpr size_t kWorthlessMax = 100;               // Tickets, in one call.
constexpr int kGoneTimes = 5;                       // Scale times, as balance::advance() has it.

struct Pulled {
  Ticket ticket;
  Lease lease;
};

// Marks those that still wait as handed out, and finds those that a commit with an unknown end has
// marked before. Tickets of an earlier turn are worth nothing.
std::vector<Handed> mark(const std::string& id, Job& job, const std::vector<Pulled>& tickets,
                         const std::string& infrastructure, WallTime now, bool repeated) {
  std::vector<Handed> handed;
  for (const Pulled& one : tickets) {
    if (one.ticket.partition >= static_cast<size_t>(job.partitions_size())) continue;
    Job::Partition& partition = *job.mutable_partitions(static_cast<int>(one.ticket.partition));
    if (partition.turn() != one.ticket.turn) continue;
    // One that was spared since has finished: nobody needs to start it, and its job may have ended.
    const bool waits = !partition.started() && !partition.finished();
    const bool ours = !partition.queued() && waits && partition.holder() == infrastructure &&
                      partition.handed_ms() == to_ms(now);
    if (!partition.queued() && !(repeated && ours)) continue;
    if (partition.queued()) {
      partition.set_hands(std::max(partition.hands() + 1, partition.turn()));
    }
    partition.set_queued(false);
    partition.set_holder(infrastructure);
    partition.set_handed_ms(to_ms(now));
    handed.push_back(
        {id, one.ticket.partition, partition.iterations(), job.input(), Millis(job.report_ms())});
  }
  return handed;
}

Result<std::vector<Handed>> hand_out_of_job(Store& store, const std::string& queue,
                                            const std::string& id,
                                            const std::vector<Pulled>& tickets,
                                            const std::string& infrastructure, WallTime now) {
  Finish finish{queue, {}};
  for (const Pulled& one : tickets) finish.leases.push_back(one.lease);
  bool repeated = false;
  return compare_and_set(changing(id), [&]() -> Round<std::vector<Handed>> {
    const auto row = read_tascaas_job(store.table(), id);
    if (!row.ok() && row.error().code != Code::not_found) return row.error();
    std::vector<Handed> handed;
    std::vector<Write> writes;
    if (row.ok()) {
      Job job = row.value().record;
      handed = mark(id, job, tickets, infrastructure, now, repeated);
      if (!handed.empty()) {
        writes.emplace_back(
            Put{std::string(kTable), job_row(id), job.SerializeAsString(), row.value().version});
      }
    }
    if (writes.empty()) {
      // Nothing to hand out: whether the tickets go now or when they are pulled again is the same.
      (void)store.queue().finish(queue, finish.leases).ok();
      return std::optional(std::move(handed));
    }
    writes.emplace_back(finish);
    const Result<uint64_t> written = store.commit(writes);
    if (written.ok()) return std::optional(std::move(handed));
    const Code code = written.error().code;
    if (code != Code::conflict && code != Code::unavailable) return written.error();
    // It may have happened, even if it conflicts now: a copy of it was quicker, and others have
    // written since. What is marked must be told, or nobody starts it for long.
    repeated = true;
    return std::optional<std::vector<Handed>>();
  });
}

enum class Loss { none, crashed, left };

// How long a partition that works may be silent. Who is not balanced says nothing before its end,
// so that only the job's own time is known.
Millis patience_of(const Job& job, const Tenant& tenant) {
  return is_balanced(job) ? 2 * threshold_of(job) : Millis(tenant.timeout_ms()) / 2;
}

// Whether a partition that was handed out has to be handed out again, and whose fault that is; if
// its results are not there.
Loss loss_of(const Job& job, const Job::Partition& partition, const Tenant& tenant,
             const balance::Dispatch& dispatch, WallTime now) {
  if (partition.queued() || partition.spare() || is_hopeless(partition)) return Loss::none;
  const WallTime heard = from_ms(partition.heard_ms());
  const Millis silent = now - heard;
  const Millis start_time(tenant.start_ms());
  const auto& known = dispatch.infrastructures;
  const auto holder = std::ranges::find(known, partition.holder(), &balance::Infrastructure::id);
  const bool gone = !partition.holder().empty() && holder == known.end();
  // It is not to blame if its infrastructure has fallen silent with it.
  const auto blame = [&](WallTime since, Millis wait) {
    return holder != known.end() && holder->seen > since + wait / 2 ? Loss::crashed : Loss::left;
  };
  if (partition.finished()) {  // What it has done is worth nothing before it is there.
    const bool missing = partition.done() > 0 && silent > start_time;
    return missing ? blame(heard, start_time) : Loss::none;
  }
  if (!partition.started()) {
    const WallTime handed = from_ms(partition.handed_ms());
    if (gone) return Loss::left;
    return now - handed > start_time ? blame(handed, start_time) : Loss::none;
  }
  const Millis patience = patience_of(job, tenant);
  // Who is balanced may be silent until its next report is due, and some time after that.
  const Millis report = is_balanced(job) ? Millis(job.report_ms()) * 3 / 2 : Millis(0);
  const Millis forgotten = kGoneTimes * Millis(tenant.scale_ms());
  if (gone && silent > std::min(patience / 2, std::max(forgotten, report))) return Loss::left;
  return silent > patience ? blame(heard, patience) : Loss::none;
}

// Partitions that may be lost, or may have ended without a word.
std::vector<std::pair<size_t, Loss>> doubtful(const Job& job, const Tenant& tenant,
                                              const balance::Dispatch& dispatch, WallTime now) {
  std::vector<std::pair<size_t, Loss>> found;
  for (int i = 0; i < job.partitions_size(); ++i) {
    const Job::Partition& one = job.partitions(i);
    const Loss loss = loss_of(job, one, tenant, dispatch, now);
    if (loss != Loss::none || ends_by_results(job, one))
      found.emplace_back(static_cast<size_t>(i), loss);
  }
  return found;
}

// Results that are there say that the partition has done its share, even if it never said so: the
// share that it knew of, for others may have got it a larger one since. If several have had it,
// nobody knows whose results these are: one that was given up may have come back.
Result<void> settle(Table& table, const std::string& id, Job& job,
                    const std::vector<std::pair<size_t, Loss>>& doubtful) {
  std::vector<std::string> rows;
  for (const auto& [index, loss] : doubtful) {
    rows.push_back(file_row(job.tenant(), result_key(id, std::to_string(index), "results.dat")));
  }
  const std::vector<Row> results = TRY(get_rows(table, kTable, rows));
  for (size_t i = 0; i < doubtful.size(); ++i) {
    const auto [index, loss] = doubtful[i];
    Job::Partition& partition = *job.mutable_partitions(static_cast<int>(index));
    if (results[i].version != 0) {
      if (!partition.finished()) finish_by_results(partition);
    } else if (loss != Loss::none) {
      queue_again(job, index, loss == Loss::crashed);
    }
  }
  add_rest(job);
  spare_waiting(job);
  return {};
}

// Nothing if somebody else was quicker.
Round<uint64_t> reclaim_job(Store& store, const Tenant& tenant, const std::string& id,
                            WallTime now) {
  const auto row = read_tascaas_job(store.table(), id);
  const std::string active = active_row(tenant.name(), id);
  if (!row.ok() && row.error().code != Code::not_found) return row.error();
  if (!row.ok() || row.value().record.ended_ms() != 0) {
    TRY(store.table().erase(kTable, active, kAnyVersion));
    return std::optional<uint64_t>(0);
  }
  // Given up. It may come back, if only because what waits is handed out after all; then somebody
  // has to look after it again, so its row stays until the job goes.
  if (now - last_sign(row.value().record) > Millis(tenant.timeout_ms())) {
    return std::optional<uint64_t>(0);
  }
  const Stored<Job>& before = row.value();
  Job job = before.record;
  // After the row: whoever holds a partition there had come before.
  const balance::Dispatch dispatch = TRY(read_dispatch(store.table(), tenant.name(), now));
  TRY(settle(store.table(), id, job, doubtful(job, tenant, dispatch, now)));
  const bool changed = job.SerializeAsString() != before.record.SerializeAsString();
  if (!changed && !TRY(may_end(store.table(), id, job))) return std::optional<uint64_t>(0);
  return write_job(store, id, before, job, now);
}

// Pulls some tickets and hands out what they are for. Returns how many there were.
Result<size_t> hand_out_some(Store& store, const std::string& queue, const std::string& id,
                             size_t max, WallTime now, std::vector<Handed>& all) {
  std::map<std::string, std::vector<Pulled>> by_job;
  std::vector<std::string> order;  // Of the jobs: the oldest first.
  const std::vector<Delivery> tickets = TRY(store.queue().pull(queue, max, kHold, Millis(0)));
  for (const Delivery& one : tickets) {
    const std::optional<Ticket> ticket = read_ticket(one.body);
    const std::string job = ticket ? ticket->job : "";  // Nobody's: it goes.
    std::vector<Pulled>& of_job = by_job[job];
    if (of_job.empty()) order.push_back(job);
    of_job.push_back({ticket.value_or(Ticket()), one.lease});
  }
  for (const std::string& job : order) {
    for (Handed& one : TRY(hand_out_of_job(store, queue, job, by_job[job], id, now))) {
      all.push_back(std::move(one));
    }
  }
  return tickets.size();
}

}  // namespace

Result<std::vector<Handed>> hand_out(Store& store, const Tenant& tenant, const std::string& id,
                                     size_t max, WallTime now) {
  max = std::min(max, kHandOutMax);
  const std::string queue = queue_of(tenant.name());
  std::vector<Handed> all;
  // Tickets of what was spared must not cost a request each: who asks for one would come as often.
  // Who has got something asks again anyway, and soon knows what it has.
  for (size_t worthless = 0; all.empty() && worthless < kWorthlessMax;) {
    const Result<size_t> some = hand_out_some(store, queue, id, max, now, all);
    if (!some.ok() && all.empty()) return some.error();
    if (!some.ok() || some.value() == 0) break;  // What is handed out already must be told.
    worthless += some.value();
  }
  if (all.empty()) return all;
  // The advice may do without the number; the infrastructure may not do without its partitions.
  if (const auto counted = count_dispatched(store, tenant, all.size(), now); !counted.ok()) {
    log::warning("partitions were handed out that the advice does not count tenant={} count={}: {}",
                 tenant.name(), all.size(), counted.error().what);
  }
  return all;
}

Result<void> reclaim(Store& store, const Tenant& tenant, WallTime now) {
  const std::string prefix = active_row(tenant.name(), "");
  for (const Row& row : TRY(scan_all(store.table(), prefix))) {
    const std::string id = row.key.substr(prefix.size());
    TRY(compare_and_set([&] { return reclaim_job(store, tenant, id, now); }));
  }
  return {};
}

}  // namespace dunlin::tascaas
