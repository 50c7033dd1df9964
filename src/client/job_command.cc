#include "client/job_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/names.h"
#include "cli/verb_adder.h"
#include "client/submit/field_options.h"

namespace dunlin::client {
namespace {

constexpr const char* kJobHelp = "Its id, the beginning of one, its --name, or `last`";

Result<int> run_in_store(const auto& verb, cli::StoreTarget target, cli::Missing missing) {
  TRY(cli::wait_for_own_hub(target));
  const auto store = TRY(cli::open_target(target, missing));
  const auto owner = TRY(cli::bound_owner(target));
  return run(verb, VerbEnv{*store, posix_clock(), target.form(), target.at, owner});
}

// A job file says everything itself: options that would be ignored are refused.
Result<void> check_file_options(const CLI::App& command, const std::string& file) {
  constexpr std::array<std::string_view, 5> kFit = {"JOBFILE", "--wait", "--key", "--owner",
                                                    "--dry-run"};
  CLI::App all_have;  // Which store, which form, --help.
  cli::StoreTarget ignored;
  cli::add_store_options(all_have, ignored);
  cli::add_form_options(all_have, ignored);
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

Result<int> run_submit(const CLI::App& command, const SubmitVerb& verb,
                       const cli::StoreTarget& target) {
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
  if (verb.job_file.empty() && verb.words.empty() && spec::word_in(verb.said, "lines").empty() &&
      spec::word_in(verb.said, "json_lines").empty()) {
    return Error{Code::invalid,
                 "there is no command: write it after --, as in `dunlin submit -- echo hello`"};
  }
  if (verb.dry_run) return dry_run(verb);
  if (target.at.starts_with("memory:")) {
    return Error{Code::invalid,
                 "a job in memory: is lost as soon as this command exits: start a hub with `dunlin "
                 "hub`, or run the tasks here with `dunlin run`"};
  }
  // What is wrong with the options needs no hub to be said.
  if (verb.job_file.empty()) TRY(check_options(verb));
  return run_in_store(verb, target, cli::Missing::make);
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
                    [this_verb = &verb](const CLI::App&, const cli::StoreTarget& target) {
                      return run_in_store(*this_verb, target, cli::Missing::refuse);
                    });
  }

 private:
  CLI::App& app_;
  cli::VerbAdder verbs_;
};

// Old names of --delivery.
void add_delivery_flags(CLI::App& command, spec::Words& said) {
  const auto takes = [&said](const std::string& word) {
    return [&said, word](int64_t /*count*/) { said["delivery"] = {word}; };
  };
  CLI::Option* const how = command.get_option("--delivery");
  CLI::Option* const once = command.add_flag_function("--at-most-once", takes("at-most-once"),
                                                      "The old name of --delivery at-most-once");
  CLI::Option* const relaxed = command.add_flag_function("--relaxed", takes("relaxed"),
                                                         "The old name of --delivery relaxed");
  relaxed->excludes(once)->excludes(how);
  once->excludes(how);
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
      [&verb](const CLI::App& self, const cli::StoreTarget& target) {
        return run_submit(self, verb, target);
      });
  command.add_option("JOBFILE", verb.job_file, "A TOML file with one job or several");
  add_field_options(command, spec::Entrance::command_line, verb.said);
  command.get_option("--owner")->envname("DUNLIN_OWNER");
  add_delivery_flags(command, verb.said);
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

}  // namespace dunlin::client
