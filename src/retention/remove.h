// How ended jobs leave the store, with all that belongs to them.
//
// A small job whose end is known to be old goes in one commit. Of any other one the row becomes a
// stone first (Job.gone_us): from then on nobody finds the job, and a retry of it, or a submission
// after it, conflicts. Then its blobs, outputs, pages, nodes and ledger go, and the stone last.
// Whoever dies in between leaves a stone, and beside it a row in `expiry` by which the sweeper
// finds it. What is needed for the rest is in the stone.
//
// A job that may have ended lately keeps its stone for a while, and is cleared a second time: what
// late workers wrote meanwhile goes, too. When a job ended is what a worker says, whose clock may
// be wrong: so its end is taken for old only if the store itself shows it.
//
// Calls block as the store does; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/rows.h"
#include "store/request_store.h"

namespace dunlin::retention {

struct RemoverOptions {
  size_t commit_rows = kBatchMax;  // That the store takes in one commit.
  Millis stone_kept = std::chrono::minutes(10);
  // Ends whose rows have this version, or less, are old: whoever may still write something of such
  // a job is stopped, or gone; and no copy of its submission is on its way.
  uint64_t old_ends = 0;
};

// Of the table `history`.
std::string history_key(int64_t ended_us, std::string_view owner);

// The queue on which `submit --wait` waits for the outcomes of its job; nobody else uses it.
std::string own_reply_queue(std::string_view job);

struct Candidate {
  Stored<model::Job> job;
  Stored<model::End> end;
  bool damaged = false;  // A row is not what we wrote: it stays, for people to look at.
};

enum class Verdict {
  removed,
  absent,   // There is no such job, or it is being removed.
  open,     // It has not ended.
  awaited,  // Another job waits for it.
  busy,     // It changed each time that we looked.
};

class Remover {
 public:
  Remover(RequestStore& store, const RemoverOptions& options) : store_(store), options_(options) {}

  // One for each; a damaged row is as good as none. What is no name of a job is damaged, too.
  Result<std::vector<Candidate>> read(const std::vector<std::string>& jobs);

  // One verdict for each; the jobs that are removed become their stones. An error `denied` after
  // the first commit is not told: a token that may not erase blobs leaves the rest to the sweeper.
  Result<std::vector<Verdict>> remove(std::span<Candidate> jobs, WallTime now);

  // Goes on where somebody stopped. REQUIRES: all are stones.
  Result<void> clear(std::vector<model::Job> stones, WallTime now);

  // Erases rows and blobs whose job does not exist, of jobs with an id before `until`: what workers
  // wrote that came back when all was over, and submissions that were not completed.
  Result<void> erase_orphans(const std::string& until);

  // Removes replies that nobody takes: those of jobs that are gone, or ended before `ended_us`.
  Result<void> drop_replies(const std::string& queue, int64_t ended_us);

 private:
  // How a job goes.
  enum class Way { stays, awaited, at_once, by_stone };

  Result<std::vector<Way>> choose(std::span<const Candidate> group);
  Result<std::vector<Verdict>> remove_group(std::span<Candidate> group, int64_t now_us);
  Result<Verdict> bury_one(Candidate& one, int64_t now_us);
  Result<bool> commit_removal(std::span<Candidate> group, std::span<const Way> ways,
                              int64_t now_us);
  Result<bool> are_there(std::span<const Candidate> group, std::span<const Way> ways);
  Result<void> add_erasure(const Candidate& one, std::vector<Write>& writes);

  using Found = std::function<Result<std::string>(const std::string& after)>;
  using Has = std::function<Result<bool>(const std::string& job)>;
  Result<std::set<std::string>> those_with(std::span<const std::string> jobs, const Found& next,
                                           const Has& has);
  Result<std::set<std::string>> those_with_blobs(std::span<const std::string> jobs);
  Result<std::set<std::string>> those_with_rows(std::string_view table,
                                                std::span<const std::string> jobs);
  // The first job with a blob, or with a row in the table, behind `after`; or nothing. What begins
  // with a slash is nobody's, and must not look like the end.
  Result<std::string> next_with_blob(const std::string& after);
  Result<std::string> next_with_row(std::string_view table, const std::string& after);
  Result<void> erase_orphans(const std::string& until, const Found& next,
                             const std::function<Result<void>(const std::string&)>& erase);

  Result<void> erase_blobs(const std::string& job);
  Result<void> erase_rows(std::string_view table, const std::string& job);
  Result<void> clear_some(std::span<const model::Job> stones, bool with_stones, WallTime now);
  Result<void> clear_rows(const model::Job& stone);
  Result<void> erase_stone(const model::Job& stone);
  std::string stone_row(const model::Job& stone) const;  // In `expiry`.
  bool is_old(const Candidate& one) const { return one.end.version <= options_.old_ends; }
  Result<void> drop_own_replies(const model::Job& job, int64_t now_us);
  Result<void> write(std::vector<Write> writes);  // Of one job: together, and in this order.
  Result<void> flush();

  RequestStore& store_;
  const RemoverOptions options_;
  std::vector<Write> waiting_;  // For the next commit.
};

}  // namespace dunlin::retention
