#include "cli/usage.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "base/names.h"
#include "base/text.h"

namespace dunlin::cli {
namespace {

struct Hint {
  std::string_view option;
  std::string_view instead;
};

// Options of GNU parallel that `dunlin run` spells otherwise, or does without.
constexpr std::array<Hint, 57> kParallel = {{
    {"-P", "-j says how many run at once"},
    {"--max-procs", "-j says how many run at once"},
    {"-N", "-n gives a task several values"},
    {"--max-replace-args", "-n gives a task several values"},
    {"-L", "-n gives a task several values"},
    {"-X", "-n gives a task several values"},
    {"-m", "-n gives a task several values"},
    {"--xargs", "-n gives a task several values"},
    {"-I", "the placeholder is {}"},
    {"-i", "the placeholder is {}"},
    {"-U", "the placeholders are {} {.} {/} {//} {/.} {#} {%}"},
    {"--rpl", "the placeholders are {} {.} {/} {//} {/.} {#} {%}"},
    {"--plus", "the placeholders are {} {.} {/} {//} {/.} {#} {%}"},
    {"-C", "--colsep splits values"},
    {"-d", "values are lines, or end with NUL bytes (-0): convert other separators with tr"},
    {"--delimiter",
     "values are lines, or end with NUL bytes (-0): convert other separators with tr"},
    {"-E", "cut the input first: sed '/^END$/,$d'"},
    {"--eof", "cut the input first: sed '/^END$/,$d'"},
    {"--trim", "trim the values first: sed 's/^ *//; s/ *$//'"},
    {"--link", "use :::+ to link a source to the one before it"},
    {"--xapply", "use :::+ to link a source to the one before it"},
    {"--wd", "begin the command with cd FOLDER &&"},
    {"--workdir", "begin the command with cd FOLDER &&"},
    {"--dryrun", "--dry-run shows the commands"},
    {"--resume", "run the same command again: it resumes by itself"},
    {"--resume-failed",
     "run the same command again: it resumes by itself; --retries tries failed tasks again"},
    {"--retry-failed", "--retries tries failed tasks again"},
    {"--pipe",
     "standard input holds values, not data: split the data into files and give their names"},
    {"--pipepart", "split the file into parts (split -n l/8) and give their names"},
    {"--pipe-part", "split the file into parts (split -n l/8) and give their names"},
    {"--spreadstdin",
     "standard input holds values, not data: split the data into files and give their names"},
    {"--block", "split the file into parts (split -n l/8) and give their names"},
    {"--recstart", "split the file into parts (split -n l/8) and give their names"},
    {"--recend", "split the file into parts (split -n l/8) and give their names"},
    {"--tee", "give the name of one file to all tasks"},
    {"-u", "the output of a task is shown when the task has ended"},
    {"--ungroup", "the output of a task is shown when the task has ended"},
    {"--line-buffer", "the output of a task is shown when the task has ended"},
    {"--lb", "the output of a task is shown when the task has ended"},
    {"--linebuffer", "the output of a task is shown when the task has ended"},
    {"--group", "the output of a task is always shown together"},
    {"--tagstring", "--tag puts the values in front of each line"},
    {"--delay", "begin the command with sleep"},
    {"--load", "-j says how many run at once"},
    {"--memfree", "-j says how many run at once; the tasks of a hub have --mem"},
    {"--nice", "begin the line with nice, as in nice dunlin run ..."},
    {"--shuf", "shuffle the values first: shuf"},
    {"-S", "to use other machines, start a hub: `dunlin hub`, `dunlin worker`, `dunlin submit`"},
    {"--sshlogin",
     "to use other machines, start a hub: `dunlin hub`, `dunlin worker`, `dunlin submit`"},
    {"--sshloginfile", "to use other machines, start a hub: see `dunlin hub --help`"},
    {"--transfer", "workers that share a file system need no transfer: see `dunlin submit --cwd`"},
    {"--return", "workers that share a file system need no transfer: see `dunlin submit --cwd`"},
    {"--env", "tasks have the whole environment"},
    {"--semaphore", "-j says how many run at once"},
    {"--verbose", "--dry-run shows the commands, --joblog keeps them"},
    {"--will-cite", "it is not needed"},
    {"--citation", "it is not needed"},
}};

// The command that was being read.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "dunlin" : path_of(*parent) + ' ' + command.get_name();
}

std::string see(const CLI::App& command) {
  return fmt::format("see `{} --help`", path_of(command));
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

std::string unknown_option(const CLI::App& command, const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  return fmt::format("there is no option {}{}: {}", quote(name), meant(name, options_of(command)),
                     see(command));
}

std::string unknown_command(const CLI::App& command, const std::string& word) {
  const CLI::App* parent = command.get_parent();
  const std::string whole = parent == nullptr ? word : command.get_name() + ' ' + word;
  return fmt::format("there is no command {}{}: {}", quote(whole),
                     meant(word, commands_of(command)), see(command));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.starts_with('-') && word != "--";
}

std::string unexpected(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return fmt::format("there is one word too many: {}", see(command));
  const std::string& first = rest.front();
  if (!commands_of(command).empty() && !is_option(first)) return unknown_command(command, first);
  const auto option = std::ranges::find_if(rest, is_option);
  if (option != rest.end()) return unknown_option(command, *option);
  if (command.get_name() == "submit") {
    return fmt::format(
        "the word {} is not expected here: put the command after --, as in `dunlin submit -- echo "
        "hello`",
        quote(first));
  }
  return fmt::format("the word {} is not expected here: {}", quote(first), see(command));
}

std::string missing(const CLI::App& command, std::string_view name) {
  if (name.find("subcommand") != std::string_view::npos) {
    const std::string_view such =
        command.get_parent() == nullptr ? ", such as run, hub, worker or submit" : "";
    return fmt::format("a command is missing after `{}`{}: {}", path_of(command), such,
                       see(command));
  }
  return fmt::format("{} is missing: {}", name, see(command));
}

// The words of `text` before and after the first `middle`; both empty if it is not there.
std::pair<std::string, std::string> halves(std::string_view text, std::string_view middle) {
  const size_t at = text.find(middle);
  if (at == std::string_view::npos) return {};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + middle.size()))};
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  std::string said = error.what();
  std::ranges::replace(said, '\n', ' ');
  if (kind == CLI::ExitCodes::ExtrasError) return unexpected(app, command);
  if (kind == CLI::ExitCodes::RequiredError) {
    // A mistyped command is one that is missing, to the parser.
    if (!commands_of(command).empty() && !app.remaining(true).empty()) {
      return unexpected(app, command);
    }
    const size_t end = said.find(" is required");
    return missing(command, end == std::string::npos ? said : said.substr(0, end));
  }
  if (kind == CLI::ExitCodes::ExcludesError) {
    const auto [one, other] = halves(said, " excludes ");
    if (!one.empty()) return fmt::format("{} and {} exclude each other: give one", one, other);
  }
  if (kind == CLI::ExitCodes::ConversionError) {
    const auto [ignored, rest] = halves(said, "Could not convert: ");
    const auto [option, value] = halves(rest, " = ");
    if (!option.empty()) {
      return fmt::format("{} cannot be {}: {}", option, quote(value), see(command));
    }
  }
  if (kind == CLI::ExitCodes::ArgumentMismatch) {
    const std::string option = said.substr(0, said.find(':'));
    if (option.starts_with('-')) return fmt::format("{} needs a value: {}", option, see(command));
  }
  return fmt::format("{}: {}", said, see(command));
}

