#include "run/run_show.h"

#include <fmt/format.h>
#include <set>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "base/env_posix.h"
#include "base/text.h"
#include "client/submit/submit_verb.h"
#include "model/jobs/results.h"
#include "model/keys.h"
#include "run/output/joblog.h"

namespace dunlin::run {
namespace {

constexpr size_t kFailuresShown = 5;
constexpr Millis kBarEvery = Millis(200);
constexpr Millis kLineEvery = std::chrono::seconds(10);

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Not fmt::print, which throws if standard error is gone.
void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

RunShow::RunShow(const RunVerb& verb, const sources::Gathered& gathered, const model::Spec& spec,
                 int signals)
    : verb_(verb),
      gathered_(gathered),
      spec_(spec),
      out_(STDOUT_FILENO, "standard output"),
      err_(STDERR_FILENO, "standard error"),
      shown_(spec.tasks()),
      arranger_(verb.keep_order, kArrangedMax, [this](uint64_t task) { return shown_.has(task); }),
      terminal_(isatty(STDERR_FILENO) == 1),
      began_(posix_clock().now()) {
  out_.watch(signals);
  err_.watch(signals);
}

RunShow::~RunShow() = default;

Result<void> RunShow::open() {
  if (!verb_.results.empty()) TRY(results_.open(verb_.results));
  if (!verb_.joblog.empty()) TRY(joblog_.open(verb_.joblog));
  // Numbers of an array are different.
  if (!results_.is_open() || spec_.inputs().sources().empty()) return {};
  for (uint64_t task = 0; task < spec_.tasks(); ++task) folders_.add(task, TRY(plain_folder(task)));
  return {};
}

Result<void> RunShow::begin(Runner& runner) {
  store_ = &runner.store();
  marker_ = std::make_unique<Marker>(store_->connect(), [this] { return sync(); });
  if (runner.earlier() == 0) return {};
  TRY(shown_.read(store_->table()));
  TRY(shown_.read_unshown(store_->table(), [this](uint64_t task) {
    ++unmarked_;
    arranger_.add_forgotten(task);
  }));
  TRY(find_gaps());
  if (unmarked_ > 0 && joblog_.is_open()) {
    TRY(joblog_.recover([this](uint64_t task) { return joblog_line_of(task); }));
  }
  return {};
}

Result<void> RunShow::find_gaps() {
  const auto lines = joblog_.is_open() ? joblog_.tasks_there(spec_.tasks()) : std::nullopt;
  if (!results_.is_open() && !lines) return {};
  uint64_t files_missing = 0;
  uint64_t lines_missing = 0;
  for (uint64_t task = 0; task < spec_.tasks(); ++task) {
    if (!shown_.has(task)) continue;  // It will be shown, and written.
    if (lines && !(*lines)[task]) ++lines_missing;
    if (!results_.is_open()) continue;
    if (!results_.has(folders_.of(task, TRY(plain_folder(task))))) ++files_missing;
  }
  const auto add = [this](const char* what, uint64_t count) {
    if (count == 0) return;
    if (!gaps_.empty()) gaps_ += ", ";
    gaps_ += fmt::format("{} nothing of {} of them", what, count);
  };
  if (files_missing == lines_missing) {
    add("--results and --joblog have", files_missing);
  } else {
    add("--results has", files_missing);
    add("--joblog has", lines_missing);
  }
  if (!gaps_.empty()) gaps_ += ": --fresh runs all again";
  return {};
}

Result<void> RunShow::sync() const {
  TRY(out_.sync());
  TRY(err_.sync());
  TRY(joblog_.sync());
  return results_.sync();
}

Result<std::string> RunShow::command_of(uint64_t task) const {
  const auto values = TRY(client::values_of(gathered_, task));
  return shown_command(TRY(expand(spec_, task, values)));
}

// Of one that has ended and is not marked; else nothing.
Result<std::string> RunShow::joblog_line_of(uint64_t task) {
  if (task >= spec_.tasks() || shown_.has(task)) return std::string();
  ResultReader reader(store_->table(), kRunId, task, task + 1);
  const auto read = TRY(reader.next());
  if (!read) return std::string();
  return joblog_line(task, read->outcome, ":", TRY(command_of(task)));
}

Result<void> RunShow::add(std::vector<worker::WorkerMind::Published> published) {
  for (worker::WorkerMind::Published& one : published) {
    arranger_.add({one.task, std::move(one.outcome), false});
  }
  return show_ready();
}

Result<void> RunShow::end() {
  arranger_.end();
  return show_ready();
}

Result<void> RunShow::show_ready() {
  bool any = false;
  while (auto ended = arranger_.next()) {
    if (!any) clear_bar();
    any = true;
    if (ended->forgotten) {
      ResultReader reader(store_->table(), kRunId, ended->task, ended->task + 1);
      auto read = TRY(reader.next());
      if (!read) continue;
      ended->outcome = std::move(read->outcome);
    }
    TRY(show(*ended));
  }
  if (any) {
    TRY(out_.flush());
    TRY(err_.flush());
  }
  return mark(false);
}

std::string RunShow::notes() const {
  return notes_ < 2 ? first_note_
                    : fmt::format("{}; likewise {}", first_note_, count_of(notes_ - 1, "other"));
}

Result<void> RunShow::show(const Ended& ended) {
  std::string command;
  const bool failed = ended.outcome.state() != model::STATE_OK;
  const bool noted = !failed && !ended.outcome.why().empty();
  const bool first_note = noted && ++notes_ == 1;
  if (joblog_.is_open() || first_note || (failed && failures_.size() < kFailuresShown)) {
    command = TRY(command_of(ended.task));
  }
  if (failed && failures_.size() < kFailuresShown) {
    failures_.push_back(fmt::format("{}: {}", command, why_of(ended.outcome)));
  }
  if (first_note) first_note_ = fmt::format("{}: {}", command, ended.outcome.why());
  TRY(results_.is_open() ? write_results(ended) : print_output(ended));
  // After its output, so that whoever reads the log finds that, too.
  if (joblog_.is_open()) {
    TRY(joblog_.add(ended.task, joblog_line(ended.task, ended.outcome, ":", command)));
  }
  Unmarked& done = to_mark_.emplace_back();
  done = {.task = ended.task, .out = out_.given(), .err = err_.given()};
  for (const auto& [which, output] :
       {std::pair("out", &ended.outcome.out()), {"err", &ended.outcome.err()}}) {
    if (output->where() != model::Output::BLOB) continue;
    done.blobs.push_back(blob_name(kRunId, ended.task, ended.outcome.attempt(), which));
  }
  return {};
}

Result<void> RunShow::print_output(const Ended& ended) {
  std::string tag;
  if (verb_.tag) {
    for (const std::string& value : TRY(client::values_of(gathered_, ended.task))) {
      tag += (tag.empty() ? "" : " ") + value;
    }
  }
  for (const auto& [which, to] : {std::pair("out", &out_), {"err", &err_}}) {
    Tagger tagger(tag);
    TRY(copy_output(ended, which, [&, to = to](std::string_view part) {
      return to->write(verb_.tag ? tagger.feed(part) : std::string(part));
    }));
  }
  return {};
}

Result<void> RunShow::copy_output(const Ended& ended, std::string_view which,
                                  const TakeBytes& to) const {
  const model::Output& output = which == "out" ? ended.outcome.out() : ended.outcome.err();
  if (!output.bytes().empty()) return to(output.bytes());
  return read_output(*store_, kRunId, ended.task, ended.outcome, which, to);
}

// As GNU parallel names it.
Result<std::string> RunShow::plain_folder(uint64_t task) const {
  std::vector<std::string> names;
  for (const std::string& name : spec_.inputs().columns()) names.push_back(name);
  std::vector<std::string> values = TRY(client::values_of(gathered_, task));
  if (values.empty()) {
    const int64_t step = spec_.inputs().step() == 0 ? 1 : spec_.inputs().step();
    values.push_back(std::to_string(spec_.inputs().first() + static_cast<int64_t>(task) * step));
  }
  if (names.size() != values.size()) names.clear();
  return results_folder(names, values);
}

Result<void> RunShow::write_results(const Ended& ended) const {
  return results_.add(folders_.of(ended.task, TRY(plain_folder(ended.task))), ended.task,
                      [&](std::string_view which, const TakeBytes& take) {
                        return copy_output(ended, which, take);
                      });
}

// Marks what is out of our hands, if it is time for it. What lies in a pipe can still be lost.
Result<void> RunShow::mark(bool now) {
  TRY(marker_->look());
  const Instant instant = posix_clock().now();
  if (marker_->busy() || to_mark_.empty() || (instant < mark_after_ && !now)) return {};
  // At the end somebody who still reads is trusted to read the rest.
  const bool trusted = now && !out_.reader_gone() && !err_.reader_gone() && !interrupted();
  const uint64_t out = trusted ? out_.written() : out_.taken();
  const uint64_t err = trusted ? err_.written() : err_.taken();
  std::set<uint64_t> pages;
  std::vector<std::string> blobs;
  while (!to_mark_.empty() && to_mark_.front().out <= out && to_mark_.front().err <= err) {
    Unmarked& one = to_mark_.front();
    shown_.add(one.task);
    pages.insert(page_of(one.task));
    std::ranges::move(one.blobs, std::back_inserter(blobs));
    to_mark_.pop_front();
  }
  mark_after_ = instant + kMarkEvery;
  if (!pages.empty()) marker_->write(shown_, pages, std::move(blobs));
  return {};
}

Result<void> RunShow::close(bool complete) {
  TRY(marker_->wait());
  if (complete) return sync();
  TRY(mark(true));
  return marker_->wait();
}

// A bar on a terminal, else now and then a line.
void RunShow::progress(Runner& runner, Instant now, bool last) {
  if (!verb_.bar && !verb_.progress && !verb_.eta) return;
  const Millis elapsed = now - began_;
  pace_.on(elapsed, runner.ok() + runner.failed());
  if (now < progress_after_ && !last) return;
  progress_after_ = now + (terminal_ ? kBarEvery : kLineEvery);
  const RunProgress progress{.total = runner.total(),
                             .ok = runner.ok(),
                             .failed = runner.failed(),
                             .running = runner.running(),
                             .per_s = pace_.per_s(),
                             .left = pace_.left(runner.total()),
                             .elapsed = elapsed};
  if (!terminal_) {
    say(progress_text(progress) + "\n");
    return;
  }
  const LineStyle style{.width = terminal_width(), .colour = true, .unicode = true};
  say(fmt::format("\r\033[K{}{}", progress_bar(progress, style), last ? "\n" : ""));
  bar_shown_ = !last;
}

void RunShow::clear_bar() {
  if (!bar_shown_) return;
  say("\r\033[K");
  bar_shown_ = false;
  progress_after_ = Instant();
}

}  // namespace dunlin::run
