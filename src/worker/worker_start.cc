// From a held range to running tasks, and from their endings to outcomes.

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "model/expand.h"
#include "model/inputs.h"
#include "model/submit.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr double kBufferUs = 10'000;   // Work that waits in the slots' list.
constexpr double kShortUs = 30'000;    // Only shorter tasks wait there.
constexpr uint64_t kBufferMax = 1024;  // Tasks for each slot.
constexpr double kGrabUs = 50;         // A slot takes so much work at once.
constexpr uint64_t kGrabMax = 64;
constexpr uint64_t kIsolateMax = 32;  // Tasks of a lost worker that travel alone.
constexpr uint32_t kBackoffDoublings = 16;
// A task that cannot be started here, by no fault of its own, goes to others, so often, after a
// pause that doubles.
constexpr uint32_t kRefusedMax = 100;
constexpr Millis kRefusedPause = Millis(100);
constexpr Millis kRefusedPauseMax = std::chrono::seconds(30);
// And so many of them in a row mean that something is wrong with this machine.
constexpr uint32_t kFaultsMax = 3;
constexpr Millis kRestMin = std::chrono::seconds(5);
constexpr Millis kRestMax = std::chrono::minutes(5);
constexpr int64_t kFreshUs = 5'000'000;
constexpr size_t kGroupsMax = 64;  // Of inputs that are kept, of each job.
constexpr size_t kWhyMax = 400;    // A page must have room for 256 of them.
constexpr uint64_t kUrgentFailures = 10;

Millis refused_pause(uint32_t before) {
  return std::min(kRefusedPause * (1U << std::min(before, kBackoffDoublings)), kRefusedPauseMax);
}

bool is_covered(uint64_t page, uint64_t first, uint64_t last, uint64_t tasks) {
  const uint64_t begin = page * kPageTasks;
  return first <= begin && begin + page_size(page, tasks) <= last;
}

}  // namespace

WorkerMind::Held* WorkerMind::find(uint64_t held) {
  const auto found = held_.find(held);
  return found == held_.end() ? nullptr : &found->second;
}

WorkerMind::Held* WorkerMind::find(const Lease& lease) {
  const auto found = by_lease_.find({lease.id, lease.token});
  return found == by_lease_.end() ? nullptr : find(found->second);
}

// Like Asks::ask(), and the job's view stays until the answer came.
void WorkerMind::ask_for(JobView& job, Request request, Asks::Then then, Asks::Hears hears) {
  asks_.ask(
      std::move(request),
      [pin = Pin(job), then = std::move(then)](Answer&& answer) { then(std::move(answer)); },
      hears);
}

JobView& WorkerMind::job_of(const std::string& queue, model::Range& range) {
  JobView& job = jobs_.open(range.job(), range.round());
  job.queue = queue;
  if (range.round() > job.round) open_again(job, range.round());
  // A job whose message was on its way for long may be gone: then there is none to read. (Earlier
  // releases pushed specs that they had not read, without tasks.)
  const bool whole = range.has_spec() && range.spec().tasks() > 0;
  if (!job.ready && !job.asked && whole && !is_old(range)) {
    job.text->spec.Swap(range.mutable_spec());
    job_ready(job);
  }
  range.clear_spec();
  if (!job.ready) read_job(job);
  if (is_old(range) && !job.end_read && !job.ended) read_end(job, [] {});
  return job;
}

// A job whose message was on its way for long may have been cancelled meanwhile.
bool WorkerMind::is_old(const model::Range& range) const {
  const int64_t sent_us = range.sent_us();  // Clocks differ.
  return range.seen() || sent_us <= now_.wall_us - kFreshUs || sent_us >= now_.wall_us + kFreshUs;
}

// The job had ended, and was retried. What we still hold of earlier rounds is over, and what we
// know of the pages and the tree is older than that.
void WorkerMind::open_again(JobView& job, uint32_t round) {
  job.round = round;
  job.ended = job.released = false;
  job.end_read = job.end_there = false;
  job.nodes.clear();
  job.full.clear();
  for (auto& [number, view] : job.pages) {
    view.known = false;
    ++view.era;
  }
  for (auto& [id, held] : held_) {
    if (held.job.get() != &job) continue;
    abandon(held);
    settled_.insert(id);
  }
}

