#include "model/tasks/placeholders.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace dunlin {
namespace {

using Cut = Placeholder::Cut;
using What = Placeholder::What;

constexpr std::array<std::pair<std::string_view, Cut>, 4> kCuts = {
    {{"//", Cut::name}, {"/.", Cut::both}, {"/", Cut::folder}, {".", Cut::extension}}};

constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (int c = 'a'; c <= 'z'; ++c) plain[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) plain[static_cast<size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) plain[static_cast<size_t>(c)] = true;
  for (const char c : std::string_view("_-./,:@%+=")) plain[static_cast<uint8_t>(c)] = true;
  return plain;
}
constexpr std::array<bool, 256> kPlain = make_plain();

size_t values_of(const model::Inputs& inputs) {
  return std::max<size_t>(static_cast<size_t>(inputs.sources_size()), 1);
}

std::optional<size_t> column_number(std::string_view name) {
  size_t number = 0;
  const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || rest != name.data() + name.size() || number == 0) return {};
  return number - 1;
}

std::optional<Placeholder> named(std::string_view name, const model::Inputs& inputs) {
  if (name.empty()) return Placeholder{.what = What::all};
  for (int i = 0; i < inputs.columns_size(); ++i) {
    if (inputs.columns(i) == name) {
      return Placeholder{.what = What::column, .column = static_cast<size_t>(i)};
    }
  }
  if (const auto column = column_number(name)) {
    // Not those that nothing could fill: a{3} may well be a regular expression.
    if (inputs.colsep().empty() && *column >= values_of(inputs)) return {};
    return Placeholder{.what = What::column, .column = *column};
  }
  const bool cut = name.ends_with('.') || name.ends_with('/');
  const bool word = !cut && std::all_of(name.begin(), name.end(), [](char c) {
    return kPlain[static_cast<uint8_t>(c)] || static_cast<uint8_t>(c) >= 0x80;
  });
  if (inputs.json() && word) return Placeholder{.what = What::field, .text = std::string(name)};
  return {};
}

// What stands between the braces.
std::optional<Placeholder> parse_one(std::string_view inside, const model::Inputs& inputs) {
  if (inside == "#") return Placeholder{.what = inputs.listed() ? What::all : What::number};
  if (inside == "%") return Placeholder{.what = What::slot};
  if (auto whole = named(inside, inputs)) return whole;
  for (const auto& [mark, cut] : kCuts) {
    if (!inside.ends_with(mark)) continue;
    auto found = named(inside.substr(0, inside.size() - mark.size()), inputs);
    if (!found) continue;
    found->cut = cut;
    return found;
  }
  return {};
}

std::string_view without_extension(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  return dot != std::string_view::npos && path[dot] == '.' ? path.substr(0, dot) : path;
}

std::string_view without_folder(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
  const auto strip = [](std::string_view text) {
    while (text.size() > 1 && text.back() == '/') text.remove_suffix(1);
    return text;
  };
  path = strip(path);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : strip(path.substr(0, slash + 1));
}

void append_number(std::string& out, int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_value(std::string& out, std::string_view value, Quoting quoting) {
  quoting == Quoting::shell ? append_quoted(out, value) : void(out.append(value));
}

void append_field(std::string& out, const Placeholder& part, const Filling& filling,
                  Quoting quoting) {
  const auto value =
      filling.object != nullptr ? filling.object->field(part.text) : std::optional<std::string>();
  if (value) {
    append_value(out, cut_path(*value, part.cut), quoting);
    return;
  }
  // It was none of ours, like ${HOME}.
  const auto mark = std::find_if(kCuts.begin(), kCuts.end(),
                                 [&](const auto& known) { return known.second == part.cut; });
  out += fmt::format("{{{}{}}}", part.text, mark == kCuts.end() ? "" : mark->first);
}

}  // namespace

Pattern parse_pattern(std::string_view text, const model::Inputs& inputs) {
  Pattern pattern;
  const auto add_text = [&](std::string_view piece) {
    if (piece.empty()) return;
    if (pattern.empty() || pattern.back().what != What::text) pattern.emplace_back();
    pattern.back().text += piece;
  };
  while (!inputs.single()) {
    const size_t open = text.find('{');
    const size_t close = text.find_first_of("{}", open == std::string_view::npos ? open : open + 1);
    if (close == std::string_view::npos) break;
    auto found = text[close] == '}' ? parse_one(text.substr(open + 1, close - open - 1), inputs)
                                    : std::nullopt;
    if (found) {
      add_text(text.substr(0, open));
      pattern.push_back(*std::move(found));
      text.remove_prefix(close + 1);
    } else {
      add_text(text.substr(0, close));
      text.remove_prefix(close);
    }
  }
  add_text(text);
  return pattern;
}

bool has_placeholder(const Pattern& pattern) {
  return std::any_of(pattern.begin(), pattern.end(),
                     [](const Placeholder& part) { return part.what != What::text; });
}

void fill(const Pattern& pattern, const Filling& filling, Quoting quoting, std::string& out) {
  for (const Placeholder& part : pattern) {
    if (out.size() > kFilledMax) return;
    switch (part.what) {
      case What::text:
        out += part.text;
        break;
      case What::all:
        for (size_t i = 0; i < filling.columns.size(); ++i) {
          if (i > 0) out += ' ';
          append_value(out, cut_path(filling.columns[i], part.cut), quoting);
        }
        break;
      case What::column:
        append_value(out,
                     part.column < filling.columns.size()
                         ? cut_path(filling.columns[part.column], part.cut)
                         : std::string_view(),
                     quoting);
        break;
      case What::field:
        append_field(out, part, filling, quoting);
        break;
      case What::number:
        append_number(out, filling.number);
        break;
      case What::slot:
        append_number(out, filling.slot);
        break;
    }
  }
}

std::string_view cut_path(std::string_view value, Cut cut) {
  switch (cut) {
    case Cut::none:
      return value;
    case Cut::extension:
      return without_extension(value);
    case Cut::folder:
      return without_folder(value);
    case Cut::name:
      return folder_of(value);
    case Cut::both:
      return without_extension(without_folder(value));
  }
  return value;
}

void append_quoted(std::string& out, std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return kPlain[static_cast<uint8_t>(c)]; });
  if (plain && !text.empty()) {
    out += text;
    return;
  }
  out += '\'';
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  out += '\'';
}

std::string shell_quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace dunlin
