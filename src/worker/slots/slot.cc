#include "worker/slots/slot.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/names.h"
#include "base/text.h"
#include "worker/process/stamps.h"
#include "worker/slots/channel.h"

namespace dunlin::worker {
namespace {

constexpr uint64_t kCleanupMaxMs = 60'000;

void refuse(model::Blame blame, std::string why, model::Outcome& outcome) {
  outcome.set_state(model::STATE_REFUSED);
  outcome.set_blame(blame);
  outcome.set_why(std::move(why));
}

void add_why(const std::string& text, model::Outcome& outcome) {
  outcome.set_why(fmt::format("{}{}{}", outcome.why(), outcome.why().empty() ? "" : "; ", text));
}

}  // namespace

void remove_spools(const Ending& ending) {
  for (const std::string* path : {&ending.out_spool, &ending.err_spool}) {
    if (!path->empty()) unlink(path->c_str());
  }
}

uint32_t Exchange::take_number() {
  const auto free = std::find(numbers.begin(), numbers.end(), false);
  const auto number = static_cast<uint32_t>(free - numbers.begin()) + 1;
  if (free == numbers.end()) {
    numbers.push_back(true);
  } else {
    *free = true;
  }
  return number;
}

void Slot::work() {
  do {
    while (trade()) run_next();
  } while (wait_for_work());
}

bool Slot::wait_for_work() {
  std::unique_lock lock(exchange_.mutex);
  ++exchange_.idle;
  if (number_ != 0) exchange_.give_number(std::exchange(number_, 0));
  exchange_.work.wait(lock, [this] {
    if (exchange_.stopping) return true;
    return !exchange_.waiting.empty() && exchange_.working() < exchange_.limit;
  });
  --exchange_.idle;
  return !exchange_.stopping;
}

// Leaves endings and takes assignments, if it has none: the next task never keeps the ending of the
// last one waiting. True: there is something to run.
bool Slot::trade() {
  std::unique_lock lock(mutex_);
  if (stopping_) return false;
  if (!mine_.empty() && done_.empty()) return true;
  std::unique_lock exchange_lock(exchange_.mutex);
  const bool first = exchange_.endings.empty() && !done_.empty();
  std::move(done_.begin(), done_.end(), std::back_inserter(exchange_.endings));
  done_.clear();
  if (mine_.empty() && exchange_.working() <= exchange_.limit) {
    const size_t count = std::min(exchange_.grab, exchange_.waiting.size());
    const auto last = exchange_.waiting.begin() + static_cast<ptrdiff_t>(count);
    std::move(exchange_.waiting.begin(), last, std::back_inserter(mine_));
    exchange_.waiting.erase(exchange_.waiting.begin(), last);
    exchange_.inside += count;
    if (count > 0 && number_ == 0) number_ = exchange_.take_number();
  }
  exchange_lock.unlock();
  const bool more = !mine_.empty();
  lock.unlock();
  if (first) eventfd_write(exchange_.event, 1);
  return more;
}

void Slot::run_next() {
  Ending ending;
  Attempt next;
  {
    const std::lock_guard lock(mutex_);
    if (mine_.empty()) return;
    Assignment assignment = std::move(mine_.front());
    mine_.pop_front();
    ending.ticket = assignment.ticket;
    ending.started_us = wall_us();
    ending.outcome.set_attempt(assignment.attempt);
    busy_ = true;
    current_ = assignment.ticket;
    dropped_ = false;
    process_->reset();
    next = attempt(assignment, options_, around_, folder_.path(), number_);
  }
  run(next, ending);
  const std::lock_guard lock(mutex_);
  busy_ = false;
  --exchange_.inside;
  if (dropped_ || stopping_) {
    remove_spools(ending);
  } else {
    done_.push_back(std::move(ending));
  }
}

void Slot::run(Attempt& attempt, Ending& ending) {
  const int64_t began_us = monotonic_us();
  switch (attempt.kind) {
    case Attempt::Kind::refused:
      refuse(attempt.blame, attempt.refusal.what, ending.outcome);
      break;
    case Attempt::Kind::sleep:
      rest_until(began_us + attempt.sleep_us);
      ending.outcome.set_state(model::STATE_OK);
      break;
    case Attempt::Kind::function:
      call(*attempt.function, attempt.argument, ending.outcome);
      break;
    case Attempt::Kind::process:
      return run_process(attempt, began_us, ending);
  }
  ending.outcome.set_ran_us(static_cast<uint64_t>(monotonic_us() - began_us));
}

void Slot::rest_until(int64_t deadline_us) {
  const std::chrono::steady_clock::time_point deadline{std::chrono::microseconds(deadline_us)};
  std::unique_lock lock(mutex_);
  woken_.wait_until(lock, deadline, [this] { return dropped_ || stopping_; });
}

void Slot::run_process(Attempt& attempt, int64_t began_us, Ending& ending) {
  if (Result<void> ready = folder_.ready(); !ready.ok()) {
    return refuse(model::BLAME_WORKER, ready.error().what, ending.outcome);
  }
  if (attempt.partition) {
    run_partition(attempt, began_us, ending);
  } else {
    run_command(attempt, attempt.command, began_us, ending);
  }
  if (attempt.command.cwd == folder_.path()) say_where(attempt, ending.outcome);
  folder_.tidy();
}

// Whoever looks for a file that a task wrote must hear where it went.
void Slot::say_where(const Attempt& attempt, model::Outcome& outcome) const {
  const bool ok = outcome.state() == model::STATE_OK;
  const PrivateFolder::Left left = folder_.left();
  if (left.count == 0 && (ok || attempt.elsewhere.empty())) return;
  std::string text;
  if (!attempt.elsewhere.empty()) {
    text = fmt::format(
        "it ran in a fresh folder, as {} {}",
        attempt.is_closed ? "tasks of this worker may not enter" : "this worker does not have",
        quote_path(attempt.elsewhere));
  }
  if (left.count > 0) {
    text += fmt::format(
        "{}its fresh folder was removed with {} in it, {}{}: name with --cwd a folder that stays",
        text.empty() ? "" : "; ", count_of(left.count, "file"), quote_path(left.name),
        left.count > 1 ? " among them" : "");
  }
  add_why(text, outcome);
}

// Only if there are iterations for it.
void Slot::run_partition(Attempt& attempt, int64_t began_us, Ending& ending) {
  const auto unwanted = [this] {
    const std::lock_guard lock(mutex_);
    return dropped_ || stopping_;
  };
  CHECK(options_.ledgers != nullptr);
  auto opened = Channel::open(*options_.ledgers, *attempt.partition, unwanted);
  if (!opened.ok()) {
    return refuse(model::BLAME_STORE, "cannot take iterations: " + opened.error().what,
                  ending.outcome);
  }
  const std::unique_ptr<Channel> channel = std::move(opened).value();
  if (channel == nullptr) {
    ending.outcome.set_state(model::STATE_OK);
    return;
  }
  Command command = attempt.command;
  command.channel = channel->descriptor();
  run_command(attempt, command, began_us, ending);
  const Result<void> closed = channel->close(ending.outcome.state() == model::STATE_OK);
  if (closed.ok()) return;
  ending.outcome.set_state(model::STATE_FAILED);
  ending.outcome.set_blame(model::BLAME_TASK);
  ending.outcome.set_why(closed.error().what);
}

void Slot::run_command(Attempt& attempt, const Command& command, int64_t began_us, Ending& ending) {
  Finished finished = process_->run(command);
  finished.outcome.set_attempt(ending.outcome.attempt());
  finished.outcome.set_ran_us(static_cast<uint64_t>(monotonic_us() - began_us));
  ending.outcome = std::move(finished.outcome);
  ending.out_spool = std::move(finished.out_spool);
  ending.err_spool = std::move(finished.err_spool);
  if (finished.elsewhere) {
    attempt.elsewhere = std::exchange(attempt.command.cwd, folder_.path());
    attempt.is_closed = true;
  }
  if (!attempt.cleanup.empty()) clean_up(attempt, ending.outcome);
}

// What went wrong here is only noted: the task itself is over, and its outcome stands. What is in
// the folder is not held against it: it may be here to remove that.
void Slot::clean_up(const Attempt& attempt, model::Outcome& outcome) {
  Command command = {.argv = {"/bin/sh", "-c", attempt.cleanup},
                     .env = attempt.command.env,
                     .marks = attempt.command.marks,
                     .cwd = attempt.command.cwd,
                     .timeout_ms = kCleanupMaxMs,
                     .memory_max = attempt.command.memory_max,
                     .drop_output = true};
  const Finished finished = process_->run(command);
  if (finished.outcome.state() == model::STATE_OK) return;
  add_why("cleanup: " + finished.outcome.why(), outcome);
}

void Slot::drop(const Tickets& tickets) {
  const std::lock_guard lock(mutex_);
  exchange_.inside -= std::erase_if(
      mine_, [&](const Assignment& assignment) { return tickets.contains(assignment.ticket); });
  std::erase_if(done_, [&](const Ending& ending) {
    const bool unwanted = tickets.contains(ending.ticket);
    if (unwanted) remove_spools(ending);
    return unwanted;
  });
  if (!busy_ || !tickets.contains(current_)) return;
  dropped_ = true;
  process_->end();
  woken_.notify_one();
}

void Slot::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  process_->kill();
  woken_.notify_one();
}

}  // namespace dunlin::worker
