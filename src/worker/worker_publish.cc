// Outcomes into pages, THE commit point; then the ranges are finished.

#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <bitset>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"
#include "model/ledgers.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr size_t kDraftBytesMax = 3 << 20;
constexpr size_t kDraftRowsMax = 8000;
constexpr size_t kDraftPagesMax = 128;
// Rows that these need in a commit, at most. A large message has two.
constexpr size_t kReplyRows = 2;
constexpr size_t kEndRows = 2;
constexpr size_t kPageRows = 1 + kReplyRows + kEndRows;
constexpr size_t kMoveRows = 3;  // With the message that it moves from.
constexpr size_t kFinishRows = 2;
constexpr size_t kFinishesAlways = 4;                // There is room for so many.
constexpr size_t kReplyBytesMax = kValueMax - 1024;  // Of one page,
constexpr size_t kRepliesBytesMax = kValueMax / 2;   // and of several.
constexpr size_t kPartBytes = 32;           // Of a part of a reply, beside the outcomes, at most.
constexpr Millis kClaimEvery = Millis(20);  // Tasks wait for those.
constexpr Millis kRecoverMax = std::chrono::seconds(5);
constexpr Millis kRefusedPause = std::chrono::seconds(1);
// In a page that is larger, outputs get rows of their own: what is left of 256 outcomes then, their
// reasons and claims, has room in the other half.
constexpr size_t kPageFullBytes = kValueMax / 2;

uint32_t worker_number(model::Page& page, const std::string& id) {
  for (int i = page.workers_size() - 1; i >= 0; --i) {
    if (page.workers(i) == id) return static_cast<uint32_t>(i);
  }
  page.add_workers(id);
  return static_cast<uint32_t>(page.workers_size() - 1);
}

// Of this attempt, or of a later one.
bool has(const google::protobuf::RepeatedPtrField<model::Claim>& claims, uint32_t offset,
         uint32_t attempt) {
  return std::ranges::any_of(claims, [&](const model::Claim& claim) {
    return claim.offset() == offset && claim.attempt() >= attempt;
  });
}

void move_to_rows(PendingOutcome& pending) {
  for (const auto& [output, row] : {std::pair(pending.outcome.mutable_out(), &pending.out),
                                    {pending.outcome.mutable_err(), &pending.err}}) {
    if (output->where() != model::Output::HERE || output->bytes().empty()) continue;
    output->set_where(model::Output::ROW);
    output->set_size(output->bytes().size());
    row->swap(*output->mutable_bytes());
  }
}

bool is_sound(const model::Page& page) {
  const auto inside = [](const auto& one) { return one.offset() < kPageTasks; };
  return std::ranges::all_of(page.outcomes(), inside) && std::ranges::all_of(page.claims(), inside);
}

// Only those that outcomes refer to: a page is written by any number of workers in its time.
void forget_workers(model::Page& page) {
  std::vector<uint32_t> numbers(static_cast<size_t>(page.workers_size()), UINT32_MAX);
  google::protobuf::RepeatedPtrField<std::string> used;
  for (model::Outcome& outcome : *page.mutable_outcomes()) {
    if (outcome.worker() >= numbers.size()) continue;
    uint32_t& number = numbers[outcome.worker()];
    if (number == UINT32_MAX) {
      number = static_cast<uint32_t>(used.size());
      *used.Add() = page.workers(static_cast<int>(outcome.worker()));
    }
    outcome.set_worker(number);
  }
  page.mutable_workers()->Swap(&used);
}

}  // namespace

// Whether so many rows more fit into the commit, beside some finishes.
bool WorkerMind::has_room(const Draft& draft, size_t rows) const {
  const size_t most = std::min(options_.commit_rows, kDraftRowsMax);
  return draft.bytes < kDraftBytesMax && draft.rows + rows + kFinishesAlways * kFinishRows <= most;
}

