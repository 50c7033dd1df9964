// The table of what a JSON object about a job may have. Only for doors/rest/job_body.cc.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/iterations.h"
#include "model/records.pb.h"

namespace dunlin::rest {

struct NumberArray {
  int64_t first = 0;
  int64_t step = 1;
  uint64_t count = 0;
};

// A job as far as it was read.
struct JobParts {
  model::Spec spec = {};
  std::optional<std::vector<std::string>> values = {};
  std::optional<NumberArray> array = {};
  std::string colsep = {};
  std::string stdin_bytes = {};
  std::string key = {};
  IterationOptions iterations = {};
  WallTime now = {};  // From which deadlines count.
};

struct JobField {
  std::string_view name;
  std::string_view expected;  // "must be ..."
  std::string_view schema;    // JSON Schema.
  // An error without words: the value is not what is expected.
  Result<void> (*set)(const nlohmann::json& value, JobParts& parts);
};

std::span<const JobField> job_fields();

}  // namespace dunlin::rest