void WorkerMind::read_job(JobView& job) {
  if (job.asked) return;
  job.asked = true;
  ask_for(job, Get{std::string(kJobs), {job.id}}, [this, &job](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.empty()) return;
    model::Job record;
    if (!record.ParseFromString(rows->rows[0].value)) {
      log::error("the row of job {} is damaged: its tasks wait until it is repaired", job.id);
      job.damaged = true;
      bad_until_ = now_.at + 2 * kBadRowWait;
      return asks_.later(kBadRowWait, [this, pin = Pin(job)] {
        pin->asked = false;
        if (pin->held > 0) read_job(*pin);
      });
    }
    if (rows->rows[0].version == 0 || record.gone_us() != 0) {
      log::warning("there is no job for a range job={}", job.id);
      return job_has_ended(job);
    }
    job.text->spec = std::move(*record.mutable_spec());
    job_ready(job);
    for (auto& [id, held] : held_) {
      if (held.job.get() != &job || !held.adopted) continue;
      unstarted_ -= held.last - held.next;
      shorten_to_job(held);
      unstarted_ += held.last - held.next;
      settled_.insert(id);
    }
  });
}

// A spec that was not submitted by our own client may be anything.
void WorkerMind::job_ready(JobView& job) {
  job.ready = true;
  job.damaged = false;
  Result<void> good = validate_spec(job.spec());
  if (!good.ok()) job.text->spec.clear_reply();
  if (good.ok()) good = check_needs(job.spec().requires_());
  if (good.ok()) good = prepare(job);
  if (!good.ok()) job.trouble = good.error().what;
}

// Its route asks for as much, unless somebody wrote another one. It would wait here for ever.
Result<void> WorkerMind::check_needs(const model::Requirements& needs) const {
  const bool enough = needs.gpus() <= options_.gpus && needs.mem_bytes() <= options_.mem_bytes;
  if (enough || is_alone()) return {};
  return Error{Code::corrupt,
               "the job needs more than the workers have that its queue is for: submit it again"};
}

// A job has no tasks beyond its last, whatever the message says.
void WorkerMind::shorten_to_job(Held& held) {
  if (held.job->ready) held.last = std::clamp(held.job->spec().tasks(), held.next, held.last);
}

// Keeps the slots' list filled: by age, and larger priority first.
void WorkerMind::start() {
  if (stopping() || resting() || no_more_ || unstarted_ == 0) return;
  if (!trouble_.empty() && tasks_.size() + room_.claimed() > 0) return;  // One, to see if it works.
  // Tasks in the slots' list are out of others' reach, so only short ones wait there, and none of
  // unknown length.
  const auto most_of = [this](double pace) -> uint64_t {
    if (options_.enough) return room_.slots();
    const bool wait = pace > 0 && pace <= kShortUs;
    const double ahead = wait ? std::clamp(kBufferUs / pace, 1.0, double{kBufferMax}) : 0;
    return room_.slots() * (1 + static_cast<uint64_t>(ahead));
  };
  const uint64_t most = most_of(std::max(mean_us_, 1.0));
  std::vector<Held*> order;
  for (auto& [id, held] : held_) {
    if (held.adopted && held.next < held.last && held.job->ready && !is_over(held) &&
        (!held.old || held.job->end_read) && !is_stuck(held) && !in_doubt(held)) {
      order.push_back(&held);
    }
    if (order.size() > most) break;
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const Held* held) { return held->job->spec().priority(); });
  for (Held* held : order) {
    if (held->isolate) {
      isolate(*held);
      continue;
    }
    const double pace = pace_of(*held->job);
    const uint64_t taken = tasks_.size() + room_.claimed();
    if (taken >= most_of(pace)) continue;
    const double grab = pace == 0 ? 1 : kGrabUs / pace;
    tasks_.set_grab(std::clamp<uint64_t>(static_cast<uint64_t>(grab), 1, kGrabMax));
    start_from(*held, trouble_.empty() ? most_of(pace) - taken : 1);
    if (!trouble_.empty()) return;
  }
}

