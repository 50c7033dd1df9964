// A job as a client of the REST service describes it: the names that a JSON object may have, what
// each expects, and the job that they make. Pure but for the id, which the caller chooses.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "model/submit.h"

namespace dunlin::rest {

struct JobDraft {
  model::Spec spec = {};
  SubmitOptions options = {};
  bool by_slots = false;  // As many partitions as there are slots.
};

// `invalid` names what is wrong or unknown. All is checked that can be without the store.
Result<JobDraft> draft_job(const nlohmann::json& body, std::string id, WallTime now);

// JSON Schema of such an object, made from the same table.
const std::string& job_schema();

}  // namespace dunlin::rest
