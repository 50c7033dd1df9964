#include "worker/mind/pages.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

namespace dunlin::worker {
namespace {

constexpr size_t kDraftPagesMax = 128;
constexpr Millis kClaimEvery = Millis(20);  // Tasks wait for those.
constexpr Millis kRecoverMax = std::chrono::seconds(5);
constexpr Millis kRefusedPause = std::chrono::seconds(1);
constexpr size_t kWhyMax = 400;  // A page must have room for 256 of them.

}  // namespace

Pages::Pages(const Parts& parts, std::function<void(PendingClaim&&)> granted)
    : parts_(parts), granted_(std::move(granted)) {}

void Pages::mark_dirty(JobView& job, uint64_t page) {
  PageView& view = job.pages[page];
  if (std::exchange(view.dirty, true)) return;
  dirty_.emplace_back(job, page);
}

void Pages::settle(Held& held, uint64_t task, PendingOutcome&& pending) {
  pending.held = held.id;
  pending.task = task;
  pending.outcome.set_offset(offset_of(task));
  const auto& enough = parts_.options.enough;
  if (enough && enough(pending.outcome)) parts_.course.no_more = true;
  // One that is not UTF-8 would make the page unreadable, with all that others left in it.
  pending.outcome.set_why(shorten(std::move(*pending.outcome.mutable_why()), kWhyMax));
  PageView& view = held.job->pages[page_of(task)];
  view.outcomes.push_back(std::move(pending));
  mark_dirty(*held.job, page_of(task));
}

PendingMove& Pages::move_task(Held& held, uint64_t task, uint32_t attempt, uint32_t lost,
                              int64_t not_before_ms) {
  model::Range range = held.range;
  range.set_first(task);
  range.set_last(task + 1);
  range.set_attempt(attempt);
  range.set_lost(lost);
  range.set_seen(true);
  range.set_alone(true);
  range.set_not_before_ms(not_before_ms);
  range.set_sent_us(parts_.asks.now().wall_us);
  if (held.job->ready) embed_spec(range, held.job->spec());
  PageView& view = held.job->pages[page_of(task)];
  view.moves.push_back({held.id, std::move(range)});
  mark_dirty(*held.job, page_of(task));
  return view.moves.back();
}

void Pages::claim(Held& held, uint64_t task, std::vector<std::string>&& values) {
  PageView& view = held.job->pages[page_of(task)];
  view.claims.push_back({held.id, task, std::move(values), parts_.room.claim()});
  mark_dirty(*held.job, page_of(task));
}

// A worker whose lease has ended may still publish an earlier attempt, so outcomes alone do not
// tell a retry which numbers were used.
bool Pages::has_begun(const Held& held, uint64_t page) {
  if (held.attempt <= 1) return true;
  PageView& view = held.job->pages[page];
  if (view.known && view.page.begun() >= held.attempt) return true;
  view.begins = std::max(view.begins, held.attempt);
  mark_dirty(*held.job, page);
  return false;
}

// While more outcomes are on their way, they are gathered.
Instant Pages::due() const {
  if (parts_.tasks.empty() || dirty_.size() >= kDraftPagesMax) return parts_.asks.now().at;
  const Millis pace = parts_.options.pace;
  return published_at_ + (parts_.room.claimed() > 0 ? std::min(kClaimEvery, pace) : pace);
}

// One commit is under way at a time; what ends meanwhile goes into the next.
void Pages::publish() {
  if (publishing_ || (dirty_.empty() && to_finish_.empty())) return;
  const Instant now = parts_.asks.now().at;
  if (const Instant at = due(); now < at) {
    if (!std::exchange(publish_planned_, true)) {
      parts_.asks.later(std::min(at - now, kClaimEvery), [this] { publish_planned_ = false; });
    }
    return;
  }
  PageDraft draft(parts_.options.id, parts_.options.commit_rows, parts_.asks, parts_.ranges, *this);
  bool full = false;
  std::vector<std::pair<Pin, uint64_t>> left;
  for (const auto& [job, number] : dirty_) {
    PageView& view = job->pages[number];
    const bool room = draft.has_room_for_page(one_page_ ? 1 : kDraftPagesMax);
    full |= !room;
    if (!room || view.asked) {  // It is being read.
      left.emplace_back(job, number);
      continue;
    }
    draft.add(*job, number, view);
    view.dirty = view.has_news();
    if (!view.dirty) continue;
    full = true;
    left.emplace_back(job, number);
  }
  dirty_ = std::move(left);
  draft.add_finishes(to_finish_, parts_.completion);
  if (draft.writes.empty()) return;
  published_at_ = full ? Instant::min() : now;
  send(std::move(draft));
}

void Pages::send(PageDraft&& draft) {
  publishing_ = true;
  draft.sent = parts_.asks.now().at;
  std::vector<Write> writes = std::move(draft.writes);
  sent_ = std::move(draft);
  parts_.asks.commit(
      std::move(writes),
      [this](Answer&& answer) {
        PageDraft sent = *std::exchange(sent_, {});
        answered(std::move(sent), answer);
      },
      Asks::Hears::refusals);
}

void Pages::answered(PageDraft&& draft, const Answer& answer) {
  if (const auto* done = std::get_if<Committed>(&answer)) {
    publishing_ = false;
    one_page_ = one_page_ && !dirty_.empty();
    return written(draft, done->version);
  }
  const auto* error = std::get_if<Error>(&answer);
  const bool refused = error != nullptr && error->code != Code::conflict;
  // It is one of its pages: which one is found by trying each alone.
  if (refused && draft.pages.size() == 1) {
    parts_.reader.found_bad(*draft.pages[0].job, draft.pages[0].number, error->what);
  }
  if (refused) {
    log::error("the store refuses {} pages: {}", draft.pages.size(), error->what);
    one_page_ = true;
  }
  collided(std::move(draft), refused ? kRefusedPause : Millis(0));
}

void Pages::written(PageDraft& draft, uint64_t version) {
  pages_written(draft, version);
  for (PendingOutcome& pending : draft.outcomes) {
    ++(pending.outcome.state() == model::STATE_OK ? done_ : failed_);
    const Held* held = parts_.ranges.find(pending.held);
    if (held == nullptr) continue;
    settled(pending.held, page_of(pending.task));
    if (!parts_.options.is_alone() || !pending.is_new) continue;
    if (!pending.out.empty()) pending.outcome.mutable_out()->set_bytes(std::move(pending.out));
    if (!pending.err.empty()) pending.outcome.mutable_err()->set_bytes(std::move(pending.err));
    published_.push_back({held->job->id, pending.task, std::move(pending.outcome)});
  }
  if (!draft.moves.empty()) parts_.routes.something_pushed();
  for (const PendingMove& move : draft.moves) settled(move.held, page_of(move.range.first()));
  for (const auto& [id, keep] : draft.keeps) {
    if (Held* held = parts_.ranges.find(id)) parts_.ranges.kept(*held, draft.sent);
  }
  for (const uint64_t id : draft.finished) parts_.ranges.forget(id);
  for (PendingClaim& claim : draft.claims) granted_(std::move(claim));
  forget_full(draft);
}

void Pages::pages_written(PageDraft& draft, uint64_t version) {
  for (PageDraft::Written& written : draft.pages) {
    JobView& job = *written.job;
    if (written.round != job.round) continue;  // It was opened again since, and the page changed.
    if (written.full && (root_level(job.spec().tasks()) > 0 || job.marked)) {
      job.full.emplace(written.number, counts_of(written.page));
    }
    PageView& view = job.pages[written.number];
    view.page = std::move(written.page);
    view.version = version;
    view.known = written.era == view.era;
    if (written.ends) parts_.ranges.end(job);
  }
}

void Pages::settled(uint64_t id, uint64_t page) {
  Held* held = parts_.ranges.find(id);
  if (held == nullptr) return;
  ++held->settled;
  PageReader::owe_bit(*held, page);
  parts_.ranges.look_at(id);
}

void Pages::forget_full(const PageDraft& draft) {
  for (const PageDraft::Written& written : draft.pages) {
    JobView& job = *written.job;
    const PageView& view = job.pages[written.number];
    const bool idle = !view.has_news() && !view.dirty && !view.asked;
    // The only page of a job is still needed to prove its end.
    const bool needed = root_level(job.spec().tasks()) == 0 && job.marked;
    if (written.full && idle && !needed) job.pages.erase(written.number);
    parts_.completion.enter(job);
  }
}

// Somebody else wrote one of the rows, or one of the leases ended. Everything is read again, then
// what is still ours is tried again.
void Pages::collided(PageDraft&& draft, Millis pause) {
  recovering_ = 1;
  const uint64_t recovery = ++recovery_;
  const auto one_more = [this, recovery] {
    ++recovering_;
    return [this, recovery] { recovered(recovery); };
  };
  // Whatever is not answered by then must not keep the rest waiting.
  parts_.asks.later(kRecoverMax, [this, recovery] {
    if (recovery == recovery_ && recovering_ > 0) recovering_ = 1;
    recovered(recovery);
  });
  if (pause > Millis(0)) parts_.asks.later(pause, one_more());
  std::map<std::string, std::vector<Lease>> leases;
  const auto not_committed = [&](uint64_t id) {
    Held* held = parts_.ranges.find(id);
    if (held == nullptr) return;
    parts_.ranges.not_committed(*held);
    leases[held->queue].push_back(held->lease);
  };
  for (const auto& [id, keep] : draft.keeps) not_committed(id);
  for (const uint64_t id : draft.finished) not_committed(id);
  take_back(draft);
  for (const PageDraft::Written& written : draft.pages) {
    JobView& job = *written.job;
    PageView& view = job.pages[written.number];
    view.known = false;
    if (!view.bad) parts_.reader.read(job, written.number);
    if (written.ends) parts_.completion.read_end(job, one_more());
  }
  for (auto& [queue, list] : leases) parts_.ranges.renew(queue, std::move(list), one_more());
  recovered(recovery);
}

// What was on its way waits again, unless its job has ended or was opened again meanwhile.
void Pages::take_back(PageDraft& draft) {
  const auto view_of = [&](uint64_t id, uint64_t task) -> PageView* {
    Held* held = parts_.ranges.find(id);
    if (held == nullptr || held->is_over()) return nullptr;
    mark_dirty(*held->job, page_of(task));
    return &held->job->pages[page_of(task)];
  };
  for (PendingOutcome& pending : draft.outcomes) {
    PageView* view = view_of(pending.held, pending.task);
    if (view != nullptr) view->outcomes.push_back(std::move(pending));
  }
  for (PendingMove& move : draft.moves) {
    PageView* view = view_of(move.held, move.range.first());
    if (view != nullptr) view->moves.push_back(std::move(move));
  }
  for (PendingClaim& claim : draft.claims) {
    PageView* view = view_of(claim.held, claim.task);
    if (view == nullptr || view->bad) claim.place.release();
    if (view != nullptr) view->claims.push_back(std::move(claim));
  }
}

void Pages::recovered(uint64_t recovery) {
  if (recovery != recovery_ || recovering_ == 0) return;
  if (--recovering_ == 0) publishing_ = false;
}

void Pages::finish_done() {
  for (const uint64_t id : parts_.ranges.take_to_look_at()) {
    Held* held = parts_.ranges.find(id);
    if (held == nullptr) continue;
    if (!held->is_range || held->is_over()) {
      close(*held);
    } else if (!held->bits.empty()) {
      parts_.completion.enter(*held->job);
    } else if (held->is_done(0) && !Completion::owes_release(*held->job)) {
      to_finish_.insert(id);
    }
  }
}

// Its job has ended: whatever it still held is dropped.
void Pages::close(Held& held) {
  if (held.is_finishing() || held.is_splitting() || Completion::owes_release(*held.job)) return;
  to_finish_.insert(held.id);
}

void Pages::check(const Jobs& jobs) const {
  uint64_t claims = sent_ ? sent_->claims.size() : 0;
  std::map<uint64_t, uint64_t> pending;  // By held range.
  const auto count = [&](const auto& list) {
    for (const auto& one : list) ++pending[one.held];
  };
  std::set<std::pair<const JobView*, uint64_t>> dirty;
  for (const auto& [id, job] : jobs.all()) {
    CHECK(job->id == id);
    uint64_t pins = (job->propagating ? 1 : 0) + (job->releasing ? 1 : 0) + job->held;
    for (const auto& [number, view] : job->pages) {
      const bool waits = !view.outcomes.empty() || !view.moves.empty() || !view.claims.empty();
      CHECK(view.dirty || !waits);
      // A page that went bad was cleared, so a start that it has on record looks like news.
      CHECK(view.dirty || view.bad || !view.has_news());
      CHECK(!view.bad || !view.known);
      if (view.dirty) dirty.insert({job.get(), number});
      pins += view.dirty ? 1 : 0;
      claims += view.bad ? 0 : view.claims.size();
      count(view.outcomes);
      count(view.moves);
      count(view.claims);
    }
    CHECK(job->pins() >= pins);
  }
  CHECK(claims == parts_.room.claimed());
  CHECK(dirty.size() == dirty_.size());
  for (const auto& [job, number] : dirty_) CHECK(dirty.contains({job.get(), number}));
  for (const auto& [ticket, running] : parts_.tasks.all()) ++pending[running.held];
  if (sent_) {
    CHECK(publishing_);
    count(sent_->outcomes);
    count(sent_->moves);
    count(sent_->claims);
  }
  CHECK(recovering_ == 0 || publishing_);
  // A claim that comes too late is dropped, and its task goes on counting until the lease is lost.
  for (const auto& [id, held] : parts_.ranges.all()) {
    if (held.is_range && !held.is_over()) CHECK(pending[id] <= held.pending());
  }
}

}  // namespace dunlin::worker
