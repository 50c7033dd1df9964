#include "spec/words.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "model/tasks/submit_folder.h"
#include "spec/values.h"

namespace dunlin::spec {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

Json number_in(const std::string& word) {
  if (const auto whole = parse_number("", word); whole.ok()) return whole.value();
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && read == end ? Json(value) : Json(word);
}

Result<void> add_variable(const std::string& text, JobDraft& draft) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos) {
    draft.add_variable(text.substr(0, equals), text.substr(equals + 1));
    return {};
  }
  const char* const value = std::getenv(text.c_str());
  if (value == nullptr) {
    return invalid(
        fmt::format("the variable {} is not set here: write --env NAME=VALUE", quote(text)));
  }
  draft.add_variable(text, value);
  return {};
}

Result<std::string> whole_folder(const std::string& folder) {
  std::error_code failed;
  if (folder == kTaskFolder) {
    if (!std::filesystem::is_directory(folder, failed)) return folder;
    return invalid(
        "--cwd task is a fresh folder for each task, but there is a folder task here: write --cwd "
        "./task for that one");
  }
  std::string path = whole_path(folder);
  if (path.empty()) return invalid("the current folder is gone: give --cwd a whole path");
  return path;
}

Result<void> set_word(const JobField& field, const std::string& word, JobDraft& draft) {
  if (word.empty() && field.name != "array") return {};
  switch (field.shape) {
    case Shape::number:
      return set_field(field.name, number_in(word), draft);
    case Shape::flag:
      return set_field(field.name, word == "true", draft);
    case Shape::folder:
      return set_field(field.name, TRY(whole_folder(word)), draft);
    case Shape::text:
    case Shape::list:
    case Shape::variables:
    case Shape::contents:
      return set_field(field.name, word, draft);
  }
  return {};
}

}  // namespace

Result<void> set_words(const Words& said, JobDraft& draft) {
  for (const auto& [name, words] : said) {
    const JobField* const field = find_field(name, draft.entrance);
    if (field == nullptr || field->shape == Shape::contents) continue;
    if (field->shape == Shape::variables) {
      for (const std::string& word : words) TRY(add_variable(word, draft));
    } else if (field->shape == Shape::list) {
      TRY(set_field(field->name, Json(words), draft));
    } else if (!words.empty()) {
      TRY(set_word(*field, words.front(), draft));
    }
  }
  return {};
}

std::string word_in(const Words& said, std::string_view field) {
  const auto found = said.find(field);
  return found == said.end() || found->second.empty() ? "" : found->second.front();
}

}  // namespace dunlin::spec
