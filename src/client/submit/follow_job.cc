// Follows a job until it has ended, for `dunlin submit --wait`: results are handed on as they come.
#include <fmt/format.h>

#include "base/wait.h"
#include "client/submit/submit_verb.h"
#include "model/replies.h"
#include "model/rows.h"
#include "model/views/explain.h"

namespace dunlin::client {
namespace {

constexpr Millis kLookEvery = Millis(1000);
constexpr Millis kPatience = Millis(3000);  // Without an outcome, before a word about workers.

// Takes what is in the reply queue, waiting up to `wait` for it. True if there was anything.
Result<bool> take_replies(const VerbEnv& env, ReplyQueue& replies, Millis wait,
                          ResultFollower& follower, const ResultFollower::Take& take) {
  Queue& queue = env.store.queue();
  const Pull pull = replies.pull(wait);
  for (const auto& reply :
       replies.read(TRY(queue.pull(pull.queue, pull.max, pull.hold, pull.wait)))) {
    TRY(follower.add(reply, take));
  }
  const std::optional<Finish> finish = replies.finish();
  if (!finish) return false;
  if (const auto finished = queue.finish(finish->queue, finish->leases);
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
    cli::complain(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

Result<Standing> follow_job(const VerbEnv& env, const model::Job& job, bool ours,
                            const ResultFollower::Take& take) {
  ResultFollower follower(job.id(), job.spec().tasks());
  const bool replies = ours && !job.spec().reply().empty();
  ReplyQueue queue(job.spec().reply());
  const Instant begun = env.clock.now();
  Instant looked = begun;
  bool said = false;
  while (true) {
    const Instant turn = env.clock.now();
    const bool some = replies && TRY(take_replies(env, queue, kLookEvery, follower, take));
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
      while (replies && TRY(take_replies(env, queue, Millis(0), follower, take))) {
      }
      // If that fails, the sweeper does it when the job goes.
      if (replies) (void)env.store.drop_queue(queue.name()).ok();
      return standing;
    }
    TRY(read_job(env.store.table(), job.id()));  // It may have been removed.
    if (!said && follower.taken() == 0 && env.clock.now() - begun > kPatience) {
      said = true;
      if (env.form == cli::Form::plain) say_what_is_missing(env, job.id());
    }
  }
}

}  // namespace dunlin::client
