// What a benchmark found: rows of named values, and the settings under which they were found. The
// same rows as aligned columns, as JSON (one object a row, settings included) and as CSV. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace dunlin::bench {

struct Value {
  Value(const char* words) : json(words), text(words) {}
  Value(std::string words) : json(words), text(std::move(words)) {}
  Value(uint64_t count);
  Value(uint32_t count) : Value(uint64_t{count}) {}
  Value(double number, int digits);  // Rounded to so many after the point.

  nlohmann::ordered_json json;
  std::string text;
};
using Fields = std::vector<std::pair<std::string, Value>>;

class Report {
 public:
  explicit Report(std::string bench);  // The number of cores is its first setting.

  void set(const std::string& name, Value value) { settings_.emplace_back(name, std::move(value)); }
  // A row has the fields that apply to it; a setting that it names is the row's own.
  void add(Fields fields) { rows_.push_back(std::move(fields)); }
  void note(std::string line) { notes_.push_back(std::move(line)); }  // For people only.

  std::string plain() const;
  std::string json() const;
  std::string csv() const;

 private:
  // Names in the order in which they were first seen; with settings: those too.
  std::vector<std::string> names(bool with_settings) const;

  std::string bench_;
  Fields settings_;
  std::vector<Fields> rows_;
  std::vector<std::string> notes_;
};

}  // namespace dunlin::bench
