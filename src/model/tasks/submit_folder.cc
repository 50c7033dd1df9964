#include "model/tasks/submit_folder.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/folder_marks.h"
#include "base/names.h"
#include "base/text.h"

namespace dunlin {
namespace {

constexpr char kMark = '?';

bool is_below_here(std::string_view word) {
  return word.starts_with("./") || word.starts_with("../");
}

}  // namespace

std::string cwd_of(const SubmitFolder& folder) {
  if (folder.marks.empty() || !folder.path.starts_with('/')) return {};
  return fmt::format("{}{}{}", kMark, fmt::join(folder.marks, "."), folder.path);
}

std::string whole_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  if (failed) return {};
  const bool climbs = std::ranges::find(whole, fs::path("..")) != whole.end();
  std::string plain =
      (climbs ? fs::weakly_canonical(whole, failed) : whole.lexically_normal()).string();
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return failed ? std::string() : plain;
}

std::string cwd_from(const std::string& folder) {
  const std::string path = whole_path(folder);
  return cwd_of({.path = path, .marks = folder_marks(path)});
}

std::optional<SubmitFolder> submit_folder(std::string_view cwd) {
  if (!cwd.starts_with(kMark)) return std::nullopt;
  const size_t slash = std::min(cwd.find('/'), cwd.size());
  SubmitFolder folder{.path = std::string(cwd.substr(slash))};
  std::string_view rest = cwd.substr(1, slash - 1);
  while (!rest.empty()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    folder.marks.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return folder;
}

std::string_view path_of(std::string_view cwd) {
  return cwd.starts_with(kMark) ? cwd.substr(std::min(cwd.find('/'), cwd.size())) : cwd;
}

Result<void> check_task_folder(std::string_view cwd) {
  if (cwd == kTaskFolder || cwd.starts_with('/') || submit_folder(cwd)) return {};
  return Error{Code::invalid, fmt::format("the task's folder {} is relative, but the job runs in "
                                          "fresh folders: give an absolute path",
                                          quote_path(cwd))};
}

std::string relative_program(const model::Command& command) {
  if (command.argv_size() > 0) {
    const std::string& word = command.argv(0);
    const bool has_folder = word.find('/') != std::string::npos;
    const bool relative = has_folder && word[0] != '/' && word[0] != '{';
    return relative ? word : "";
  }
  std::string_view line = command.line();
  line.remove_prefix(std::min(line.find_first_not_of(" \t\n"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\n;&|<>()"));
  return std::string(is_below_here(word) ? word : "");
}

Result<void> check_program(const model::Spec& spec, std::string_view option) {
  if (!spec.cwd().empty() || spec.inputs().json()) return {};
  const std::string program = relative_program(spec.command());
  if (program.empty()) return {};
  return Error{Code::invalid,
               fmt::format("each task runs in a fresh folder, which does not contain {}: give the "
                           "program's absolute path, or name its folder with {}",
                           quote(program), option)};
}

}  // namespace dunlin
