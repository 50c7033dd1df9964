// A job as a client of the REST service describes it, from the fields of a JSON object
// (spec/fields.h) to what is submitted. Pure but for the id, which the caller chooses; from any
// thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/submit.h"
#include "model/records.pb.h"

namespace dunlin::rest {

struct Submission {
  model::Spec spec = {};
  SubmitOptions options = {};
  bool by_slots = false;  // As many partitions as there are slots.
};

// `invalid` names what is wrong or unknown. All is checked that can be without the store.
Result<Submission> read_submission(const nlohmann::json& body, std::string id, WallTime now);

}  // namespace dunlin::rest
