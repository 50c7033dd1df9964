#include "run/run_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/names.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/wait.h"
#include "base/who.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "client/submit/field_options.h"
#include "client/submit/submit_verb.h"
#include "run/halt.h"
#include "run/run_folder.h"
#include "run/run_show.h"
#include "run/run_words.h"
#include "run/runner.h"
#include "run/strange_braces.h"
#include "spec/draft.h"
#include "worker/defaults.h"

namespace dunlin::run {
namespace {

constexpr Millis kTick = Millis(200);
constexpr Millis kLockWait = std::chrono::seconds(3);

std::string shown_line(const sources::SourceOptions& sources) {
  std::string line = "dunlin run";
  if (!sources.array.empty()) line += " --array " + shell_quote(sources.array);
  if (!sources.json_lines.empty()) line += " --json-lines " + shell_quote(sources.json_lines);
  for (const std::string& file : sources.arg_files) line += " -a " + shell_quote(file);
  if (!sources.colsep.empty()) line += " --colsep " + shell_quote(sources.colsep);
  if (sources.header) line += " --header";
  if (sources.csv) line += " --csv";
  if (sources.null) line += " -0";
  if (sources.skip_empty) line += " -r";
  if (sources.max_args > 0) line += fmt::format(" -n {}", sources.max_args);
  if (sources.no_quote) line += " --no-quote";
  for (const std::string& word : sources.words) line += ' ' + shell_quote(word);
  return line;
}

Result<RunName> name_run(const sources::SourceOptions& sources) {
  RunName name;
  std::error_code failed;
  name.cwd = std::filesystem::current_path(failed).string();
  if (failed) return Error{Code::invalid, "the current folder is gone: change to another one"};
  name.line = shown_line(sources);
  name.folder = fmt::format("{}/{:016x}", TRY(state_folder("runs")),
                            fingerprint(name.cwd + '\n' + name.line));
  return name;
}

// All but the command and its inputs.
model::Spec complete(model::Spec spec, const RunName& name) {
  spec.set_owner(user_name());
  spec.set_cwd(name.cwd);
  spec.set_keep_env(true);
  spec.set_output_max(kBlobMax);  // What is written is shown, however much it is.
  return spec;
}

Result<int> show_commands(const sources::Gathered& gathered, const model::Spec& spec) {
  for (uint64_t task = 0; task < gathered.tasks; ++task) {
    const auto values = TRY(client::values_of(gathered, task));
    const Expanded expanded = TRY(expand(spec, task, values));
    TRY(cli::print(shown_command(expanded) + '\n'));
  }
  return kExitDone;
}

// Until all have ended, or the run is told to stop.
class RunLoop {
 public:
  RunLoop(Runner& runner, RunShow& show, const Halt& halt)
      : runner_(runner), show_(show), halt_(halt) {}

  Result<void> run(int signals) {
    const Clock& clock = posix_clock();
    while (!runner_.complete() && !runner_.gone()) {
      auto published = TRY(runner_.turn(clock.now() + kTick, signals));
      TRY(show_.add(std::move(published)));
      show_.progress(runner_, clock.now(), false);
      look_at_halt();
      look_at_signals(signals);
      if (halted_ == Halt::When::soon && runner_.idle()) runner_.drain();
    }
    show_.progress(runner_, clock.now(), true);
    return show_.end();
  }

  int interrupted_code() const { return signal_ == SIGPIPE ? kExitPipe : kExitInterrupted; }
  bool halted() const { return halted_ != Halt::When::never; }

 private:
  void look_at_halt() {
    if (halted()) return;
    // What an earlier start has counted was its reason to halt, not ours.
    const uint64_t ok = runner_.ok() - (runner_.earlier() - runner_.earlier_failed());
    halted_ = should_halt(halt_, ok, runner_.failed() - runner_.earlier_failed(), runner_.total());
    if (halted_ == Halt::When::soon) runner_.start_no_more();
    if (halted_ == Halt::When::now) runner_.stop();
  }

  void look_at_signals(int signals) {
    while (const auto signal = take_signal(signals)) {
      const bool gently = *signal == SIGTERM && signals_ == 0;
      ++signals_;
      signal_ = *signal;
      gently ? runner_.drain() : runner_.stop();
    }
  }