bool WorkerMind::is_stuck(const Held& held) const {
  if (now_.at >= bad_until_) return false;
  if (!held.job->ready) return held.job->damaged;
  const auto page = held.job->pages.find(page_of(held.next));
  return page != held.job->pages.end() && page->second.bad;
}

uint64_t WorkerMind::stuck_tasks() const {
  uint64_t tasks = 0;
  if (now_.at >= bad_until_) return tasks;
  for (const auto& [id, held] : held_) {
    if (held.adopted && is_stuck(held)) tasks += held.last - held.next;
  }
  return tasks;
}

// How long a task of this job takes; 0: not known. What runs inside the worker is taken for like
// the rest; programs may be anything.
double WorkerMind::pace_of(const JobView& job) const {
  const model::Command& command = job.spec().command();
  const bool inside = !command.builtin().empty() || !command.function().empty();
  return job.mean_us == 0 && inside ? mean_us_ : job.mean_us;
}

bool WorkerMind::fits(const Held& held) const {
  return room_.fits(held.job->spec().requires_(), is_doubtful(held));
}

void WorkerMind::start_from(Held& held, size_t max) {
  JobView& job = *held.job;
  std::vector<std::string> values;
  const bool only_once = job.spec().delivery() == model::DELIVERY_AT_MOST_ONCE;
  const bool careful = must_claim(held);
  for (; max > 0 && held.next < held.last; --max) {
    const uint64_t task = held.next;
    const uint64_t page = page_of(task);
    if (!page_is_there(held, page)) return;
    const PageView* view = held.seen || careful ? &job.pages[page] : nullptr;
    const uint32_t offset = offset_of(task);
    if (view != nullptr &&
        (view->has_outcome(offset) || (view->is_moved(offset) && !held.range.alone()))) {
      ++held.next;
      --unstarted_;
      ++held.settled;
      owe_bit(held, page);
      settled_.insert(held.id);
      continue;
    }
    if (only_once && view->claims_of(offset) > 0) {
      take_task(held);
      settle(held, task,
             lost_outcome(held, "its worker was lost, and it may be started only once"));
      continue;
    }
    if (careful) held.lost = losses(held, *view, offset);
    if (careful && !only_once && held.lost >= losses_max(job.spec()) && !is_alone()) {
      take_task(held);
      settle(held, task,
             lost_outcome(held, fmt::format("{} workers in a row were lost while they "
                                            "ran it",
                                            held.lost)));
      continue;
    }
    if (!job.trouble.empty()) {
      take_task(held);
      refuse(held, task, job.trouble);
      continue;
    }
    if (!careful && !has_begun(held, page)) return;
    if (!fits(held) || !read_stdin(job) || !inputs_are_there(job, task, values)) return;
    take_task(held);
    if (careful) {
      claim(held, task, std::move(values));
    } else {
      launch(held, task, std::move(values));
    }
  }
}

// A start that must be on record before it happens: because it may happen only once, because what
// the last attempt had of its job's iterations goes to others with it, or because a worker may have
// been lost with this task and the next loss must be known to be its doing.
bool WorkerMind::must_claim(const Held& held) const {
  return held.job->spec().delivery() == model::DELIVERY_AT_MOST_ONCE ||
         held.job->spec().has_iterations() ||
         (held.last - held.first == 1 && (held.range.lost() > 0 || held.lost > 0));
}

// Workers that were lost with this task: starts on record, and at most one that was not. A message
// that was pulled and never arrived is nobody's fault.
uint32_t WorkerMind::losses(const Held& held, const PageView& view, uint32_t offset) const {
  const uint32_t claims = view.claims_of(offset);
  if (held.job->spec().has_iterations()) return claims;  // All are on record.
  const uint32_t unclaimed = held.range.lost() + (held.again > claims ? held.again - claims : 0);
  return claims + std::min(unclaimed, 1U);
}

