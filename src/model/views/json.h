// Records as the JSON objects that scripts read: one form for the command line and for the REST
// service. Within version 1 names keep their meaning and none goes away; new ones may come.
//
// Pure, except that result_json() may read outputs: it blocks as the store does, one thread at a
// time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/progress.h"
#include "model/jobs/results.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// An object with the version of our JSON in front.
nlohmann::ordered_json json_object();

// Under `name`, or in base64 under `name`_base64 if they are not UTF-8.
void add_bytes(nlohmann::ordered_json& object, const std::string& name, std::string_view bytes);

// On one line, without its end. What is not UTF-8 is replaced: file names in messages may be any
// bytes, and that is better than refusing to speak.
std::string json_text(const nlohmann::ordered_json& object);

nlohmann::ordered_json submitted_json(const Submitted& submitted, const model::Spec& spec);
nlohmann::ordered_json job_json(const model::Job& job, const Standing& standing,
                                const Counts& counts);
nlohmann::ordered_json progress_json(const Progress& progress);
// `before`: how the job had ended before it was cancelled.
nlohmann::ordered_json cancelled_json(const std::string& job,
                                      const std::optional<Standing>& before);
nlohmann::ordered_json retried_json(const model::Job& job, const Retried& retried);

// Reads outputs that are short enough for a line and not in the outcome itself.
Result<nlohmann::ordered_json> result_json(Store& store, const model::Job& job,
                                           const TaskResult& result);
// Of a task without an outcome; `state` says why.
nlohmann::ordered_json missing_json(const std::string& job, uint64_t task, std::string_view state);

nlohmann::ordered_json worker_json(const model::WorkerInfo& worker, WallTime now);
nlohmann::ordered_json blob_json(const BlobInfo& blob);
nlohmann::ordered_json depth_json(std::string_view queue, const Depth& depth);

}  // namespace dunlin
