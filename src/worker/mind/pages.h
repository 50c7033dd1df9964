// How outcomes become durable: they are gathered by page, and one commit after the other writes
// them, with all that must happen at the same instant: moves, claims, replies, the ends of ranges.
// After a conflict everything is read again, and what is still ours is tried again.
//
// Pure. One thread; all that the constructor gets outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker/mind/asks.h"
#include "worker/mind/completion.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/job_view.h"
#include "worker/mind/options.h"
#include "worker/mind/page_draft.h"
#include "worker/mind/page_reader.h"
#include "worker/mind/room.h"
#include "worker/mind/routes.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

// An outcome that is durable now.
struct Published {
  std::string job;
  uint64_t task = 0;
  model::Outcome outcome;  // out and err as the task wrote them if they are not blobs.
};

class Pages final : public DraftOwner {
 public:
  struct Parts {
    const WorkerOptions& options;
    Course& course;
    Asks& asks;
    Room& room;
    Tasks& tasks;
    Routes& routes;
    HeldRanges& ranges;
    PageReader& reader;
    Completion& completion;
  };
  // `granted` is told of tasks whose claims are durable: they may start.
  Pages(const Parts& parts, std::function<void(PendingClaim&&)> granted);

  // What goes into a page. REQUIRES: the task was taken from the range.
  void settle(Held& held, uint64_t task, PendingOutcome&& pending) override;
  // Gives a task a message of its own.
  PendingMove& move_task(Held& held, uint64_t task, uint32_t attempt, uint32_t lost,
                         int64_t not_before_ms) override;
  void claim(Held& held, uint64_t task, std::vector<std::string>&& values);
  // Whether the page says that the range's attempt may start; else that is on its way.
  bool has_begun(const Held& held, uint64_t page);
  void hurry() { published_at_ = Instant::min(); }  // The next commit is not to wait for more.

  // To be called after every event.
  void finish_done();  // Ranges of which nothing is left to do.
  void publish();

  std::vector<Published> take_published() { return std::exchange(published_, {}); }
  uint64_t done() const { return done_; }
  uint64_t failed() const { return failed_; }
  size_t to_write() const { return dirty_.size(); }
  size_t to_finish() const { return to_finish_.size(); }
  bool publishing() const { return publishing_; }
  size_t recovering() const { return recovering_; }
  void check(const Jobs& jobs) const;  // What it counts against what there is; for tests.

 private:
  void granted(PendingClaim&& claim) override { granted_(std::move(claim)); }
  void mark_dirty(JobView& job, uint64_t page);
  Instant due() const;
  void close(Held& held);
  void send(PageDraft&& draft);
  void answered(PageDraft&& draft, const Answer& answer);
  void written(PageDraft& draft, uint64_t version);
  void pages_written(PageDraft& draft, uint64_t version);
  void settled(uint64_t held, uint64_t page);
  void forget_full(const PageDraft& draft);
  void collided(PageDraft&& draft, Millis pause);
  void take_back(PageDraft& draft);
  void recovered(uint64_t recovery);

  Parts parts_;
  const std::function<void(PendingClaim&&)> granted_;
  std::vector<std::pair<Pin, uint64_t>> dirty_;
  std::optional<PageDraft> sent_;  // The commit that is under way.
  bool publishing_ = false;
  bool publish_planned_ = false;
  size_t recovering_ = 0;                  // Answers to wait for before publishing again,
  uint64_t recovery_ = 0;                  // after the last collision.
  bool one_page_ = false;                  // In each commit: one of them was refused.
  Instant published_at_ = Instant::min();  // When outcomes were sent last; min(): more must follow.
  std::set<uint64_t> to_finish_;           // Held ranges that are complete.
  std::vector<Published> published_;       // Only if it is alone.
  uint64_t done_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace dunlin::worker