// Whether its page says that the attempt may start; else that is on its way. A worker whose lease
// has ended may still publish an earlier attempt, so outcomes alone do not tell a retry which
// numbers were used.
bool WorkerMind::has_begun(const Held& held, uint64_t page) {
  if (held.attempt <= 1) return true;
  PageView& view = held.job->pages[page];
  if (view.known && view.page.begun() >= held.attempt) return true;
  view.begins = std::max(view.begins, held.attempt);
  mark_dirty(*held.job, page);
  return false;
}

void WorkerMind::take_task(Held& held) {
  ++held.next;
  --unstarted_;
  ++held.pending;
}

// A page that nobody else can have written need not be read; one that is shared is read while its
// tasks run, one that was seen before they start.
bool WorkerMind::page_is_there(Held& held, uint64_t page) {
  JobView& job = *held.job;
  const bool covered = is_covered(page, held.first, held.last, job.spec().tasks());
  const bool needed = held.seen || must_claim(held);
  if (covered && !held.seen && !must_claim(held)) return true;
  PageView& view = job.pages[page];
  if (!view.known) read_page(job, page);
  return !needed || view.known;
}

bool WorkerMind::inputs_are_there(JobView& job, uint64_t task, std::vector<std::string>& values) {
  values.clear();
  const model::Inputs& inputs = job.spec().inputs();
  if (inputs.sources().empty()) return true;
  const std::vector<uint64_t> indices = source_indices(inputs, task);
  for (size_t source = 0; source < indices.size(); ++source) {
    const uint64_t index = indices[source];
    if (inputs.sources(static_cast<int>(source)).blob().empty()) {
      if (index >= job.values[source].size()) {
        job.trouble = fmt::format("the inputs of job {} are damaged", job.id);
        return false;
      }
      values.push_back(job.values[source][index]);
      continue;
    }
    const uint64_t group = index / kValuesPerIndex;
    const auto found = job.groups.find({source, group});
    if (found == job.groups.end()) {
      read_group(job, source, group);
      return false;
    }
    const uint64_t at = index % kValuesPerIndex;
    if (at >= found->second.size()) {
      job.trouble = fmt::format("the inputs of job {} are damaged", job.id);
      return false;
    }
    values.push_back(found->second[at]);
  }
  return true;
}

void WorkerMind::read_group(JobView& job, size_t source, uint64_t group) {
  if (!job.groups_asked.insert({source, group}).second) return;
  const model::Source& from = job.spec().inputs().sources(static_cast<int>(source));
  const Slice index = index_slice(from, group);
  const auto failed = [&job](const Answer& answer) {
    const auto* error = std::get_if<Error>(&answer);
    job.trouble = fmt::format("the inputs of job {} cannot be read: {}", job.id,
                              error != nullptr ? error->what : "no bytes");
  };
  ask_for(job, BlobGet{from.blob(), index.offset, index.size},
          [this, &job, &from, source, group, failed](Answer&& answer) {
            const auto* bytes = std::get_if<Bytes>(&answer);
            if (bytes == nullptr) return failed(answer);
            const auto slice = group_slice(from, group, bytes->bytes);
            if (!slice.ok()) return failed(slice.error());
            read_slice(job, from.blob(), slice.value(), "",
                       [&job, source, group, failed](Result<std::string>&& values) {
                         if (!values.ok()) return failed(values.error());
                         auto read = read_values(values.value());
                         if (!read.ok()) return failed(read.error());
                         if (job.groups.size() >= kGroupsMax) {
                           job.groups.clear();
                           job.groups_asked.clear();
                         }
                         job.groups_asked.insert({source, group});
                         job.groups[{source, group}] = std::move(read).value();
                       });
          });
}

