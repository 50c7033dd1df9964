#include "client/job_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/names.h"
#include "cli/verb_adder.h"
#include "client/array.h"

namespace dunlin {
namespace {

constexpr const char* kJobHelp = "Its id, the beginning of one, its --name, or `last`";

Result<int> run_in_store(const auto& verb, StoreTarget target, Missing missing) {
  TRY(wait_for_own_hub(target));
  const auto store = TRY(open_target(target, missing));
  const auto owner = TRY(bound_owner(target));
  return run(verb, VerbEnv{*store, posix_clock(), target.form(), target.at, owner});
}

// A job file says everything itself: options that would be ignored are refused.
Result<void> check_file_options(const CLI::App& command, const std::string& file) {
  constexpr std::array<std::string_view, 5> kFit = {"JOBFILE", "--wait", "--key", "--owner",
                                                    "--dry-run"};
  CLI::App all_have;  // Which store, which form, --help.
  StoreTarget ignored;
  add_store_options(all_have, ignored);
  add_form_options(all_have, ignored);
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool fits = std::ranges::find(kFit, name) != kFit.end() ||
                      all_have.get_option_no_throw(name) != nullptr;
    if (option->count() == 0 || fits) continue;
    return Error{Code::invalid,
                 fmt::format("{} does not go with a job file: write it into {}", name, file)};
  }
  return {};
}

Result<int> run_submit(const CLI::App& command, const SubmitVerb& verb, const StoreTarget& target) {
  if (!verb.job_file.empty()) {
    if (!verb.job_file.ends_with(".toml")) {
      return Error{Code::invalid,
                   fmt::format("{} is not a job file (FILE.toml): a command goes after --, as in "
                               "`dunlin submit -- {}`",
                               quote(verb.job_file), verb.job_file)};
    }
    if (!verb.words.empty()) {
      return Error{Code::invalid, "a job file and a command after -- are two things: give one"};
    }
    TRY(check_file_options(command, verb.job_file));
  }
  if (verb.job_file.empty() && verb.words.empty() && verb.lines.empty() &&
      verb.json_lines.empty()) {
    return Error{Code::invalid,
                 "there is no command: write it after --, as in `dunlin submit -- echo hello`"};
  }
  if (verb.dry_run) return dry_run(verb);
  if (target.at.starts_with("memory:")) {
    return Error{Code::invalid,
                 "a job in memory: is gone as soon as it was submitted: start a hub with `dunlin "
                 "hub`, or run the tasks here with `dunlin run`"};
  }
  // What is wrong with the options needs no hub to be said.
  if (verb.job_file.empty()) TRY(spec_of(verb));
  return run_in_store(verb, target, Missing::make);
}

// Adds verbs about jobs, which need a store that is there.
class Adder {
 public:
  Adder(CLI::App& app, JobOptions& options, int& exit_code)
      : app_(app), verbs_(options.targets, exit_code) {}

  template <typename Call>
  CLI::App& add_call(const std::string& name, const std::string& what, const std::string& example,
                     Call call) {
    return verbs_.add_call(app_, name, what, example, call);
  }

  template <typename Verb>
  CLI::App& add(const std::string& name, const std::string& what, const std::string& example,
                Verb& verb) {
    return add_call(name, what, example,
                    [this_verb = &verb](const CLI::App&, const StoreTarget& target) {
                      return run_in_store(*this_verb, target, Missing::refuse);
                    });
  }

