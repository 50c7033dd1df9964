#include "client/submit/field_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

namespace dunlin::client {
namespace {

void add_option(CLI::App& command, const spec::JobField& field, const std::string& option,
                spec::Words& said) {
  const std::string name(field.name);
  const std::string help =
      std::string(field.help) + (field.typed.empty() ? "" : fmt::format(" ({})", field.typed));
  if (field.shape == spec::Shape::flag) {
    CLI::Option* const flag = command.add_flag(option, help);
    flag->check([](const std::string& word) {
      bool on = false;
      return CLI::detail::lexical_cast(word, on) ? "" : "it takes no value but true and false";
    });
    flag->each([&said, name](const std::string& word) {
      bool on = false;
      (void)CLI::detail::lexical_cast(word, on);
      said[name] = {on ? "true" : ""};
    });
    return;
  }
  CLI::Option* added = nullptr;
  if (field.shape == spec::Shape::list || field.shape == spec::Shape::variables) {
    const auto take = [&said, name](const std::vector<std::string>& words) { said[name] = words; };
    added = command.add_option_function<std::vector<std::string>>(option, take, help);
    added->allow_extra_args(false);
  } else {
    const auto take = [&said, name](const std::string& word) { said[name] = {word}; };
    added = command.add_option_function<std::string>(option, take, help);
  }
  added->type_name(std::string(field.word));
}

}  // namespace

void add_field_options(CLI::App& command, spec::Entrance entrance, spec::Words& said) {
  for (const spec::JobField& field : spec::job_fields()) {
    // The others are words of the command.
    if (!field.is_at(entrance) || (field.word.empty() && field.shape != spec::Shape::flag))
      continue;
    add_option(command, field, spec::as_written(field.name, entrance), said);
  }
}

}  // namespace dunlin::client
