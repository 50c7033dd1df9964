// Adds verbs to the command line, each with the options about the store and the form of the output
// that all of them have. The verb that was given runs while the line is parsed: what the adder was
// given must outlive that. Main thread.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/exit.h"
#include "cli/target_options.h"

namespace dunlin::cli {

class VerbAdder {
 public:
  VerbAdder(Targets& targets, int& exit_code) : targets_(targets), exit_code_(exit_code) {}

  // call(command, target) returns the exit code or an error.
  template <typename Call>
  CLI::App& add_call(CLI::App& parent, const std::string& name, const std::string& what,
                     const std::string& example, Call call, bool in_store = true) {
    CLI::App& command = *parent.add_subcommand(name, what);
    command.footer("Example:\n  " + example + "\n");
    StoreTarget& target = targets_.emplace_back();
    if (in_store) add_store_options(command, target);
    add_form_options(command, target);
    command.callback(
        [call, this_command = &command, this_target = &target, exit_code = &exit_code_, in_store] {
          if (in_store) find_own_hub(*this_target);
          const Result<int> ran = call(*this_command, *this_target);
          *exit_code = ran.ok() ? ran.value() : report(ran.error());
        });
    return command;
  }

  // For verbs with run(verb, target).
  template <typename Verb>
  CLI::App& add(CLI::App& parent, const std::string& name, const std::string& what,
                const std::string& example, Verb& verb, bool in_store = true) {
    return add_call(
        parent, name, what, example,
        [this_verb = &verb](const CLI::App&, const StoreTarget& target) {
          return run(*this_verb, target);
        },
        in_store);
  }

 private:
  Targets& targets_;
  int& exit_code_;
};

}  // namespace dunlin::cli
