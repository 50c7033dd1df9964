// A stored job as the fields that describe it: what `dunlin status --json` and the REST service
// show. Set again, they describe the same job, but for values and a standard input that are too
// long to stand in the job itself: these are not shown. Pure; from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/records.pb.h"

namespace dunlin::spec {

nlohmann::ordered_json spec_json(const model::Job& job);

}  // namespace dunlin::spec
