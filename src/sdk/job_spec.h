// From the options of a job, as a program gives them, to what is submitted. Pure; from any thread.
#pragma once

#include <dunlin/client.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "model/submit.h"

namespace dunlin::sdk {

// The tag by which jobs find workers that have a function. `invalid` if it cannot be a name of one.
Result<std::string> function_tag(std::string_view function);

// The part of the options that does not depend on the job's id.
Result<model::Spec> spec_of(const JobOptions& job);

// The other part: the values and the standard input, in the spec or as blobs if they are large.
Result<std::vector<NamedBlob>> add_inputs(const JobOptions& job, const std::string& id,
                                          model::Spec& spec);

}  // namespace dunlin::sdk
