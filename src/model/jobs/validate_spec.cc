// The rules that a job must keep before it gets into the store, whoever submits it.
#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "model/counts.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/sound.h"
#include "model/tasks/expand.h"
#include "model/tasks/submit_folder.h"

namespace dunlin {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_variable(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kNameMax && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, fits);
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (is_name(name)) return {};
  return invalid(
      fmt::format("the {} {} is not 1 to 64 characters of A-Z a-z 0-9 . _ -", what, quote(name)));
}

// `each`: the inputs may bring commands of their own.
Result<void> check_command(const model::Command& command, bool each) {
  const int kinds = int{command.argv_size() > 0} + int{!command.line().empty()} +
                    int{!command.function().empty()} + int{!command.builtin().empty()};
  if (kinds == 0 && each) return {};
  if (kinds == 0) return invalid("the job has no command: write it after --");
  if (kinds > 1) return invalid("the job has more than one kind of command: give one");
  if (command.argv_size() > 0 && command.argv(0).empty()) {
    return invalid("the command's first word is empty: name a program");
  }
  if (std::ranges::any_of(command.argv(), has_zero) || has_zero(command.line())) {
    return invalid("the command has a zero byte: programs cannot be given one");
  }
  if (!command.line().empty() && command.line().find_first_not_of(" \t\n") == std::string::npos) {
    return invalid("the command is only white space: name a program");
  }
  if (!command.function().empty()) TRY(check_name("function", command.function()));
  if (!command.builtin().empty() && command.builtin() != "noop" && command.builtin() != "sleep") {
    return invalid(
        fmt::format("there is no builtin {}: there are noop and sleep", quote(command.builtin())));
  }
  return {};
}

Result<void> check_requirements(const model::Requirements& needs) {
  for (const std::string& tag : needs.tags()) {
    if (!is_tag(tag)) {
      return invalid(fmt::format(
          "the tag {} is not 1 to 64 characters of A-Z a-z 0-9 . _ - = : + @ /", quote(tag)));
    }
  }
  return {};
}

Result<void> check_environment(const model::Spec& spec) {
  for (const model::Variable& variable : spec.env()) {
    if (!is_variable(variable.name())) {
      return invalid(fmt::format("the variable {} is not a name of letters, digits and _",
                                 quote(variable.name())));
    }
    if (has_zero(variable.value())) {
      return invalid(fmt::format("the variable {} has a zero byte", variable.name()));
    }
  }
  if (has_zero(spec.cwd())) return invalid("the folder has a zero byte");
  const std::string_view folder = path_of(spec.cwd());
  if (!spec.cwd().empty() && !folder.starts_with('/')) {
    return invalid(
        fmt::format("the folder {} is not an absolute path: workers have no other idea "
                    "of where you are",
                    quote(spec.cwd())));
  }
  if (!spec.stdin().empty() && !spec.stdin_blob().empty()) {
    return invalid("the job has two standard inputs: give one");
  }
  return {};
}

// Workers read them with rights that the submitter may not have, so they are what was put there for
// jobs, and they are as many as the tasks.
Result<void> check_inputs(const model::Spec& spec) {
  const auto check_blob = [](std::string_view name) -> Result<void> {
    if (name.empty() || is_job_blob(name)) return {};
    return invalid(fmt::format("the blob {} is no input of a job", quote(name)));
  };
  TRY(check_blob(spec.stdin_blob()));
  for (const model::Source& source : spec.inputs().sources()) TRY(check_blob(source.blob()));
  if (spec.inputs().sources().empty()) return {};
  const uint64_t values = TRY(count_tasks(spec.inputs()));
  if (values == spec.tasks()) return {};
  return invalid(fmt::format("the job has {} tasks, and inputs for {}", spec.tasks(), values));
}

Result<void> check_what_iterates(const model::Spec& spec) {
  const model::Command& command = spec.command();
  if (command.argv().empty() && command.line().empty()) {
    return invalid("iterations are for programs: a function or a builtin cannot ask for them");
  }
  if (spec.delivery() != model::DELIVERY_ONCE) {
    return invalid("iterations are always done once: the delivery cannot be another");
  }
  return {};
}

}  // namespace

bool is_tag(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("._-=:+@/").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kNameMax && std::ranges::all_of(text, fits);
}

Result<uint64_t> parse_keep(std::string_view text) {
  if (text == "forever") return kKeepForever;
  const Result<Millis> time = parse_duration(text);
  const auto keep_ms = static_cast<uint64_t>(time.ok() ? time.value().count() : 0);
  if (keep_ms > 0 && keep_ms <= kKeepMost) return keep_ms;
  return invalid(fmt::format(
      "{} is not how long a job is kept: write 12h, 30d or forever; at most 36600d", quote(text)));
}

Result<uint32_t> parse_losses(std::string_view text) {
  if (text == "unlimited") return kLossesUnlimited;
  const Result<uint64_t> number = parse_number("the losses", text);
  if (number.ok() && number.value() >= kLossesLeast && number.value() <= kLossesMost) {
    return static_cast<uint32_t>(number.value());
  }
  return invalid(fmt::format("the losses {} are not {} to {}, or unlimited", quote(text),
                             kLossesLeast, kLossesMost));
}

Result<void> validate_spec(const model::Spec& spec) {
  TRY(check_command(spec.command(), spec.inputs().json()));
  TRY(check_counts(spec));
  TRY(check_inputs(spec));
  if (spec.has_iterations()) TRY(check_what_iterates(spec));
  if (spec.finish_by_ms() < 0) return invalid("the deadline is before 1970");
  if (!spec.name().empty()) TRY(check_name("name", spec.name()));
  TRY(check_name("owner", spec.owner()));
  if (!spec.reply().empty() && !is_reply_queue(spec.reply())) {
    return invalid(
        fmt::format("the reply queue {} is not {}NAME", quote(spec.reply()), kReplyQueues));
  }
  TRY(check_requirements(spec.requires_()));
  TRY(check_environment(spec));
  if (spec.priority() > kPriorityMax) {
    return invalid(fmt::format("the priority {} is not 0 to {}", spec.priority(), kPriorityMax));
  }
  if (spec.retries() > kRetriesMax) {
    return invalid(fmt::format("{} retries are too many: at most {}", spec.retries(), kRetriesMax));
  }
  if (spec.losses() == 1 || (spec.losses() > kLossesMost && spec.losses() != kLossesUnlimited)) {
    return invalid(
        fmt::format("losses of {} are not possible: {} to {}, or unlimited; for tasks "
                    "that must not start twice there is --at-most-once",
                    spec.losses(), kLossesLeast, kLossesMost));
  }
  if (spec.keep_ms() > kKeepMost && spec.keep_ms() != kKeepForever) {
    return invalid(fmt::format("the job cannot be kept for {} ms: at most {}, or forever",
                               spec.keep_ms(), kKeepMost));
  }
  if (spec.after_size() > kAfterMax) {
    return invalid(fmt::format("the job comes after {} jobs, at most {} are possible",
                               spec.after_size(), kAfterMax));
  }
  for (const std::string& job : spec.after()) TRY(check_name("job", job));
  if (const size_t size = spec.ByteSizeLong(); size > kSpecMax) {
    return invalid(
        fmt::format("the job's description has {} bytes, at most {} are possible: put "
                    "its inputs into --lines FILE or --stdin FILE",
                    size, kSpecMax));
  }
  return {};
}

}  // namespace dunlin
