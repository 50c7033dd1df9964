// From the options of a job, as a program gives them, to what is submitted. Looks at the folder
// that the program is in. From any thread.
#pragma once

#include <dunlin/client.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/submit.h"
#include "model/records.pb.h"

namespace dunlin::sdk {

// The tag by which jobs find workers that have a function. `invalid` if it cannot be a name of one.
Result<std::string> function_tag(std::string_view function);

struct Submission {
  model::Spec spec = {};  // But for the time and the reply queue.
  std::vector<NamedBlob> blobs = {};
  bool by_slots = false;  // As many partitions as there are slots.
};
Result<Submission> submission_of(const JobOptions& job, const std::string& id, WallTime now);

// What the options say of all fields but those of the inputs and the environment, which are C++
// values; null: nothing.
std::vector<std::pair<std::string_view, nlohmann::json>> fields_of(const JobOptions& job);

}  // namespace dunlin::sdk