void WorkerMind::mark_dirty(JobView& job, uint64_t page) {
  PageView& view = job.pages[page];
  if (std::exchange(view.dirty, true)) return;
  dirty_.emplace_back(job, page);
}

// While more outcomes are on their way, they are gathered.
Instant WorkerMind::publish_due() const {
  if (tasks_.empty() || dirty_.size() >= kDraftPagesMax) return now_.at;
  return published_at_ +
         (room_.claimed() > 0 ? std::min(kClaimEvery, options_.pace) : options_.pace);
}

// One commit is under way at a time; what ends meanwhile goes into the next.
void WorkerMind::publish() {
  if (publishing_ || (dirty_.empty() && to_finish_.empty())) return;
  if (const Instant due = publish_due(); now_.at < due) {
    if (!std::exchange(publish_planned_, true)) {
      asks_.later(std::min(due - now_.at, kClaimEvery), [this] { publish_planned_ = false; });
    }
    return;
  }
  Draft draft;
  bool full = false;
  std::vector<std::pair<Pin, uint64_t>> left;
  for (const auto& [job, number] : dirty_) {
    PageView& view = job->pages[number];
    const size_t pages_max = one_page_ ? 1 : kDraftPagesMax;
    const bool room = has_room(draft, kPageRows) && draft.pages.size() < pages_max;
    full |= !room;
    if (!room || view.asked) {  // It is being read.
      left.emplace_back(job, number);
      continue;
    }
    draft_page(draft, *job, number, view);
    view.dirty = view.has_news();
    if (!view.dirty) continue;
    full = true;
    left.emplace_back(job, number);
  }
  dirty_ = std::move(left);
  draft_finishes(draft);
  if (draft.writes.empty()) return;
  published_at_ = full ? Instant::min() : now_.at;
  send(std::move(draft));
}

void WorkerMind::draft_page(Draft& draft, JobView& job, uint64_t number, PageView& view) {
  if (!view.has_news()) return;  // What was pending has been forgotten.
  Draft::Written written{Pin(job), number, job.round, view.era, view.page};
  model::Page news;
  draft.rows += kPageRows;
  draft_moves(draft, view, written.page);
  draft_claims(draft, view, written.page);
  draft_outcomes(draft, job, view, written.page, news);
  record_begun(written.page, std::exchange(view.begins, 0));
  written.page.set_committed_us(now_.wall_us);
  written.full = is_full(written.page, number, job.spec().tasks());
  Put put{std::string(kPages), page_key(job.id, number), written.page.SerializeAsString(),
          view.version};
  draft.bytes += put.value.size();
  draft.writes.emplace_back(std::move(put));
  const size_t replies = draft.replies.size();
  draft_reply(draft, job, number, written.page, std::move(news));
  if (draft.replies.size() == replies) draft.rows -= kReplyRows;
  if (!written.full || root_level(job.spec().tasks()) > 0) draft.rows -= kEndRows;
  draft.pages.push_back(std::move(written));
}

// Tasks that get a message of their own. Their claims are no sign of a lost worker any more: ours,
// because we give the task back ourselves, and all of them, if it has ended by itself.
void WorkerMind::draft_moves(Draft& draft, PageView& view, model::Page& page) {
  std::vector<PendingMove> moves = std::exchange(view.moves, {});
  for (PendingMove& move : moves) {
    const uint32_t offset = offset_of(move.range.first());
    Held& held = held_.at(move.held);
    // A split changes where the range ends, too: one after the other.
    if (held.splitting || !has_room(draft, kMoveRows)) {
      view.moves.push_back(std::move(move));
      continue;
    }
    ++draft.settles[move.held];
    const bool ours = held.range.alone() || !view.is_moved(offset);
    if (!view.has_outcome(offset) && ours) {
      set_bit(*page.mutable_moved(), offset);
      const bool afresh = move.range.lost() == 0;
      forget_claims(page, offset, afresh ? std::nullopt : std::optional(held.attempt));
      record_begun(page, move.range.attempt());
      // Whoever takes over also takes the iterations of those before it.
      if (held.job->spec().has_iterations()) shut(page, offset, move.range.attempt() - 1);
      std::string body = move.range.SerializeAsString();
      draft.bytes += body.size();
      draft.rows += kMoveRows;
      draft.writes.emplace_back(Push{held.queue, {{range_id(move.range), std::move(body)}}});
      // Whoever gets the message of a single task again must find nothing in it.
      const uint64_t last = held.range.alone() ? held.first : held.last;
      draft.keeps.try_emplace(held.id, keep(held, last));
    }
    draft.moves.push_back(std::move(move));
  }
}