 private:
  CLI::App& app_;
  VerbAdder verbs_;
};

void add_input_options(CLI::App& command, SubmitVerb& verb) {
  command.add_option("JOBFILE", verb.job_file, "A TOML file with one job or several");
  command.add_option("--array", verb.array, "A task for each number: 0-999, 1-10:3, 0,5,7-9")
      ->check(why_no_array);
  command.add_option("--lines", verb.lines, "A task for each line of a file; - is stdin");
  command.add_option("--json-lines", verb.json_lines, "A task for each JSON object of a file");
  command.add_option("--colsep", verb.colsep, "Splits each value into {1} {2} ...");
  command.add_flag("--csv", verb.csv, "The lines are CSV");
  command.add_flag("--header", verb.header, "The first line names the columns, for {name}");
  command.add_flag("--no-quote", verb.no_quote, "Values are not quoted for the shell");
  command.add_option("--stdin", verb.stdin_file, "Standard input of every task; - is ours");
}

void add_run_options(CLI::App& command, SubmitVerb& verb) {
  command.add_option("--requires", verb.tags, "Only workers with this tag (again: all of them)")
      ->allow_extra_args(false);
  command.add_option("--cpus", verb.cpus, "Slots that a task takes (default: 1)");
  command.add_option("--mem", verb.mem, "Memory that a task needs: 512M, 4G");
  command.add_option("--gpus", verb.gpus, "GPUs that a task needs");
  command.add_option("--env", verb.env, "NAME=VALUE, or NAME to pass ours on")
      ->allow_extra_args(false);
  command.add_option(
      "--cwd", verb.cwd,
      "Folder to run in; task: a fresh one (default: this one, where the worker has it)");
  command.add_option("--timeout", verb.timeout, "Of each attempt: 90s, 5m, 2h");
  command.add_option("--retries", verb.retries, "Further tries of a task that fails");
  command.add_option("--backoff", verb.backoff, "Before the first of them; doubles with each");
  command.add_option("--losses", verb.losses,
                     "Workers that a task may take with it, or `unlimited` (default: 3)");
  command.add_option("--keep", verb.keep,
                     "How long the job is kept after its end: 12h, 30d, forever (default: as the "
                     "store says)");
  command.add_option("--retry-on", verb.retry_on, "Exit codes worth a retry: 1,2,100-120");
  command.add_option("--cleanup", verb.cleanup, "Shell line, run after each attempt");
  command.add_option("--output-max", verb.output_max,
                     "Kept of a task's stdout and of its stderr (default: 64M)");
  command.add_option("--memory-max", verb.memory_max,
                     "End a task that uses more memory than this: 512M, 4G");
  command.add_option("--file-max", verb.file_max,
                     "End a task that writes a file larger than this: 100M, 1G");
  CLI::Option* once = command.add_flag("--at-most-once", verb.at_most_once,
                                       "Never start a task twice; it may be lost with its worker");
  command.add_flag("--relaxed", verb.relaxed, "Do not check whether a task was started before")
      ->excludes(once);
}

void add_iteration_options(CLI::App& command, SubmitVerb& verb) {
  command.add_option(
      "--iterations", verb.iterations,
      "Share so many iterations among partitions, which ask for them on descriptor 3");
  command.add_option("--partitions", verb.partitions,
                     "How many begin (default: 1 with --finish-by, else one for each slot)");
  command.add_option("--partitions-max", verb.partitions_max,
                     "How many there may be if the deadline needs them (default: 100)");
  command.add_option("--span", verb.span, "How long a partition works between two questions (1s)");
  command.add_option("--finish-by", verb.finish_by,
                     "When all should be done: 25m, 17:00, \"2030-01-31 17:00\"");
}

void add_submit(Adder& adder, JobOptions& options) {
  SubmitVerb& verb = options.submit;
  CLI::App& command = adder.add_call(
      "submit",
      "Queue a command over many inputs, as in `submit [OPTIONS] -- CMD ARG...`; prints the "
      "job's id",
      "dunlin submit --array 0-999 --retries 2 -- ./sim --seed {}\n"
      "  dunlin submit --lines files.txt --wait -- 'gzip -9 {}'\n"
      "  dunlin submit --iterations 1e6 --finish-by 25m -- ./mc\n"
      "  dunlin submit jobs.toml",
      [&verb](const CLI::App& self, const StoreTarget& target) {
        return run_submit(self, verb, target);
      });
  add_input_options(command, verb);
  command.add_option("--name", verb.name, "For people; need not be unique");
  command.add_option("--owner", verb.owner, "Whose job it is (default: $USER)")
      ->envname("DUNLIN_OWNER");
  command.add_option("--key", verb.key, "Submitted again with the same key, it is the same job");
  command.add_option("--priority", verb.priority, "0 to 9, larger first")->capture_default_str();
  command.add_option("--after", verb.after, "Start when this job is done, all well (again: all)")
      ->allow_extra_args(false);
  add_run_options(command, verb);
  add_iteration_options(command, verb);
  command.add_flag("--wait", verb.wait, "Print what the tasks print, until all have ended");
  command.add_flag("--dry-run", verb.dry_run, "Print what the first tasks would run");
}

void add_reading_verbs(Adder& adder, JobOptions& options) {
  CLI::App& status = adder.add("status", "Show how far a job is, or the newest jobs",
                               "dunlin status last", options.status);
  status.add_option("JOB", options.status.job, kJobHelp);

  CLI::App& list = adder.add("list", "List jobs, newest first",
                             "dunlin list --state failed --owner ann", options.list);
  list.add_option("--state", options.list.state,
                  "Only those that are waiting, open, done, failed, cancelled or skipped");
  list.add_option("--owner", options.list.owner, "Only theirs");
  list.add_option("--name", options.list.name, "Only those with this name");
  list.add_option("--max", options.list.max, "How many at most")->capture_default_str();

  CLI::App& results = adder.add("results", "Show the outcomes of a job's tasks",
                                "dunlin results last --failed --json", options.results);
  results.add_option("JOB", options.results.job, kJobHelp)->required();
  results.add_option("--task", options.results.tasks, "Only this task, or these: N or A-B");
  results.add_flag("--failed", options.results.failed, "Only those that are not ok");
  results.add_flag("--follow", options.results.follow, "As they come, until the job ends");

  CLI::App& logs =
      adder.add("logs", "Print what a task wrote", "dunlin logs last 17 --stderr", options.logs);
  logs.add_option("JOB", options.logs.job, kJobHelp)->required();
  logs.add_option("TASK", options.logs.task, "Its number")->required();
  logs.add_flag("--stderr", options.logs.err, "To standard error, instead of standard output");

  CLI::App& explain = adder.add("explain", "Say why a job is not further than it is",
                                "dunlin explain last", options.explain);
  explain.add_option("JOB", options.explain.job, kJobHelp)->required();
  adder.add("pool", "Show the workers", "dunlin pool", options.pool);
}

void add_steering_verbs(Adder& adder, JobOptions& options) {
  CLI::App& wait = adder.add("wait", "Wait until jobs have ended; 1 if not all went well",
                             "dunlin wait last --timeout 5m", options.wait);
  wait.add_option("JOB", options.wait.jobs, kJobHelp)->required();
  wait.add_option("--timeout", options.wait.timeout, "How long at most (default: for ever)");

  CLI::App& cancel =
      adder.add("cancel", "End jobs: within a second what runs is stopped and no more starts",
                "dunlin cancel last", options.cancel);
  cancel.add_option("JOB", options.cancel.jobs, kJobHelp)->required();

  CLI::App& retry = adder.add("retry", "Run the failed tasks of a job again",
                              "dunlin retry last --failed", options.retry);
  retry.add_option("JOB", options.retry.job, kJobHelp)->required();
  retry.add_flag("--failed", options.retry.failed, "Only what failed, which is what retry does");

  RemoveVerb& verb = options.remove;
  CLI::App& remove =
      adder.add("remove", "Remove jobs that have ended, with their outcomes and outputs",
                "dunlin remove last\n"
                "  dunlin remove --ended --before 30d --owner ann",
                verb);
  remove.add_option("JOB", verb.jobs, kJobHelp);
  remove.add_flag("--ended", verb.ended, "All that have ended");
  // A word that is empty, as from a variable that is not set, must not mean all of them.
  const auto take = [](std::optional<std::string>& to) {
    return [&to](const std::string& text) { to = text; };
  };
  remove.add_option_function<std::string>("--before", take(verb.before),
                                          "Of these, those that ended so long ago: 12h, 30d");
  remove.add_option_function<std::string>("--owner", take(verb.owner), "Of these, only theirs");
  remove.add_flag("--dry-run", verb.dry_run, "Say which, and remove nothing");

  adder.add("history", "Count the jobs that were removed, by day and owner, for 400 days",
            "dunlin history", options.history);
}

}  // namespace

void add_job_commands(CLI::App& app, JobOptions& options, int& exit_code) {
  Adder adder(app, options, exit_code);
  add_submit(adder, options);
  add_reading_verbs(adder, options);
  add_steering_verbs(adder, options);
}

std::vector<std::string> cut_command(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "submit") return {};
  char** const end = argv + argc;
  char** const mark =
      std::find_if(argv + 2, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (mark == end) return {};
  argc = static_cast<int>(mark - argv);
  return {mark + 1, end};
}

}  // namespace dunlin
