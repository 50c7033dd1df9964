// What the parts of bench/store share: a table that says what was measured beside what it is
// compared with.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/samples.h"

namespace dunlin::bench {

struct Finding {
  std::string what;
  size_t batch = 1;
  std::string durability;
  std::string payload;
  std::string result;   // With its unit.
  std::string limit;    // What it is compared with, measured in this run.
  std::string verdict;  // The target, and whether it was met.
  bool met = true;
};

class Table {
 public:
  explicit Table(bool json) : json_(json) {
    if (json_) return;
    fmt::print("{:<34}{:>6}  {:<12}{:<9}{:<22}{:<54}{}\n", "what", "batch", "durability", "payload",
               "result", "beside it, same run", "target");
  }

  void add(const Finding& line) {
    all_met_ = all_met_ && line.met;
    if (json_) {
      const nlohmann::json object = {
          {"what", line.what},       {"batch", line.batch},   {"durability", line.durability},
          {"payload", line.payload}, {"result", line.result}, {"limit", line.limit},
          {"target", line.verdict},  {"met", line.met}};
      fmt::print("{}\n", object.dump());
    } else {
      fmt::print("{:<34}{:>6}  {:<12}{:<9}{:<22}{:<54}{}\n", line.what, line.batch, line.durability,
                 line.payload, line.result, line.limit, line.verdict);
    }
    std::fflush(stdout);
  }

  bool all_met() const { return all_met_; }

 private:
  bool json_;
  bool all_met_ = true;
};

inline std::string verdict(bool met, const std::string& target) {
  return (met ? "met: " : "MISSED: ") + target;
}

inline std::string rate(double per_second) {
  return per_second >= 1e6 ? fmt::format("{:.2f} M/s", per_second / 1e6)
                           : fmt::format("{:.0f} k/s", per_second / 1e3);
}

}  // namespace dunlin::bench
