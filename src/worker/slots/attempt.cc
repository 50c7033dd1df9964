#include "worker/slots/attempt.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "base/folder_marks.h"
#include "base/names.h"
#include "base/text.h"
#include "model/tasks/expand.h"
#include "model/tasks/submit_folder.h"

namespace dunlin::worker {
namespace {

constexpr double kSleepMaxMs = 1e12;
constexpr size_t kWhyMax = 1000;  // Bytes of what a function says about its failure.

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_harmless(std::string_view name) {
  constexpr std::string_view kNames[] = {"PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL"};
  return name.starts_with("LC_") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void set(std::vector<std::string>& env, std::string_view name, std::string_view value) {
  std::string variable = fmt::format("{}={}", name, value);
  for (std::string& old : env) {
    if (name_of(old) == name) {
      old = std::move(variable);
      return;
    }
  }
  env.push_back(std::move(variable));
}

void unset(std::vector<std::string>& env, std::string_view name) {
  std::erase_if(env, [&](const std::string& variable) { return name_of(variable) == name; });
}

void set_environment(const Assignment& assignment, const Expanded& expanded,
                     const SlotOptions& options, const Surroundings& around,
                     const std::string& private_folder, Command& command) {
  std::vector<std::string>& env = command.env;
  const bool keep_env = assignment.job->spec.keep_env() && !options.rules.foreign;
  env = keep_env ? around.all : around.scrubbed;
  if (!keep_env) set(env, "TMPDIR", private_folder);
  if (const auto& user = options.rules.user) {
    set(env, "HOME", user->home);
    set(env, "SHELL", user->shell);
    for (const char* name : {"USER", "LOGNAME"}) set(env, name, user->name);
  }
  for (const auto& [name, value] : expanded.env) set(env, name, value);
  if (!assignment.gpus.empty()) {
    set(env, "CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(assignment.gpus, ",")));
  }
  set(env, "DUNLIN_WORKER", options.worker_id);
  for (const char* name : {"DUNLIN_JOB", "DUNLIN_TASK", "DUNLIN_ATTEMPT"}) unset(env, name);
  command.marks = {fmt::format("DUNLIN_JOB={}", assignment.job->id),
                   fmt::format("DUNLIN_TASK={}", assignment.task),
                   fmt::format("DUNLIN_ATTEMPT={}", assignment.attempt)};
}

// The text of a record is UTF-8.
std::string shown(const std::string& text) { return is_utf8(text) ? text : escape(text); }

Attempt refused(model::Blame blame, Code code, const std::string& why) {
  Attempt attempt;
  attempt.refusal = {code, shown(why)};
  attempt.blame = blame;
  return attempt;
}

Attempt nap(std::string_view text) {
  double ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(ms >= 0 && ms <= kSleepMaxMs)) {
    return refused(model::BLAME_TASK, Code::invalid,
                   fmt::format("sleep needs a number of milliseconds, not {}", quote(text)));
  }
  Attempt attempt;
  attempt.kind = Attempt::Kind::sleep;
  attempt.sleep_us = std::llround(ms * 1000);
  return attempt;
}

Attempt function_call(const std::string& name, std::string argument, const SlotOptions& options) {
  const auto found = options.functions.find(name);
  if (found == options.functions.end()) {
    return refused(model::BLAME_TASK, Code::not_found,
                   fmt::format("this worker has no function {}: register it, or give the job a tag "
                               "that only workers with it have",
                               quote(name)));
  }
  Attempt attempt;
  attempt.kind = Attempt::Kind::function;
  attempt.function = &found->second;
  attempt.argument = std::move(argument);
  return attempt;
}

// The least of what applies; 0 is no limit.
uint64_t memory_max(const model::Spec& spec, const TaskRules& rules) {
  uint64_t least = 0;
  for (const uint64_t limit : {spec.memory_max(), rules.memory_max,
                               rules.enforce_mem ? spec.requires_().mem_bytes() : 0}) {
    if (limit != 0 && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

// Another folder of the same name may be another person's.
bool is_here(const SubmitFolder& folder) {
  const std::vector<std::string> marks = folder_marks(folder.path);
  return std::ranges::any_of(folder.marks, [&](const std::string& mark) {
    return !mark.empty() && std::ranges::find(marks, mark) != marks.end();
  });
}

// What is to be run, if it is in the submitter's folder.
std::string program_there(const model::Spec& spec, const std::vector<std::string>& argv) {
  std::string program = relative_program(spec.command());
  if (!program.empty() || argv.empty()) return program;
  model::Command own;  // That of the task, if it has one.
  own.add_argv(argv.front());
  return relative_program(own);
}

Attempt not_here(const std::string& folder, std::string_view kind, const std::string& name) {
  return refused(
      model::BLAME_TASK, Code::not_found,
      fmt::format("there is no {} {}: this worker does not have the folder {}, from which the job "
                  "was submitted; share that folder, or name one that workers have with --cwd",
                  kind, quote(name), quote_path(folder)));
}

}  // namespace

Surroundings Surroundings::ours(const std::string& mark) {
  Surroundings around;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    around.all.emplace_back(*variable);
    if (is_harmless(name_of(*variable))) around.scrubbed.emplace_back(*variable);
  }
  const std::string_view name = name_of(mark);
  for (auto* variables : {&around.all, &around.scrubbed})
    set(*variables, name, mark.substr(name.size() + 1));
  return around;
}

Attempt attempt(Assignment& assignment, const SlotOptions& options, const Surroundings& around,
                const std::string& private_folder, uint32_t slot) {
  const model::Spec& spec = assignment.job->spec;
  const auto fill = [&]() -> Result<Expanded> {
    const Template compiled = TRY(Template::compile(spec));
    return compiled.expand(assignment.task, assignment.values, slot);
  };
  Result<Expanded> filled = fill();
  if (!filled.ok()) return refused(model::BLAME_TASK, filled.error().code, filled.error().what);
  Expanded expanded = std::move(filled).value();
  const model::Command& what = spec.command();
  if (!what.builtin().empty()) {
    if (what.builtin() == "noop") return nap("0");
    if (what.builtin() == "sleep") return nap(expanded.argument);
    return refused(model::BLAME_TASK, Code::unsupported,
                   fmt::format("this worker has no builtin {}: it knows noop and sleep",
                               quote(what.builtin())));
  }
  if (!what.function().empty()) {
    return function_call(what.function(), std::move(expanded.argument), options);
  }
  Attempt attempt;
  attempt.kind = Attempt::Kind::process;
  attempt.cleanup = spec.cleanup();
  Command& command = attempt.command;
  set_environment(assignment, expanded, options, around, private_folder, command);
  command.argv = std::move(expanded.argv);
  command.cwd = expanded.cwd.empty() ? private_folder : expanded.cwd;
  if (const auto folder = submit_folder(expanded.cwd)) {
    const std::string program = program_there(spec, command.argv);
    if (is_here(*folder)) {
      command.cwd = folder->path;
      if (!expanded.below.empty()) {
        command.cwd += '/' + expanded.below;
      } else if (program.empty()) {
        command.cwd_else = private_folder;
      }
    } else {
      if (!expanded.below.empty()) return not_here(folder->path, "folder", expanded.below);
      if (!program.empty()) return not_here(folder->path, "program", program);
      command.cwd = private_folder;
      attempt.elsewhere = folder->path;
    }
  }
  const bool blob = !spec.stdin_blob().empty();
  command.stdin_bytes = blob ? assignment.job->stdin_bytes : std::move(expanded.stdin_bytes);
  command.timeout_ms = spec.timeout_ms();
  command.output_max = spec.output_max();
  command.file_max = spec.file_max();
  command.memory_max = memory_max(spec, options.rules);
  command.folder = private_folder;
  if (spec.has_iterations()) {
    attempt.partition = {iterative_job(assignment.job->id, spec), assignment.task,
                         assignment.attempt, 0};
    set(command.env, "DUNLIN_CHANNEL", "3");
  } else {
    unset(command.env, "DUNLIN_CHANNEL");
  }
  return attempt;
}

void call(const TaskFunction& function, std::string_view argument, model::Outcome& outcome) {
  const auto failed = [&outcome](std::string why) {
    outcome.set_state(model::STATE_FAILED);
    outcome.set_blame(model::BLAME_TASK);
    outcome.set_why(shorten(std::move(why), kWhyMax));
  };
  try {
    Result<std::string> returned = function(argument);
    if (!returned.ok()) return failed(returned.error().what);
    outcome.set_state(model::STATE_OK);
    outcome.set_value(std::move(returned).value());
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("the function threw something that is not a std::exception");
  }
}

}  // namespace dunlin::worker