// A slice may be longer than one answer.
void WorkerMind::read_slice(JobView& job, const std::string& blob, Slice slice, std::string so_far,
                            std::function<void(Result<std::string>&&)> then) {
  if (slice.size == 0) return then(std::move(so_far));
  const uint64_t size = std::min<uint64_t>(slice.size, kBlobPart);
  ask_for(job, BlobGet{blob, slice.offset, size},
          [this, &job, blob, slice, so_far = std::move(so_far),
           then = std::move(then)](Answer&& answer) mutable {
            if (const auto* error = std::get_if<Error>(&answer)) return then(*error);
            const std::string& bytes = std::get<Bytes>(answer).bytes;
            if (bytes.empty()) return then(Error{Code::corrupt, "blob " + blob + " is too short"});
            so_far += bytes;
            read_slice(job, blob, {slice.offset + bytes.size(), slice.size - bytes.size()},
                       std::move(so_far), std::move(then));
          });
}

bool WorkerMind::read_stdin(JobView& job) {
  const std::string& blob = job.spec().stdin_blob();
  if (blob.empty() || job.stdin_there) return true;
  if (job.stdin_asked) return false;
  job.stdin_asked = true;
  ask_for(job, BlobList{blob, "", 1}, [this, &job, blob](Answer&& answer) {
    const auto* names = std::get_if<BlobNames>(&answer);
    if (names == nullptr || names->blobs.empty() || names->blobs[0].name != blob ||
        names->blobs[0].size > kStdinMax) {
      job.trouble = fmt::format("the stdin of job {} cannot be read", job.id);
      job.stdin_there = true;
      return;
    }
    read_slice(job, blob, {0, names->blobs[0].size}, "", [&job](Result<std::string>&& bytes) {
      if (!bytes.ok()) job.trouble = bytes.error().what;
      if (bytes.ok()) job.text->stdin_bytes = std::move(bytes).value();
      job.stdin_there = true;
    });
  });
  return false;
}

void WorkerMind::launch(Held& held, uint64_t task, std::vector<std::string>&& values) {
  const JobView& job = *held.job;
  tasks_.start(
      {.held = held.id,
       .task = task,
       .room = room_.take(job.spec().requires_(), is_doubtful(held)),
       .since = now_.at},
      {.job = job.text, .task = task, .attempt = held.attempt, .values = std::move(values)});
}

void WorkerMind::claim(Held& held, uint64_t task, std::vector<std::string>&& values) {
  PageView& view = held.job->pages[page_of(task)];
  view.claims.push_back({held.id, task, std::move(values), room_.claim()});
  mark_dirty(*held.job, page_of(task));
}

void WorkerMind::claimed(PendingClaim&& claim) {
  claim.place.release();
  Held* held = find(claim.held);
  if (held == nullptr) return;
  // It has not started: nothing is lost.
  if (stopping_ || in_doubt(*held)) {
    return move_task(*held, claim.task, held->attempt + 1, held->range.lost(), 0);
  }
  launch(*held, claim.task, std::move(claim.values));
}

// A worker was lost while it held these tasks. The first of them may be the reason: each gets a
// message of its own, so that it can only take itself down. The others go on as one range.
void WorkerMind::isolate(Held& held) {
  JobView& job = *held.job;
  if (held.splitting) return;
  uint64_t alone = 0;
  uint64_t task = held.next;
  for (; task < held.last && alone < kIsolateMax; ++task) {
    const uint64_t page = page_of(task);
    if (!page_is_there(held, page)) return;
    if (!job.pages[page].is_settled(offset_of(task))) ++alone;
  }
  const uint64_t last = task;
  for (task = held.next; task < last; ++task) {
    if (job.pages[page_of(task)].is_settled(offset_of(task))) {
      ++held.next;
      --unstarted_;
      ++held.settled;
      owe_bit(held, page_of(task));
      continue;
    }
    take_task(held);
    move_task(held, task, held.attempt, 1, 0);
  }
  held.isolate = false;
  settled_.insert(held.id);
  if (held.next < held.last) shorten(held, held.next);
}

