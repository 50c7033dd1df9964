#include "worker/mind/page_draft.h"

#include <algorithm>
#include <bitset>
#include <fmt/format.h>
#include <utility>

#include "model/iterations/ledgers.h"

namespace dunlin::worker {
namespace {

constexpr size_t kBytesMax = 3 << 20;
constexpr size_t kRowsMax = 8000;
// Rows that these need in a commit, at most. A large message has two.
constexpr size_t kReplyRows = 2;
constexpr size_t kEndRows = 2;
constexpr size_t kPageRows = 1 + kReplyRows + kEndRows;
constexpr size_t kMoveRows = 3;  // With the message that it moves from.
constexpr size_t kFinishRows = 2;
constexpr size_t kFinishesAlways = 4;                // There is room for so many.
constexpr size_t kReplyBytesMax = kValueMax - 1024;  // Of one page,
constexpr size_t kRepliesBytesMax = kValueMax / 2;   // and of several.
constexpr size_t kPartBytes = 32;     // Of a part of a reply, beside the outcomes, at most.
constexpr size_t kOutcomeBytes = 64;  // Of an outcome, beside its outputs.
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

PendingOutcome lost_outcome(const Held& held, std::string why) {
  PendingOutcome pending;
  model::Outcome& outcome = pending.outcome;
  outcome.set_state(model::STATE_LOST);
  outcome.set_blame(model::BLAME_WORKER);
  outcome.set_attempt(held.attempt);
  outcome.set_why(std::move(why));
  outcome.set_received_us(held.received_us);
  return pending;
}

PendingOutcome refused_outcome(const Held& held, std::string why) {
  PendingOutcome pending = lost_outcome(held, std::move(why));
  pending.outcome.set_state(model::STATE_REFUSED);
  pending.outcome.set_blame(model::BLAME_STORE);
  return pending;
}

PageDraft::PageDraft(std::string worker, size_t commit_rows, Asks& asks, HeldRanges& ranges,
                     DraftOwner& owner)
    : worker_(std::move(worker)),
      commit_rows_(commit_rows),
      asks_(&asks),
      ranges_(&ranges),
      owner_(&owner) {}

size_t PageDraft::rows_max() const { return std::min(commit_rows_, kRowsMax); }

// Whether so many rows more fit into the commit, beside some finishes.
bool PageDraft::has_room(size_t rows) const {
  return bytes_ < kBytesMax && rows_ + rows + kFinishesAlways * kFinishRows <= rows_max();
}

bool PageDraft::has_room_for_page(size_t pages_max) const {
  return has_room(kPageRows) && pages.size() < pages_max;
}

void PageDraft::add(JobView& job, uint64_t number, PageView& view) {
  if (!view.has_news()) return;  // What was pending has been forgotten.
  Written written{Pin(job), number, job.round, view.era, view.page};
  model::Page news;
  rows_ += kPageRows;
  add_moves(view, written.page);
  add_claims(view, written.page);
  add_outcomes(job, view, written.page, news);
  record_begun(written.page, std::exchange(view.begins, 0));
  written.page.set_committed_us(asks_->now().wall_us);
  written.full = is_full(written.page, number, job.spec().tasks());
  Put put{std::string(kPages), page_key(job.id, number), written.page.SerializeAsString(),
          view.version};
  bytes_ += put.value.size();
  writes.emplace_back(std::move(put));
  const size_t replies = replies_.size();
  add_reply(job, number, written.page, std::move(news));
  if (replies_.size() == replies) rows_ -= kReplyRows;
  if (!written.full || root_level(job.spec().tasks()) > 0) rows_ -= kEndRows;
  pages.push_back(std::move(written));
}

void PageDraft::add_moves(PageView& view, model::Page& page) {
  for (PendingMove& move : std::exchange(view.moves, {})) {
    Held& held = ranges_->at(move.held);
    // A split changes where the range ends, too: one after the other.
    if (held.is_splitting() || !has_room(kMoveRows)) {
      view.moves.push_back(std::move(move));
      continue;
    }
    ++settles_[move.held];
    const uint32_t offset = offset_of(move.range.first());
    const bool ours = held.range.alone() || !view.is_moved(offset);
    if (!view.has_outcome(offset) && ours) add_move(page, move, held);
    moves.push_back(std::move(move));
  }
}

// The task gets a message of its own. Its claims are no sign of a lost worker any more: ours,
// because we give the task back ourselves, and all of them, if it has ended by itself.
void PageDraft::add_move(model::Page& page, const PendingMove& move, const Held& held) {
  const uint32_t offset = offset_of(move.range.first());
  set_bit(*page.mutable_moved(), offset);
  const bool afresh = move.range.lost() == 0;
  forget_claims(page, offset, afresh ? std::nullopt : std::optional(held.attempt));
  record_begun(page, move.range.attempt());
  // Whoever takes over also takes the iterations of those before it.
  if (held.job->spec().has_iterations()) revoke(page, offset, move.range.attempt() - 1);
  std::string body = move.range.SerializeAsString();
  bytes_ += body.size();
  rows_ += kMoveRows;
  writes.emplace_back(Push{held.queue, {{range_id(move.range), std::move(body)}}});
  // Whoever gets the message of a single task again must find nothing in it.
  const uint64_t last = held.range.alone() ? held.first() : held.last();
  keeps.try_emplace(held.id, ranges_->keep(held, last));
}

void PageDraft::add_claims(PageView& view, model::Page& page) {
  std::vector<PendingClaim> granted;
  for (PendingClaim& pending : std::exchange(view.claims, {})) {
    if (add_claim(view, page, pending)) granted.push_back(std::move(pending));
  }
  for (PendingClaim& pending : granted) owner_->granted(std::move(pending));
}

// Whether it was made before, its answer was lost, and others have written the page since.
bool PageDraft::add_claim(const PageView& view, model::Page& page, PendingClaim& pending) {
  Held& held = ranges_->at(pending.held);
  const uint32_t offset = offset_of(pending.task);
  const auto own = std::ranges::find(page.claims(), offset, &model::Claim::offset);
  const bool is_there = own != page.claims().end();
  if (is_there && own->attempt() == held.attempt && own->worker() == worker_ &&
      !view.has_outcome(offset)) {
    return true;
  }
  const bool only_once = held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE;
  if (view.has_outcome(offset) || (only_once && view.claims_of(offset) > 0)) {
    // Somebody else was first. If there is an outcome already, this one is dropped.
    pending.place.release();
    owner_->settle(held, pending.task,
                   lost_outcome(held, "its worker was lost, and it may start only once"));
    return false;
  }
  // A later attempt has begun, so this lease has ended, as its renewal will say. A claim now
  // would count as one more worker that was lost.
  if (is_there && own->attempt() > held.attempt) {
    pending.place.release();
    ranges_->renew_in_doubt();
    return false;
  }
  worker::add_claim(page, offset, held.attempt, worker_);
  claims.push_back(std::move(pending));
  return false;
}

void PageDraft::add_outcomes(const JobView& job, PageView& view, model::Page& page,
                             model::Page& news) {
  std::bitset<kPageTasks> have;
  for (const model::Outcome& outcome : page.outcomes()) have.set(outcome.offset());
  forget_workers(page);
  std::optional<uint32_t> worker;
  size_t page_bytes = page.ByteSizeLong();
  size_t taken = 0;
  for (PendingOutcome& pending : view.outcomes) {
    if (!has_room(2)) break;
    ++taken;
    const uint32_t offset = pending.outcome.offset();
    // Else it is a duplicate, or its iterations are with a later attempt, and it is dropped.
    const uint32_t attempt = pending.outcome.attempt();
    const bool iterates = job.spec().has_iterations();
    pending.is_new = !have.test(offset) && !(iterates && has(page.claims(), offset, attempt + 1));
    const bool is_revoked = pending.is_new && iterates && has(page.revoked(), offset, attempt);
    // Lost are only tasks whose start is on record. Whoever claimed this one has given it back
    // before it started, so it is tried again; as is one whose iterations went to others.
    const bool lost = pending.is_new && pending.outcome.state() == model::STATE_LOST;
    if (is_revoked || (lost && !has(page.claims(), offset, 0))) {
      Held& held = ranges_->at(pending.held);
      owner_->move_task(held, pending.task, held.attempt + 1, std::max(held.range.lost(), 1U), 0);
      continue;
    }
    ++settles_[pending.held];
    if (pending.is_new) {
      have.set(offset);
      if (!worker) worker = worker_number(page, worker_);
      if (page_bytes > kPageFullBytes) move_to_rows(pending);
      model::Outcome& outcome = *page.add_outcomes();
      outcome = pending.outcome;
      outcome.set_worker(*worker);
      page_bytes += outcome.ByteSizeLong();
      add_outcome(job, outcome, pending, news);
    }
    outcomes.push_back(std::move(pending));
  }
  view.outcomes.erase(view.outcomes.begin(),
                      view.outcomes.begin() + static_cast<std::ptrdiff_t>(taken));
}

void PageDraft::add_outcome(const JobView& job, const model::Outcome& outcome,
                            const PendingOutcome& pending, model::Page& news) {
  if (!job.spec().reply().empty()) *news.add_outcomes() = outcome;
  bytes_ += kOutcomeBytes + pending.out.size() + pending.err.size();
  for (const auto& [bytes, which] : {std::pair(&pending.out, "out"), {&pending.err, "err"}}) {
    if (bytes->empty()) continue;
    ++rows_;
    writes.emplace_back(Put{std::string(kOutputs),
                            output_key(job.id, pending.task, outcome.attempt(), which), *bytes,
                            kAnyVersion});
  }
}

// The pages of a job share a reply as long as it is not too large. What is too large by itself is
// not sent: who waits looks at the pages, too.
void PageDraft::add_reply(const JobView& job, uint64_t number, const model::Page& page,
                          model::Page&& news) {
  if (news.outcomes_size() == 0) return;
  *news.mutable_workers() = page.workers();
  news.set_committed_us(asks_->now().wall_us);
  const size_t bytes = news.ByteSizeLong() + kPartBytes;
  if (bytes > kReplyBytesMax) return;
  const auto is_open = [&](const Reply& one) {
    return one.job == &job && one.bytes + bytes <= kRepliesBytesMax;
  };
  auto open = std::ranges::find_if(replies_, is_open);
  if (open == replies_.end()) {
    open = replies_.insert(open, {&job, {}, 0});
    open->reply.set_job(job.id);
  }
  model::Reply::Part& part = *open->reply.add_parts();
  part.set_page(number);
  part.mutable_outcomes()->Swap(&news);
  open->bytes += bytes;
  bytes_ += bytes;
}

// Returns the jobs whose pages must be entered into the tree before their ranges are finished.
std::set<const JobView*> PageDraft::add_ends(const Completion& completion) {
  std::set<const JobView*> wait;
  for (Written& written : pages) {
    const JobView& job = *written.job;
    if (!written.full) continue;
    if (root_level(job.spec().tasks()) > 0 || job.marked) {
      wait.insert(&job);
      continue;
    }
    if (job.ended || job.end_there) continue;
    completion.draft_end(writes, job, counts_of(written.page));
    written.ends = true;
  }
  return wait;
}

void PageDraft::finish(Held& held, std::map<std::string, std::vector<Lease>>& leases) {
  ranges_->finishing(held);
  finished.push_back(held.id);
  keeps.erase(held.id);
  leases[held.queue].push_back(held.lease);
}

void PageDraft::add_finishes(std::set<uint64_t>& to_finish, const Completion& completion) {
  for (const Reply& reply : replies_) {
    std::string id = fmt::format("{}.{:x}", reply.job->id, asks_->random().next());
    writes.emplace_back(
        Push{reply.job->spec().reply(), {{std::move(id), reply.reply.SerializeAsString()}}});
  }
  const std::set<const JobView*> wait = add_ends(completion);
  std::map<std::string, std::vector<Lease>> leases;
  // What finds no room here is finished later.
  size_t room = (rows_max() - rows_) / kFinishRows;
  for (const auto& [id, count] : settles_) {
    Held* held = ranges_->find(id);
    if (held == nullptr || !held->is_done(count) || wait.contains(held->job.get())) continue;
    if (room == 0) break;
    --room;
    finish(*held, leases);
  }
  for (const uint64_t id : std::exchange(to_finish, {})) {
    Held* held = ranges_->find(id);
    if (held == nullptr || held->is_finishing()) continue;
    if (room == 0) {
      to_finish.insert(id);
      continue;
    }
    --room;
    finish(*held, leases);
  }
  for (auto& [id, keep] : keeps) {
    ranges_->keeping(ranges_->at(id));
    writes.emplace_back(keep);
  }
  // Strict, because tasks may move on with it: if the message is gone, so is our right to do that.
  for (auto& [queue, list] : leases) {
    writes.emplace_back(Finish{queue, std::move(list), true});
  }
}

}  // namespace dunlin::worker