std::string unknown_run_option(const CLI::App& run, const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const Hint& hint : kParallel) {
    // -N2 is -N 2.
    const bool attached =
        hint.option.size() == 2 && name.starts_with(hint.option) && name[1] != '-';
    if (name == hint.option || attached) {
      return fmt::format("there is no option {}: {}", hint.option, hint.instead);
    }
  }
  return unknown_option(run, option);
}

std::string help_error(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2 || words[1] != "help") return "";
  const CLI::App* command = &app;
  for (size_t i = 2; i < words.size(); ++i) {
    if (is_option(words[i])) continue;  // The parser's.
    const auto named =
        command->get_subcommands([&](const CLI::App* one) { return one->get_name() == words[i]; });
    if (named.empty() && !commands_of(*command).empty()) {
      return unknown_command(*command, words[i]);
    }
    if (named.empty()) {
      return fmt::format("the word {} is not expected here: {}", quote(words[i]), see(*command));
    }
    command = named.front();
  }
  return "";
}

std::vector<std::string> plain_words(std::vector<std::string> words) {
  if (words.size() > 1 && words[1] == "help") {
    words.erase(words.begin() + 1);
    words.emplace_back("--help");
  } else if (words.size() == 3 && words[2] == "--version") {
    words.erase(words.begin() + 1);
  }
  return words;
}

}  // namespace dunlin::cli
