#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

#include "cli/output.h"

namespace dunlin::bench {
namespace {

const Value* find(const Fields& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? nullptr : &found->second;
}

// 1234567 as 1,234,567.
std::string grouped(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(digits.find('.'), digits.size()); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string csv_cell(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

Value::Value(uint64_t count) : json(count), text(grouped(std::to_string(count))) {}

Value::Value(double number, int digits) {
  const double scale = std::pow(10, digits);
  json = std::round(number * scale) / scale;
  text = grouped(fmt::format("{:.{}f}", number, digits));
}

Report::Report(std::string bench) : bench_(std::move(bench)) {
  set("cores", uint64_t{std::thread::hardware_concurrency()});
}

std::vector<std::string> Report::names(bool with_settings) const {
  std::vector<std::string> names;
  const auto add = [&](const Fields& fields) {
    for (const auto& [name, value] : fields) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  for (const Fields& row : rows_) add(row);
  if (with_settings) add(settings_);
  return names;
}

std::string Report::plain() const {
  std::string out = fmt::format("{}:", bench_);
  for (const auto& [name, value] : settings_) out += fmt::format(" {} {},", name, value.text);
  out.back() = '\n';
  const std::vector<std::string> columns = names(false);
  std::vector<cli::Columns::Head> heads;
  for (const std::string& name : columns) {
    const bool number = std::ranges::all_of(rows_, [&](const Fields& row) {
      const Value* value = find(row, name);
      return value == nullptr || value->json.is_number();
    });
    heads.push_back({name, number});
  }
  cli::Columns table(heads);
  for (const Fields& row : rows_) {
    std::vector<std::string> cells;
    for (const std::string& name : columns) {
      const Value* value = find(row, name);
      cells.push_back(value == nullptr ? "" : value->text);
    }
    table.add(std::move(cells));
  }
  out += table.text();
  for (const std::string& line : notes_) out += line + '\n';
  return out;
}

std::string Report::json() const {
  std::string out;
  for (const Fields& row : rows_) {
    nlohmann::ordered_json object = json_object();
    object["bench"] = bench_;
    for (const auto& [name, value] : row) object[name] = value.json;
    for (const auto& [name, value] : settings_) {
      if (!object.contains(name)) object[name] = value.json;
    }
    out += cli::json_line(object);
  }
  return out;
}

std::string Report::csv() const {
  const std::vector<std::string> columns = names(true);
  std::string out = "bench";
  for (const std::string& name : columns) out += ',' + name;
  out += '\n';
  for (const Fields& row : rows_) {
    out += bench_;
    for (const std::string& name : columns) {
      const Value* value = find(row, name);
      if (value == nullptr) value = find(settings_, name);
      out += ',' + (value == nullptr ? "" : csv_cell(value->json));
    }
    out += '\n';
  }
  return out;
}

}  // namespace dunlin::bench