void WorkerMind::draft_claims(Draft& draft, PageView& view, model::Page& page) {
  std::vector<PendingClaim> granted;
  for (PendingClaim& pending : std::exchange(view.claims, {})) {
    Held& held = held_.at(pending.held);
    const uint32_t offset = offset_of(pending.task);
    // It was made before, its answer was lost, and others have written the page since.
    const auto own = std::ranges::find(page.claims(), offset, &model::Claim::offset);
    if (own != page.claims().end() && own->attempt() == held.attempt &&
        own->worker() == options_.id && !view.has_outcome(offset)) {
      granted.push_back(std::move(pending));
      continue;
    }
    const bool only_once = held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE;
    if (view.has_outcome(offset) || (only_once && view.claims_of(offset) > 0)) {
      // Somebody else was first. If there is an outcome already, this one is dropped.
      pending.place.release();
      settle(held, pending.task,
             lost_outcome(held, "its worker was lost, and it may start only once"));
      continue;
    }
    // A later attempt has begun, so this lease has ended, as its renewal will say. A claim now
    // would count as one more worker that was lost.
    if (own != page.claims().end() && own->attempt() > held.attempt) {
      pending.place.release();
      if (renewing_ == 0) renew();
      continue;
    }
    add_claim(page, offset, held.attempt, options_.id);
    draft.claims.push_back(std::move(pending));
  }
  for (PendingClaim& pending : granted) claimed(std::move(pending));
}

void WorkerMind::draft_outcomes(Draft& draft, const JobView& job, PageView& view, model::Page& page,
                                model::Page& news) {
  std::bitset<kPageTasks> have;
  for (const model::Outcome& outcome : page.outcomes()) have.set(outcome.offset());
  forget_workers(page);
  std::optional<uint32_t> worker;
  size_t page_bytes = page.ByteSizeLong();
  size_t taken = 0;
  for (PendingOutcome& pending : view.outcomes) {
    if (!has_room(draft, 2)) break;
    ++taken;
    const uint32_t offset = pending.outcome.offset();
    // Else it is a duplicate, or its iterations are with a later attempt, and it is dropped.
    const uint32_t attempt = pending.outcome.attempt();
    const bool iterates = job.spec().has_iterations();
    pending.is_new = !have.test(offset) && !(iterates && has(page.claims(), offset, attempt + 1));
    const bool is_shut = pending.is_new && iterates && has(page.shut(), offset, attempt);
    // Lost are only tasks whose start is on record. Whoever claimed this one has given it back
    // before it started, so it is tried again; as is one whose iterations went to others.
    const bool lost = pending.is_new && pending.outcome.state() == model::STATE_LOST;
    if (is_shut || (lost && !has(page.claims(), offset, 0))) {
      Held& held = held_.at(pending.held);
      move_task(held, pending.task, held.attempt + 1, std::max(held.range.lost(), 1U), 0);
      continue;
    }
    ++draft.settles[pending.held];
    if (pending.is_new) {
      have.set(offset);
      if (!worker) worker = worker_number(page, options_.id);
      if (page_bytes > kPageFullBytes) move_to_rows(pending);
      model::Outcome& outcome = *page.add_outcomes();
      outcome = pending.outcome;
      outcome.set_worker(*worker);
      page_bytes += outcome.ByteSizeLong();
      if (!job.spec().reply().empty()) *news.add_outcomes() = outcome;
      draft.bytes += 64 + pending.out.size() + pending.err.size();
      for (const auto& [bytes, which] : {std::pair(&pending.out, "out"), {&pending.err, "err"}}) {
        if (bytes->empty()) continue;
        ++draft.rows;
        draft.writes.emplace_back(Put{std::string(kOutputs),
                                      output_key(job.id, pending.task, outcome.attempt(), which),
                                      *bytes, kAnyVersion});
      }
    }
    draft.outcomes.push_back(std::move(pending));
  }
  view.outcomes.erase(view.outcomes.begin(),
                      view.outcomes.begin() + static_cast<std::ptrdiff_t>(taken));
}