// Gives a task a message of its own.
void WorkerMind::move_task(Held& held, uint64_t task, uint32_t attempt, uint32_t lost,
                           int64_t not_before_ms) {
  model::Range range = held.range;
  range.set_first(task);
  range.set_last(task + 1);
  range.set_attempt(attempt);
  range.set_lost(lost);
  range.set_seen(true);
  range.set_alone(true);
  range.set_not_before_ms(not_before_ms);
  range.set_sent_us(now_.wall_us);
  if (held.job->ready) embed_spec(range, held.job->spec());
  PageView& view = held.job->pages[page_of(task)];
  view.moves.push_back({held.id, std::move(range)});
  mark_dirty(*held.job, page_of(task));
}

PendingOutcome WorkerMind::lost_outcome(const Held& held, std::string why) const {
  PendingOutcome pending;
  model::Outcome& outcome = pending.outcome;
  outcome.set_state(model::STATE_LOST);
  outcome.set_blame(model::BLAME_WORKER);
  outcome.set_attempt(held.attempt);
  outcome.set_why(std::move(why));
  outcome.set_received_us(held.received_us);
  return pending;
}

void WorkerMind::refuse(Held& held, uint64_t task, const std::string& why) {
  PendingOutcome pending = lost_outcome(held, why);
  pending.outcome.set_state(model::STATE_REFUSED);
  pending.outcome.set_blame(model::BLAME_STORE);
  settle(held, task, std::move(pending));
}

void WorkerMind::settle(Held& held, uint64_t task, PendingOutcome&& pending) {
  pending.held = held.id;
  pending.task = task;
  pending.outcome.set_offset(offset_of(task));
  if (options_.enough && options_.enough(pending.outcome)) no_more_ = true;
  // One that is not UTF-8 would make the page unreadable, with all that others left in it.
  pending.outcome.set_why(dunlin::shorten(std::move(*pending.outcome.mutable_why()), kWhyMax));
  PageView& view = held.job->pages[page_of(task)];
  view.outcomes.push_back(std::move(pending));
  mark_dirty(*held.job, page_of(task));
}

void WorkerMind::ended(std::vector<Ending>&& endings, Now now) {
  asks_.set_now(now);
  for (Ending& ending : endings) {
    const Tasks::Running* running = tasks_.find(ending.ticket);
    if (running == nullptr) continue;  // Dropped meanwhile.
    const Held& held = held_.at(running->held);
    auto done = tasks_.ended(std::move(ending), [&](const char* which) {
      return blob_name(held.job->id, running->task, held.attempt, which);
    });
    if (done) end_task(std::move(*done));
  }
  think();
}

void WorkerMind::uploaded(uint64_t ticket, const Result<void>& result, Now now) {
  asks_.set_now(now);
  auto done = tasks_.uploaded(ticket, result);
  if (!done) return;
  end_task(std::move(*done));
  think();
}

void WorkerMind::end_task(Tasks::Ended&& ended) {
  const Tasks::Running running = std::exchange(ended.running, {});
  Ending& ending = ended.ending;
  Held& held = held_.at(running.held);
  model::Outcome& outcome = ending.outcome;
  measure(*held.job, outcome);
  outcome.set_attempt(held.attempt);
  outcome.set_received_us(held.received_us);
  outcome.set_waited_us(static_cast<uint32_t>(
      std::clamp<int64_t>(ending.started_us - held.received_us, 0, UINT32_MAX)));
  const bool could_not_start =
      outcome.state() == model::STATE_REFUSED && outcome.blame() == model::BLAME_WORKER;
  if (!could_not_start) ran_here();
  if (could_not_start && elsewhere(held, running.task, outcome)) return;
  if (outcome.state() != model::STATE_OK && again(held, running.task, outcome)) return;
  // Who waits for failures wants to know of the first ones at once.
  if (outcome.state() != model::STATE_OK && failed_ < kUrgentFailures) {
    published_at_ = Instant::min();
  }
  PendingOutcome pending;
  pending.outcome = std::move(outcome);
  model::Outcome& kept = pending.outcome;
  if (!kept.value().empty()) kept.mutable_out()->set_allocated_bytes(kept.release_value());
  for (const auto& [output, row] :
       {std::pair(kept.mutable_out(), &pending.out), {kept.mutable_err(), &pending.err}}) {
    if (output->where() != model::Output::HERE || output->bytes().size() <= kOutputHereMax) {
      continue;
    }
    output->set_where(model::Output::ROW);
    output->set_size(output->bytes().size());
    row->swap(*output->mutable_bytes());
  }
  if (kept.out().ByteSizeLong() == 0) kept.clear_out();
  if (kept.err().ByteSizeLong() == 0) kept.clear_err();
  settle(held, running.task, std::move(pending));
}

