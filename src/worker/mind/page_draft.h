// One commit of outcomes, as it is put together: what of each page finds room in it, the messages
// of tasks that move on, the replies, and the ranges that end with it.
//
// Pure. One thread; a draft that is under way keeps the jobs of its pages.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "worker/mind/asks.h"
#include "worker/mind/completion.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/job_view.h"

namespace dunlin::worker {

// What a worker says of a task that nobody runs, or runs any more.
PendingOutcome lost_outcome(const Held& held, std::string why);
PendingOutcome refused_outcome(const Held& held, std::string why);

// Where a task goes that cannot be written as it is.
class DraftOwner {
 public:
  virtual ~DraftOwner() = default;
  virtual void settle(Held& held, uint64_t task, PendingOutcome&& pending) = 0;
  virtual PendingMove& move_task(Held& held, uint64_t task, uint32_t attempt, uint32_t lost,
                                 int64_t not_before_ms) = 0;
  virtual void granted(PendingClaim&& claim) = 0;
};

class PageDraft {
 public:
  struct Written {
    Pin job;
    uint64_t number = 0;
    uint32_t round = 0;
    uint64_t era = 0;  // Of its view.
    model::Page page;
    bool full = false;
    bool ends = false;  // The job, with this commit.
  };

  // `commit_rows`: see WorkerOptions; `worker` is who writes.
  PageDraft(std::string worker, size_t commit_rows, Asks& asks, HeldRanges& ranges,
            DraftOwner& owner);

  bool has_room_for_page(size_t pages_max) const;
  // What the view has on its way, as far as there is room; the rest stays there.
  void add(JobView& job, uint64_t number, PageView& view);
  // Ranges that are complete, or will be with this commit, are finished in it; those whose pages
  // must first be entered into the tree are not. A job of one page ends here. What finds no room
  // stays in `to_finish`.
  void add_finishes(std::set<uint64_t>& to_finish, const Completion& completion);

  std::vector<Write> writes;
  Instant sent;
  std::vector<Written> pages;
  std::vector<PendingOutcome> outcomes;
  std::vector<PendingMove> moves;
  std::vector<PendingClaim> claims;
  std::map<uint64_t, Keep> keeps;  // By held range: of those with tasks that move on.
  std::vector<uint64_t> finished;  // Held ranges.

 private:
  struct Reply {
    const JobView* job = nullptr;
    model::Reply reply;
    size_t bytes = 0;
  };

  size_t rows_max() const;
  bool has_room(size_t rows) const;
  void add_moves(PageView& view, model::Page& page);
  void add_move(model::Page& page, const PendingMove& move, const Held& held);
  void add_claims(PageView& view, model::Page& page);
  bool add_claim(const PageView& view, model::Page& page, PendingClaim& claim);
  void add_outcomes(const JobView& job, PageView& view, model::Page& page, model::Page& news);
  void add_outcome(const JobView& job, const model::Outcome& outcome, const PendingOutcome& pending,
                   model::Page& news);
  void add_reply(const JobView& job, uint64_t number, const model::Page& page, model::Page&& news);
  std::set<const JobView*> add_ends(const Completion& completion);
  void finish(Held& held, std::map<std::string, std::vector<Lease>>& leases);

  std::string worker_;
  size_t commit_rows_;
  Asks* asks_;
  HeldRanges* ranges_;
  DraftOwner* owner_;
  std::vector<Reply> replies_;  // After the pages.
  size_t bytes_ = 0;
  size_t rows_ = 0;                       // Where messages are rows, too.
  std::map<uint64_t, uint64_t> settles_;  // By held range: how many tasks.
};

}  // namespace dunlin::worker