// The pages of a job share a reply as long as it is not too large. What is too large by itself is
// not sent: who waits looks at the pages, too.
void WorkerMind::draft_reply(Draft& draft, const JobView& job, uint64_t number,
                             const model::Page& page, model::Page&& news) const {
  if (news.outcomes_size() == 0) return;
  *news.mutable_workers() = page.workers();
  news.set_committed_us(now_.wall_us);
  const size_t bytes = news.ByteSizeLong() + kPartBytes;
  if (bytes > kReplyBytesMax) return;
  const auto is_open = [&](const Draft::Reply& one) {
    return one.job == &job && one.bytes + bytes <= kRepliesBytesMax;
  };
  auto open = std::ranges::find_if(draft.replies, is_open);
  if (open == draft.replies.end()) {
    open = draft.replies.insert(open, {&job, {}, 0});
    open->reply.set_job(job.id);
  }
  model::Reply::Part& part = *open->reply.add_parts();
  part.set_page(number);
  part.mutable_outcomes()->Swap(&news);
  open->bytes += bytes;
  draft.bytes += bytes;
}

bool WorkerMind::is_done(const Held& held, uint64_t settles) const {
  return held.adopted && !held.splitting && !held.finishing && !held.isolate &&
         held.next == held.last && held.settled + settles == held.last - held.first &&
         held.bits.empty();
}

// Ranges that are complete, or will be with this commit, are finished in it; those whose pages must
// first be entered into the tree are not. A job of one page ends here.
void WorkerMind::draft_finishes(Draft& draft) {
  for (const Draft::Reply& reply : draft.replies) {
    std::string id = fmt::format("{}.{:x}", reply.job->id, asks_.random().next());
    draft.writes.emplace_back(
        Push{reply.job->spec().reply(), {{std::move(id), reply.reply.SerializeAsString()}}});
  }
  absl::flat_hash_set<const JobView*> wait;
  for (Draft::Written& written : draft.pages) {
    JobView& job = *written.job;
    if (!written.full) continue;
    if (root_level(job.spec().tasks()) > 0 || job.marked) {
      wait.insert(&job);
      continue;
    }
    if (job.ended || job.end_there) continue;
    draft_end(draft.writes, job, counts_of(written.page));
    written.ends = true;
  }
  std::map<std::string, std::vector<Lease>> leases;
  const auto finish = [&](Held& held) {
    held.finishing = true;
    draft.finished.push_back(held.id);
    draft.keeps.erase(held.id);
    leases[held.queue].push_back(held.lease);
  };
  // What finds no room here is finished later.
  size_t room = (std::min(options_.commit_rows, kDraftRowsMax) - draft.rows) / kFinishRows;
  for (const auto& [id, count] : draft.settles) {
    Held* held = find(id);
    if (held == nullptr || !is_done(*held, count) || wait.contains(held->job.get())) continue;
    if (room == 0) break;
    --room;
    finish(*held);
  }
  for (const uint64_t id : std::exchange(to_finish_, {})) {
    Held* held = find(id);
    if (held == nullptr || held->finishing) continue;
    if (room == 0) {
      to_finish_.insert(id);
      continue;
    }
    --room;
    finish(*held);
  }
  for (auto& [id, keep] : draft.keeps) {
    held_.at(id).splitting = true;
    draft.writes.emplace_back(keep);
  }
  // Strict, because tasks may move on with it: if the message is gone, so is our right to do that.
  for (auto& [queue, list] : leases) {
    draft.writes.emplace_back(Finish{queue, std::move(list), true});
  }
}

