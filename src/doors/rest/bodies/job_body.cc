#include "doors/rest/bodies/job_body.h"

#include <nlohmann/json.hpp>

#include "model/keys.h"
#include "spec/draft.h"

namespace dunlin::rest {
namespace {

constexpr std::string_view kOwner = "api";  // Who says nothing else.

}  // namespace

Result<Submission> read_submission(const nlohmann::json& body, std::string id, WallTime now) {
  spec::JobDraft draft = spec::draft_from(spec::Entrance::rest, now);
  draft.spec.set_owner(std::string(kOwner));
  for (const auto& [name, value] : body.items()) TRY(spec::set_field(name, value, draft));
  spec::ReadyJob job = TRY(spec::finish_job(std::move(draft), input_blob_name(id, "")));
  Submission submission{.spec = std::move(job.spec), .by_slots = job.by_slots};
  submission.options.id = std::move(id);
  submission.options.key = std::move(job.key);
  for (sources::Gathered::Blob& blob : job.blobs) {
    submission.options.blobs.push_back(blob_of_bytes(std::move(blob.name), std::move(blob.bytes)));
  }
  for (std::string& other : job.after) submission.spec.add_after(std::move(other));
  submission.spec.set_created_us(to_us(now));
  TRY(spec::check_job(submission.spec, spec::Entrance::rest));
  return submission;
}

}  // namespace dunlin::rest
