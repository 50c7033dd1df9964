// The table of job fields: every field that a description of a job may have, with its help, what it
// must be, its JSON Schema, and how it is set in a draft and read back from a stored job. The
// command line, job files, the REST service, the SDK and `dunlin run` feed this table, and their
// help, the table in docs/JOBS.md and the OpenAPI document are made from it. A new field is a row
// here, plus whatever does it. Constant; from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/records.pb.h"
#include "spec/draft.h"

namespace dunlin::spec {

// How a word of a command line becomes a value.
enum class Shape : uint8_t {
  text,
  number,     // Anything that is no number stays a text, for the field to refuse.
  flag,       // An option without a value.
  list,       // The option may be repeated.
  variables,  // NAME=VALUE, or NAME for ours; may be repeated.
  folder,     // Also relative to the current one.
  contents,   // The name of a file whose contents are the value.
};

struct FieldAccess {
  // Fails without words if the value is not what the field expects.
  Result<void> (*set)(const nlohmann::json& value, JobDraft& draft) = nullptr;
  // Null if the job does not say, or if it is not in the job itself but in a blob. What it returns
  // may be set again.
  nlohmann::json (*get)(const model::Job& job) = nullptr;
};

// Entrances as bits.
inline constexpr uint8_t kAtSubmission = 15;  // All that submit jobs to a store.
inline constexpr uint8_t kEverywhere = 31;    // And dunlin run.
inline constexpr uint8_t kIfWritten = 14;     // A command line has a command and words instead.
inline constexpr uint8_t kWithFiles = 19;     // Where the submitter's files are.
inline constexpr uint8_t kInSdk = 8;

struct JobField {
  std::string_view name;
  Shape shape = Shape::text;
  uint8_t entrances = kAtSubmission;
  std::string_view word = {};      // What --help calls its value.
  std::string_view help = {};      // Can be understood without the name.
  std::string_view typed = {};     // What else there is to say of it on a command line.
  std::string_view expected = {};  // "must be ..."
  std::string_view schema = {};    // JSON Schema of its value, if the REST service has the field.
  FieldAccess access = {};

  bool is_at(Entrance entrance) const { return (entrances & static_cast<uint8_t>(entrance)) != 0; }
};

// In a stored job that is shown: the fields that are not (spec/read_back.h).
inline constexpr std::string_view kNotShown = "not_shown";

// In the order in which people should read them.
std::span<const JobField> job_fields();

// The field of this name, or of this old name if the entrance once had it; none if there is none.
const JobField* find_field(std::string_view name, Entrance entrance);

// Names that an entrance had before all had the same. They are accepted for one release.
struct OldName {
  std::string_view old;
  std::string_view name;
  Entrance entrance;
};
std::span<const OldName> old_names();

// The rows, by subject; for fields.cc.
std::span<const JobField> input_fields();
std::span<const JobField> attempt_fields();
std::span<const JobField> queue_fields();

}  // namespace dunlin::spec