void WorkerMind::send(Draft&& draft) {
  publishing_ = true;
  draft.sent = now_.at;
  std::vector<Write> writes = std::move(draft.writes);
  sent_ = std::move(draft);
  asks_.commit(
      std::move(writes),
      [this](Answer&& answer) {
        Draft sent = *std::exchange(sent_, {});
        if (const auto* done = std::get_if<Committed>(&answer)) {
          publishing_ = false;
          one_page_ = one_page_ && !dirty_.empty();
          return published(sent, done->version);
        }
        const auto* error = std::get_if<Error>(&answer);
        const bool refused = error != nullptr && error->code != Code::conflict;
        // It is one of its pages: which one is found by trying each alone.
        if (refused && sent.pages.size() == 1) {
          page_is_bad(*sent.pages[0].job, sent.pages[0].number, error->what);
        }
        if (refused) {
          log::error("the store refuses {} pages: {}", sent.pages.size(), error->what);
          one_page_ = true;
        }
        collided(std::move(sent), refused ? kRefusedPause : Millis(0));
      },
      Asks::Hears::refusals);
}

void WorkerMind::published(Draft& draft, uint64_t version) {
  for (Draft::Written& written : draft.pages) {
    JobView& job = *written.job;
    if (written.round != job.round) continue;  // It was opened again since, and the page changed.
    if (written.full && (root_level(job.spec().tasks()) > 0 || job.marked)) {
      job.full.emplace(written.number, counts_of(written.page));
    }
    PageView& view = job.pages[written.number];
    view.page = std::move(written.page);
    view.version = version;
    view.known = written.era == view.era;
    if (written.ends) drop_job(job);
  }
  for (PendingOutcome& pending : draft.outcomes) {
    ++(pending.outcome.state() == model::STATE_OK ? done_ : failed_);
    Held* held = find(pending.held);
    if (held == nullptr) continue;
    --held->pending;
    ++held->settled;
    owe_bit(*held, page_of(pending.task));
    settled_.insert(held->id);
    if (is_alone() && pending.is_new) {
      if (!pending.out.empty()) pending.outcome.mutable_out()->set_bytes(std::move(pending.out));
      if (!pending.err.empty()) pending.outcome.mutable_err()->set_bytes(std::move(pending.err));
      published_.push_back({held->job->id, pending.task, std::move(pending.outcome)});
    }
  }
  if (!draft.moves.empty()) nothing_there_ = false;
  for (const PendingMove& move : draft.moves) {
    Held* held = find(move.held);
    if (held == nullptr) continue;
    --held->pending;
    ++held->settled;
    owe_bit(*held, page_of(move.range.first()));
    settled_.insert(held->id);
  }
  for (const auto& [id, keep] : draft.keeps) {
    if (Held* held = find(id)) kept(*held, draft.sent);
  }
  for (const uint64_t id : draft.finished) forget(id);
  for (PendingClaim& claim : draft.claims) claimed(std::move(claim));
  for (const Draft::Written& written : draft.pages) {
    const PageView& view = written.job->pages[written.number];
    const bool idle = !view.has_news() && !view.dirty && !view.asked;
    // The only page of a job is still needed to prove its end.
    const bool needed = root_level(written.job->spec().tasks()) == 0 && written.job->marked;
    if (written.full && idle && !needed) written.job->pages.erase(written.number);
    climb(*written.job);
  }
}