// Whether the task's own failure is worth another try, which then is on its way.
bool WorkerMind::again(Held& held, uint64_t task, const model::Outcome& outcome) {
  const model::Spec& spec = held.job->spec();
  if (outcome.blame() == model::BLAME_STORE || spec.delivery() == model::DELIVERY_AT_MOST_ONCE) {
    return false;
  }
  if (held.range.failures() >= spec.retries()) return false;
  if (!spec.retry_on().empty() &&
      (outcome.state() != model::STATE_FAILED ||
       std::ranges::find(spec.retry_on(), static_cast<uint32_t>(outcome.exit())) ==
           spec.retry_on().end())) {
    return false;
  }
  const Millis backoff = backoff_of(spec, held.range.failures());
  const int64_t when = backoff == Millis(0) ? 0 : now_.wall_us / 1000 + backoff.count();
  move_task(held, task, held.attempt + 1, 0, when);
  model::Range& range = held.job->pages[page_of(task)].moves.back().range;
  range.set_failures(held.range.failures() + 1);
  return true;
}

// How long a range was meant to wait before it is tried.
Millis WorkerMind::pause_of(const Held& held) {
  const model::Range& range = held.range;
  if (range.not_before_ms() == 0) return Millis(0);
  if (!held.job->ready) return std::chrono::hours(1);  // Not known yet; it is asked again soon.
  const Millis failed =
      range.failures() == 0 ? Millis(0) : backoff_of(held.job->spec(), range.failures() - 1);
  const Millis refused = range.refused() == 0 ? Millis(0) : refused_pause(range.refused() - 1);
  return std::max(failed, refused);
}

// What could not be started here is no outcome: others may have it. Its claim goes with the move,
// so this holds for tasks that may start only once, too.
bool WorkerMind::elsewhere(Held& held, uint64_t task, const model::Outcome& outcome) {
  could_not_start(outcome.why());
  const uint32_t before = held.range.refused();
  if (before + 1 >= kRefusedMax) return false;
  const int64_t when = now_.wall_us / 1000 + refused_pause(before).count();
  move_task(held, task, held.attempt + 1, held.range.lost(), when);
  held.job->pages[page_of(task)].moves.back().range.set_refused(before + 1);
  return true;
}

void WorkerMind::could_not_start(const std::string& why) {
  if (++faults_ < kFaultsMax && trouble_.empty()) return;
  if (resting()) return;  // What was on its way to the slots comes back now.
  rest_ = std::clamp(rest_ * 2, kRestMin, kRestMax);
  rests_until_ = now_.at + rest_;
  trouble_ = dunlin::shorten(why, kWhyMax);
  log::error("this worker takes no tasks for {} s: {}", rest_.count() / 1000, why);
  asks_.later(rest_, [] {});
}

void WorkerMind::ran_here() {
  faults_ = 0;
  if (trouble_.empty()) return;
  log::info("this worker takes tasks again");
  trouble_.clear();
  rest_ = Millis(0);
}

void WorkerMind::measure(JobView& job, const model::Outcome& outcome) {
  const double took_us = static_cast<double>(std::max<uint64_t>(outcome.ran_us(), 1));
  for (double* mean_us : {&mean_us_, &job.mean_us}) {
    const double weight = *mean_us == 0 ? 1 : 0.05;
    *mean_us += weight * (took_us - *mean_us);
  }
}

// If no slot has taken anything for a while, tasks take that long at least.
void WorkerMind::measure_running() {
  if (tasks_.size() < room_.slots()) return;
  const std::chrono::duration<double, std::micro> since = now_.at - tasks_.last_start();
  mean_us_ = std::max(mean_us_, since.count());
}

}  // namespace dunlin
