#include "client/run_show.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "client/joblog.h"
#include "client/submit_verb.h"
#include "model/results.h"

namespace dunlin {
namespace {

constexpr size_t kFailuresShown = 5;
constexpr Millis kBarEvery = Millis(200);
constexpr Millis kLineEvery = std::chrono::seconds(10);

Error cannot_write(const std::string& path) {
  return {Code::invalid, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
}

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

RunShow::RunShow(const RunVerb& verb, const Gathered& gathered, const model::Spec& spec)
    : verb_(verb),
      gathered_(gathered),
      spec_(spec),
      arranger_(verb.keep_order),
      terminal_(isatty(STDERR_FILENO) == 1),
      began_(posix_clock().now()) {}

RunShow::~RunShow() {
  if (joblog_ != nullptr) std::fclose(joblog_);
}

Result<void> RunShow::open() {
  if (!verb_.results.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(verb_.results, failed);
    if (failed) {
      return Error{Code::invalid, fmt::format("cannot make the folder {} of --results: {}",
                                              verb_.results, failed.message())};
    }
  }
  if (verb_.joblog.empty()) return {};
  joblog_ = std::fopen(verb_.joblog.c_str(), "ae");
  if (joblog_ == nullptr) return cannot_write(verb_.joblog);
  if (std::ftell(joblog_) == 0) {
    std::fwrite(kJoblogHeader.data(), 1, kJoblogHeader.size(), joblog_);
  }
  return {};
}

Result<std::string> RunShow::command_of(uint64_t task) const {
  const auto values = TRY(values_of(gathered_, task));
  return shown_command(TRY(expand(spec_, task, values)));
}

Result<void> RunShow::add(std::vector<WorkerMind::Published> published, FileStore& store) {
  for (WorkerMind::Published& one : published) {
    arranger_.add({one.task, std::move(one.outcome), false});
  }
  return show_ready(store);
}

Result<void> RunShow::end(FileStore& store) {
  arranger_.end();
  return show_ready(store);
}

Result<void> RunShow::show_ready(FileStore& store) {
  bool any = false;
  while (auto ended = arranger_.next()) {
    if (!any) clear_bar();
    any = true;
    if (ended->forgotten) {
      ResultReader reader(store.table(), kRunId, ended->task, ended->task + 1);
      auto read = TRY(reader.next());
      if (!read) continue;
      ended->outcome = std::move(read->outcome);
    }
    TRY(show(*ended, store));
  }
  if (!any) return {};
  std::fflush(stdout);
  if (joblog_ != nullptr && std::fflush(joblog_) != 0) return cannot_write(verb_.joblog);
  return {};
}

Result<void> RunShow::show(const Ended& ended, FileStore& store) {
  std::string command;
  const bool failed = ended.outcome.state() != model::STATE_OK;
  if (joblog_ != nullptr || (failed && failures_.size() < kFailuresShown)) {
    command = TRY(command_of(ended.task));
  }
  if (failed && failures_.size() < kFailuresShown) {
    failures_.push_back(fmt::format("{}: {}", command, why_of(ended.outcome)));
  }
  if (joblog_ != nullptr) TRY(write_joblog(ended, command));
  if (!verb_.results.empty()) return write_results(ended, store);
  std::string tag;
  if (verb_.tag) {
    for (const std::string& value : TRY(values_of(gathered_, ended.task))) {
      tag += (tag.empty() ? "" : " ") + value;
    }
  }
  TRY(copy_output(ended, store, "out", stdout, tag));
  return copy_output(ended, store, "err", stderr, tag);
}

Result<void> RunShow::copy_output(const Ended& ended, FileStore& store, std::string_view which,
                                  std::FILE* to, const std::string& tag) const {
  const model::Output& output = which == "out" ? ended.outcome.out() : ended.outcome.err();
  Tagger tagger(tag);
  const TakeBytes write = [&](std::string_view part) -> Result<void> {
    const std::string tagged = verb_.tag ? tagger.feed(part) : std::string();
    const std::string_view bytes = verb_.tag ? std::string_view(tagged) : part;
    if (std::fwrite(bytes.data(), 1, bytes.size(), to) != bytes.size()) {
      return cannot_write("the output of a task");
    }
    return {};
  };
  if (!output.bytes().empty()) {
    TRY(write(output.bytes()));
  } else {
    TRY(read_output(store, kRunId, ended.task, ended.outcome, which, write));
  }
  if (output.cut() == 0) return {};
  return write(fmt::format("[dunlin: {} more bytes were cut]\n", output.cut()));
}

Result<void> RunShow::write_joblog(const Ended& ended, const std::string& command) {
  const std::string line = joblog_line(ended.task, ended.outcome, ":", command);
  if (std::fwrite(line.data(), 1, line.size(), joblog_) != line.size()) {
    return cannot_write(verb_.joblog);
  }
  return {};
}

Result<void> RunShow::write_results(const Ended& ended, FileStore& store) {
  std::vector<std::string> names;
  for (const std::string& name : spec_.inputs().columns()) names.push_back(name);
  std::vector<std::string> values = TRY(values_of(gathered_, ended.task));
  if (values.empty()) {
    const int64_t step = spec_.inputs().step() == 0 ? 1 : spec_.inputs().step();
    values.push_back(
        std::to_string(spec_.inputs().first() + static_cast<int64_t>(ended.task) * step));
  }
  if (names.size() != values.size()) names.clear();
  const std::string folder = verb_.results + "/" + results_folder(names, values);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [file, which] : {std::pair("stdout", "out"), {"stderr", "err"}}) {
    const std::string path = folder + "/" + file;
    std::FILE* to = std::fopen(path.c_str(), "we");
    if (to == nullptr) return cannot_write(path);
    const Result<void> copied = copy_output(ended, store, which, to, "");
    if (std::fclose(to) != 0) return cannot_write(path);
    TRY(copied);
  }
  const std::string path = folder + "/seq";
  std::FILE* to = std::fopen(path.c_str(), "we");
  if (to == nullptr) return cannot_write(path);
  fmt::print(to, "{}", ended.task + 1);
  return std::fclose(to) == 0 ? Result<void>() : cannot_write(path);
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
    fmt::print(stderr, "{}\n", progress_text(progress));
    return;
  }
  const LineStyle style{.width = terminal_width(), .colour = true, .unicode = true};
  fmt::print(stderr, "\r\033[K{}{}", progress_bar(progress, style), last ? "\n" : "");
  bar_shown_ = !last;
}

void RunShow::clear_bar() {
  if (!bar_shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  bar_shown_ = false;
  progress_after_ = Instant();
}

}  // namespace dunlin