// Somebody else wrote one of the rows, or one of the leases ended. Everything is read again, then
// what is still ours is tried again.
void WorkerMind::collided(Draft&& draft, Millis pause) {
  recovering_ = 1;
  const uint64_t recovery = ++recovery_;
  // Whatever is not answered by then must not keep the rest waiting.
  asks_.later(kRecoverMax, [this, recovery] {
    if (recovery == recovery_ && recovering_ > 0) recovering_ = 1;
    recovered(recovery);
  });
  if (pause > Millis(0)) {
    ++recovering_;
    asks_.later(pause, [this, recovery] { recovered(recovery); });
  }
  std::map<std::string, std::vector<Lease>> leases;
  for (const auto& [id, keep] : draft.keeps) {
    Held* held = find(id);
    if (held == nullptr) continue;
    held->splitting = false;
    settled_.insert(id);
    leases[held->queue].push_back(held->lease);
  }
  for (const uint64_t id : draft.finished) {
    Held* held = find(id);
    if (held == nullptr) continue;
    held->finishing = false;
    settled_.insert(id);
    leases[held->queue].push_back(held->lease);
  }
  take_back(draft);
  for (const Draft::Written& written : draft.pages) {
    PageView& view = written.job->pages[written.number];
    view.known = false;
    if (!view.bad) read_page(*written.job, written.number);
    if (!written.ends) continue;
    ++recovering_;
    read_end(*written.job, [this, recovery] { recovered(recovery); });
  }
  for (auto& [queue, list] : leases) {
    ++recovering_;
    renew_leases(queue, std::move(list), [this, recovery] { recovered(recovery); });
  }
  recovered(recovery);
}

// What was on its way waits again, unless its job has ended or was opened again meanwhile.
void WorkerMind::take_back(Draft& draft) {
  for (PendingOutcome& pending : draft.outcomes) {
    Held* held = find(pending.held);
    if (held == nullptr || is_over(*held)) continue;
    const uint64_t page = page_of(pending.task);
    held->job->pages[page].outcomes.push_back(std::move(pending));
    mark_dirty(*held->job, page);
  }
  for (PendingMove& move : draft.moves) {
    Held* held = find(move.held);
    if (held == nullptr || is_over(*held)) continue;
    const uint64_t page = page_of(move.range.first());
    held->job->pages[page].moves.push_back(std::move(move));
    mark_dirty(*held->job, page);
  }
  for (PendingClaim& claim : draft.claims) {
    Held* held = find(claim.held);
    if (held == nullptr || is_over(*held)) continue;
    const uint64_t page = page_of(claim.task);
    PageView& view = held->job->pages[page];
    if (view.bad) claim.place.release();
    view.claims.push_back(std::move(claim));
    mark_dirty(*held->job, page);
  }
}

void WorkerMind::recovered(uint64_t recovery) {
  if (recovery != recovery_ || recovering_ == 0) return;
  if (--recovering_ == 0) publishing_ = false;
}

void WorkerMind::read_page(JobView& job, uint64_t number, std::function<void()> then) {
  PageView& view = job.pages[number];
  if (view.asked && !then) return;
  view.asked = true;
  ask_for(
      job, Get{std::string(kPages), {page_key(job.id, number)}},
      [this, &job, number, era = view.era, then = std::move(then)](Answer&& answer) {
        auto* rows = std::get_if<Rows>(&answer);
        const auto* error = std::get_if<Error>(&answer);
        if (rows != nullptr && !rows->rows.empty()) {
          page_read(job, number, era, std::move(rows->rows[0]));
        } else {
          page_is_bad(job, number, error == nullptr ? "it is not given" : error->what);
        }
        if (then) then();
      },
      Asks::Hears::refusals);
}

