// A job while it is being described: fields are set one after the other, by whatever entrance they
// come through, and finish_job() makes of them what is submitted. Every entrance goes this way, so
// that a field means the same, has the same bounds and is refused with the same words everywhere.
//
// Promises: a field that is refused is named as the user wrote it (--retry-on, retry_on), and no
// field is taken twice. Pure, but for files that a description names and for the folder that it is
// submitted from. Any thread; one draft by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/iterations/iterations.h"
#include "model/keys.h"
#include "model/records.pb.h"
#include "sources/array.h"
#include "sources/sources.h"

namespace dunlin::spec {

inline constexpr size_t kVariablesMax = 1000;       // Of the environment of a task.
inline constexpr size_t kStdinInlineMax = 2 << 10;  // Bytes in the job itself; more are a blob.

// Where descriptions come from.
enum class Entrance : uint8_t {
  command_line = 1,  // dunlin submit
  job_file = 2,      // TOML
  rest = 4,          // POST /jobs
  sdk = 8,           // dunlin::sdk::JobOptions
  run = 16,          // dunlin run, whose store is its own
};

// A job as far as it is described. What a program has as C++ values it may put here directly.
struct JobDraft {
  Entrance entrance = Entrance::command_line;
  WallTime now = {};        // From which deadlines count.
  std::string folder = {};  // Of the files that it names; empty, or with a slash at the end.
  // The folder that it is submitted from, where its tasks run if it does not say; none: a fresh
  // one for each.
  std::optional<std::string> here = {};

  model::Spec spec = {};  // But for the inputs, the standard input, and `after`.
  std::string key = {};
  std::vector<std::string> after = {};
  sources::SourceOptions options = {};
  std::vector<sources::SourceText> sources = {};
  std::optional<sources::NumberList> numbers = {};  // An array that is not a text.
  std::string stdin_bytes = {};
  IterationOptions iterations = {};
  // The fields that were set, and how they were written: perhaps by an old name.
  std::map<std::string_view, std::string> said = {};

  bool has(std::string_view field) const { return said.contains(field); }
  void add_variable(std::string_view name, std::string_view value);
};

JobDraft draft_from(Entrance entrance, WallTime now);

// As a user of the entrance writes the field: "--retry-on", "retry_on".
std::string as_written(std::string_view field, Entrance entrance);

// `invalid` says what is expected, or which field is meant if there is none with this name.
Result<void> set_field(std::string_view name, const nlohmann::json& value, JobDraft& draft);

struct ReadyJob {
  model::Spec spec = {};  // But for `after` and, unless it was said, the owner.
  std::string key = {};
  std::vector<std::string> after = {};
  std::vector<sources::Gathered::Blob> blobs = {};  // To be stored before the job is submitted.
  bool by_slots = false;                            // As many partitions as there are slots.
};

// Reads the inputs and checks what can be said only when all fields are known. Blobs are called
// `blob_prefix` and a number, or `stdin`.
Result<ReadyJob> finish_job(JobDraft draft, const std::string& blob_prefix);

// All that can be checked without the store, of a spec that is complete.
Result<void> check_job(const model::Spec& spec, Entrance entrance);

}  // namespace dunlin::spec