  Runner& runner_;
  RunShow& show_;
  const Halt halt_;
  Halt::When halted_ = Halt::When::never;
  int signals_ = 0;
  int signal_ = 0;  // The last one.
};

void say_failures(const Runner& runner, const RunShow& show) {
  if (runner.failed() == 0) return;
  std::string text =
      fmt::format("{} of {} failed", runner.failed(), count_of(runner.total(), "task"));
  for (const std::string& line : show.failures()) text += "\n  " + line;
  cli::complain(text);
}

int finish(const RunLoop& loop, const Runner& runner, const RunShow& show, bool quiet) {
  if (!quiet) say_failures(runner, show);
  if (const std::string notes = show.notes(); !quiet && !notes.empty()) cli::complain(notes);
  if (runner.complete()) return runner.failed() > 0 ? kExitFailed : kExitDone;
  if (!quiet) {
    cli::complain(fmt::format("{} after {} of {}; run the same command again to continue",
                              loop.halted() ? "halted" : "interrupted",
                              runner.ok() + runner.failed(), count_of(runner.total(), "task")));
  }
  return loop.halted() ? kExitFailed : loop.interrupted_code();
}

Result<std::unique_ptr<Runner>> try_open(const RunVerb& verb, const RunName& name,
                                         const RunnerOptions& options) {
  if (verb.fresh) TRY(discard_run(name.folder));
  TRY(make_run_folder(name, options.spec.tasks()));
  return Runner::open(options);
}

// Children of a run that was just killed may hold its lock until they notice.
Result<std::unique_ptr<Runner>> open_runner(const RunVerb& verb, const RunName& name,
                                            const RunnerOptions& options) {
  const Instant deadline = posix_clock().now() + kLockWait;
  while (true) {
    auto opened = try_open(verb, name, options);
    if (opened.ok() || opened.error().code != Code::denied) return opened;
    if (posix_clock().now() >= deadline) {
      const std::string holder = holder_of(name.folder);
      if (holder.empty()) return opened;
      return Error{Code::denied,
                   fmt::format("this command is already running, as {}: wait for it, or start "
                               "it in another folder",
                               holder)};
    }
    wait_until(posix_clock().now() + kTick / 4, posix_clock());
  }
}

void say_going_on(const RunVerb& verb, const Runner& runner, const RunShow& show) {
  if (runner.earlier() == 0 || verb.quiet) return;
  std::string text = fmt::format("continuing: {} of {} had already ended", runner.earlier(),
                                 count_of(runner.total(), "task"));
  // Files of results are written over.
  if (show.unmarked() > 0 && verb.results.empty()) {
    text += fmt::format("; the last {} may appear twice", count_of(show.unmarked(), "output"));
  }
  if (const std::string gaps = show.gaps(); !gaps.empty()) text += "; " + gaps;
  cli::complain(text);
}

// Something could not be shown. What was, is marked; the rest is shown when the run goes on.
Result<int> break_off(const Error& error, RunShow& show, bool quiet) {
  const Result<void> marked = show.close(false);
  if (show.broken_pipe()) return kExitPipe;  // Quietly, as any program whose reader went away.
  if (!show.interrupted()) return error;
  if (!quiet) cli::complain(error.what + "; run the same command again to continue");
  return kExitInterrupted;
}

uint64_t fingerprint_of(const sources::Gathered& gathered, const model::Spec& spec) {
  std::string all = spec.SerializeAsString();
  for (const sources::Gathered::Blob& blob : gathered.blobs) {
    all += fmt::format("\n{} {:016x}", blob.name, fingerprint(blob.bytes));
  }
  return fingerprint(all);
}

Result<int> run_all(const RunVerb& verb, const RunName& name, const sources::Gathered& gathered,
                    const model::Spec& spec, const Halt& halt, Leaving& leaving) {
  const uint64_t job = fingerprint_of(gathered, spec);
  if (!verb.fresh) leaving = LeavingRun::take_over(name.folder, job);
  if (leaving) {
    if (!verb.quiet) {
      cli::complain(fmt::format("all of {} had already ended; --fresh runs {} again",
                                count_of(spec.tasks(), "task"), spec.tasks() == 1 ? "it" : "them"));
    }
    leaving->remove_rest();
    return leaving->code();
  }
  const int signals = watch_signals({SIGINT, SIGTERM, SIGHUP, SIGPIPE});
  RunShow show(verb, gathered, spec, signals);
  TRY(show.open());
  remove_left_runs(name);
  if (const std::string others = others_unfinished(name); !others.empty() && !verb.quiet) {
    cli::complain(others);
  }
  RunnerOptions options{.folder = name.folder, .slots = verb.slots, .spec = spec};
  for (const sources::Gathered::Blob& blob : gathered.blobs) {
    options.blobs.push_back(blob_of_bytes(blob.name, blob.bytes));
  }
  if (options.slots == 0) options.slots = worker::default_slots();
  if (halt.when != Halt::When::never) {
    options.enough = [halt, total = spec.tasks(), ok = uint64_t{0},
                      failed = uint64_t{0}](const model::Outcome& outcome) mutable {
      ++(outcome.state() == model::STATE_OK ? ok : failed);
      return should_halt(halt, ok, failed, total) != Halt::When::never;
    };
  }
  auto opened = open_runner(verb, name, options);
  if (!opened.ok() && opened.error().code == Code::conflict) {
    return Error{Code::invalid,
                 fmt::format("this command was started before with other inputs or options and did "
                             "not finish: --fresh starts over (its state is in {})",
                             name.folder)};
  }
  std::unique_ptr<Runner> runner = TRY(std::move(opened));
  TRY(show.begin(*runner));
  say_going_on(verb, *runner, show);
  RunLoop loop(*runner, show, halt);
  if (const Result<void> ran = loop.run(signals); !ran.ok()) {
    return break_off(ran.error(), show, verb.quiet);
  }
  TRY(show.close(runner->complete()));
  const int code = finish(loop, *runner, show, verb.quiet);
  if (runner->complete()) {
    runner->end();
    leaving = LeavingRun::begin(name.folder, {.code = code, .job = job});
    runner.reset();
    leaving->remove_rest();
  }
  return code;
}

}  // namespace

Result<int> run(const RunVerb& verb, Leaving& leaving) {
  if (verb.slots > worker::kSlotsMax) {
    return Error{Code::invalid,
                 fmt::format("-j {} is more than {}", verb.slots, worker::kSlotsMax)};
  }
  spec::JobDraft draft = spec::draft_from(spec::Entrance::run, posix_clock().wall());
  draft.options = verb.sources;
  TRY(spec::set_words(verb.said, draft));
  sources::SourceOptions& sources = draft.options;
  sources.use_stdin = !draft.has("array") && !draft.has("json_lines");
  const RunName name = TRY(name_run(sources));
  const Halt halt = verb.halt.empty() ? Halt() : TRY(parse_halt(verb.halt));
  model::Spec spec = complete(std::move(draft.spec), name);
  const sources::Gathered gathered = TRY(sources::gather(sources, input_blob_name(kRunId, "")));
  spec.set_tasks(gathered.tasks);
  *spec.mutable_command() = gathered.command;
  *spec.mutable_inputs() = gathered.inputs;
  if (!verb.sources.words.empty()) TRY(Template::compile(spec));
  if (gathered.tasks == 0) return kExitDone;
  TRY(validate_spec(spec));
  if (const std::string said = strange_braces(spec.command(), spec.inputs());
      !said.empty() && !verb.quiet) {
    cli::complain(said);
  }
  if (verb.dry_run) return show_commands(gathered, spec);
  return run_all(verb, name, gathered, spec, halt, leaving);
}

void add_run_command(CLI::App& app, RunVerb& verb, Leaving& leaving, int& exit_code) {
  CLI::App& command = *app.add_subcommand(
      "run", "Run a command over many inputs on this machine, as in `run CMD ::: A B C`");
  command.prefix_command();
  command.footer(
      "Inputs: ::: VALUES, :::+ linked, :::: FILES, standard input, or --array.\n"
      "Placeholders: {} {.} {/} {//} {/.} {#} {%} {1} {2.} {name}\n"
      "Example:\n"
      "  dunlin run 'gzip -9 {}' ::: *.log\n"
      "  seq 1000 | dunlin run -j4 ./sim --seed {}\n"
      "  dunlin run --array 0-999 --bar ./sim {#}\n"
      "After a kill or an interrupt, the same command continues where it stopped.\n");
  sources::SourceOptions& sources = verb.sources;
  command.add_option("-j,--jobs", verb.slots, "Tasks to run at once (default: one for each core)")
      ->check(why_no_jobs);
  client::add_field_options(command, spec::Entrance::run, verb.said);
  command.add_option("-a,--arg-file", sources.arg_files, "Values from the lines of a file")
      ->allow_extra_args(false);
  command.add_option("-n,--max-args", sources.max_args, "Pass N values to each task")
      ->check(why_no_max_args);
  command.add_flag("-0,--null", sources.null, "Values end with NUL bytes, not lines");
  command.add_flag("-r,--no-run-if-empty", sources.skip_empty, "Skip empty values");
  command.add_flag("-k,--keep-order", verb.keep_order, "Show output in the order of the tasks");
  command.add_flag("--tag", verb.tag, "Put the task's values in front of each line of its output");
  command.add_option("--results", verb.results, "Folder for the output of each task");
  command.add_option("--joblog", verb.joblog, "A line for each task, as GNU parallel writes it");
  command.add_option("--halt", verb.halt,
                     "Stop early: soon|now,fail=N (also success=N, done=N, or N%)");
  command.add_flag("--dry-run", verb.dry_run, "Show the commands, run nothing");
  command.add_flag("--bar", verb.bar, "Show a progress bar");
  command.add_flag("--progress", verb.progress, "Show progress");
  command.add_flag("--eta", verb.eta, "Show the estimated time left");
  command.add_flag("--fresh", verb.fresh, "Start over, whatever an earlier start has done");
  command.add_flag("-q,--quiet", verb.quiet, "Print only what the tasks print");
  command.callback([&command, &verb, &leaving, &exit_code] {
    std::vector<std::string>& words = verb.sources.words;
    words = command.remaining();
    if (!words.empty() && words.front().starts_with('-')) {
      exit_code = report({Code::invalid, cli::unknown_run_option(command, words.front())});
      return;
    }
    if (verb.cut) words = *verb.cut;
    const Result<int> ran = run(verb, leaving);
    exit_code = ran.ok() ? ran.value() : report(ran.error());
  });
}

}  // namespace dunlin::run
