// A stored job as the fields that describe it: what `dunlin status --json` and the REST service
// show. Set again, they describe the same job. Fields whose value cannot stand there (long values
// and a long standard input, values of several sources, bytes that are not text) are left out and
// named in `not_shown`, which no entrance takes: nobody submits half a job by accident. Pure; from
// any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/records.pb.h"

namespace dunlin::spec {

nlohmann::ordered_json spec_json(const model::Job& job);

}  // namespace dunlin::spec
