#include <fmt/format.h>

#include "base/wait.h"
#include "client/submit_verb.h"
#include "model/explain.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr size_t kRepliesPerPull = 64;
constexpr Millis kHold = Millis(60'000);
constexpr Millis kLookEvery = Millis(1000);
constexpr Millis kPatience = Millis(3000);  // Without an outcome, before a word about workers.

// Takes what is in the reply queue, waiting up to `wait` for it. True if there was anything.
Result<bool> take_replies(const VerbEnv& env, const model::Job& job, Millis wait,
                          ResultFollower& follower, const ResultFollower::Take& take) {
  Queue& queue = env.store.queue();
  const auto deliveries = TRY(queue.pull(job.spec().reply(), kRepliesPerPull, kHold, wait));
  if (deliveries.empty()) return false;
  std::vector<Lease> leases;
  for (const dunlin::Delivery& delivery : deliveries) {
    leases.push_back(delivery.lease);
    model::Reply reply;
    if (!reply.ParseFromString(delivery.body) || reply.job() != job.id()) continue;
    for (const auto& part : reply.parts()) {
      TRY(follower.add(part.page(), part.outcomes(), take));
    }
  }
  // A stale lease means only that we were slow: nobody else reads this queue.
  if (const auto finished = queue.finish(job.spec().reply(), leases);
      !finished.ok() && finished.error().code != Code::conflict) {
    return finished.error();
  }
  return true;
}

// Hints only; whoever cannot read the workers goes without.
void say_what_is_missing(const VerbEnv& env, const std::string& id) {
  const Result<Explained> explained = explain_job(env.store, id, env.at, env.clock.wall());
  if (!explained.ok()) return;
  std::string_view rest = explained.value().text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    complain(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

Result<Standing> follow_job(const VerbEnv& env, const model::Job& job, bool ours,
                            const ResultFollower::Take& take) {
  ResultFollower follower(job.id(), job.spec().tasks());
  const bool replies = ours && !job.spec().reply().empty();
  const Instant begun = env.clock.now();
  Instant looked = begun;
  bool said = false;
  while (true) {
    const Instant turn = env.clock.now();
    const bool some = replies && TRY(take_replies(env, job, kLookEvery, follower, take));
    if (!some && !follower.complete() && env.clock.now() - turn < kLookEvery / 10) {
      // This store does not wait, or nobody will reply.
      wait_until(env.clock.now() + kLookEvery / 10, env.clock);
    }
    if (!follower.complete() && env.clock.now() - looked < kLookEvery) continue;
    looked = env.clock.now();
    // Its end first: what is there after it is all there will be.
    const Standing standing = TRY(read_standings(env.store.table(), {job.id()})).front();
    if (has_ended(standing.state) || !replies) TRY(follower.look(env.store.table(), take));
    if (has_ended(standing.state)) {
      while (replies && TRY(take_replies(env, job, Millis(0), follower, take))) {
      }
      // If that fails, the sweeper does it when the job goes.
      if (replies) (void)env.store.drop_queue(job.spec().reply()).ok();
      return standing;
    }
    TRY(read_job(env.store.table(), job.id()));  // It may have been removed.
    if (!said && follower.taken() == 0 && env.clock.now() - begun > kPatience) {
      said = true;
      if (env.form == Form::plain) say_what_is_missing(env, job.id());
    }
  }
}

}  // namespace dunlin