// Its tasks wait, and those of other pages and jobs go on.
void WorkerMind::page_is_bad(JobView& job, uint64_t number, const std::string& why) {
  PageView& view = job.pages[number];
  view.asked = true;  // Nothing is written to it, and none of its tasks is started.
  bad_until_ = now_.at + 2 * kBadRowWait;
  if (!std::exchange(view.bad, true)) {
    for (PendingClaim& claim : view.claims) claim.place.release();
    log::error("page {} of job {} cannot be used, its tasks wait until it is repaired: {}", number,
               job.id, why);
  }
  asks_.later(kBadRowWait, [this, pin = Pin(job), number] {
    pin->pages[number].asked = false;
    if (pin->held > 0) read_page(*pin, number);
  });
}

// A worker that leaves does not wait for damaged rows: its leases end.
void WorkerMind::forget_stuck() {
  std::set<uint64_t> stuck;
  for (const auto& [id, job] : jobs_.all()) {
    for (const auto& [number, view] : job->pages) {
      if (!view.bad) continue;
      for (const auto& one : view.outcomes) stuck.insert(one.held);
      for (const auto& one : view.moves) stuck.insert(one.held);
      for (const auto& one : view.claims) stuck.insert(one.held);
    }
  }
  for (const uint64_t id : stuck) forget(id);
}

void WorkerMind::page_read(JobView& job, uint64_t number, uint64_t era, Row&& row) {
  PageView& view = job.pages[number];
  view.asked = false;
  // What was read may be older than what we hold by now: then it says nothing, least of all that
  // the page is full.
  if (era != view.era) return;
  view.known = true;
  view.version = row.version;
  view.page.Clear();
  if (row.version != 0 && !(view.page.ParseFromString(row.value) && is_sound(view.page))) {
    view.known = false;
    view.version = 0;  // Whatever we write without having read it again must conflict.
    view.page.Clear();
    return page_is_bad(job, number, "its bytes do not parse as a page");
  }
  if (std::exchange(view.bad, false)) {
    for (PendingClaim& claim : view.claims) claim.place = room_.claim();
  }
  if (view.page.round() > job.round) {
    open_again(job, view.page.round());
    view.known = true;
  }
  // Whoever made it full may have died before it told the tree.
  if (!job.ready || !is_full(view.page, number, job.spec().tasks())) return;
  bool ours = false;
  for (auto& [id, held] : held_) {
    const bool inside = held.job.get() == &job && held.seen && page_of(held.first) <= number &&
                        held.first < held.last && number <= page_of(held.last - 1);
    if (!inside) continue;
    ours = true;
    held.bits.insert(number);
  }
  if (ours) job.full.insert_or_assign(number, counts_of(view.page));
}

// A range whose task has an outcome is finished after the tree knows of a page that is full:
// whoever made it full may have died, or lost its lease, before it told the tree.
void WorkerMind::owe_bit(Held& held, uint64_t number) {
  JobView& job = *held.job;
  if (!job.full.contains(number)) {
    const auto found = job.pages.find(number);
    if (found == job.pages.end() || !found->second.known) return;
    if (!is_full(found->second.page, number, job.spec().tasks())) return;
    job.full.emplace(number, counts_of(found->second.page));
  }
  held.bits.insert(number);
}

// Ranges of which nothing is left to do.
void WorkerMind::finish_done() {
  for (const uint64_t id : std::exchange(settled_, {})) {
    Held* held = find(id);
    if (held == nullptr) continue;
    if (held->job.get() == &nothing_ || is_over(*held)) {
      close(*held);
      continue;
    }
    if (!held->bits.empty()) {
      climb(*held->job);
    } else if (is_done(*held, 0) && !owes_release(*held->job)) {
      to_finish_.insert(id);
    }
  }
}

// Its job has ended: whatever it still held is dropped.
void WorkerMind::close(Held& held) {
  if (held.finishing || held.splitting || owes_release(*held.job)) return;
  to_finish_.insert(held.id);
}

}  // namespace dunlin
