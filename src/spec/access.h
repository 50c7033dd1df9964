// What fields of the usual kinds share: their schemas, and how they are set and read back, each
// made from the two functions of the record. Pure; from any thread. Only for the rows of spec/.
#pragma once

#include "spec/fields.h"
#include "spec/values.h"

namespace dunlin::spec {

inline constexpr std::string_view kDurationSchema =
    R"({"type":"string","pattern":"^(0|[0-9]+(ms|s|m|h|d))$","maxLength":20,
        "examples":["90s","500ms"]})";
inline constexpr std::string_view kSizeSchema =
    R"({"type":["integer","string"],"minimum":0,"maximum":9007199254740991,"maxLength":20,
        "examples":["4G",1048576]})";

// Null for what is as if it was not said.
template <typename T>
Json unless_empty(const T& value) {
  return value == T() ? Json() : Json(value);
}

template <auto Set, auto Get>
inline constexpr FieldAccess kDurationAccess = {
    .set = [](const Json& value, JobDraft& draft) -> Result<void> {
      (draft.spec.*Set)(TRY(milliseconds_of(value)));
      return {};
    },
    .get = [](const model::Job& job) -> Json {
      const uint64_t milliseconds = (job.spec().*Get)();
      return milliseconds == 0 ? Json() : Json(duration_text(milliseconds));
    }};

template <auto Set, auto Get>
inline constexpr FieldAccess kSizeAccess = {
    .set = [](const Json& value, JobDraft& draft) -> Result<void> {
      (draft.spec.*Set)(TRY(size_of(value)));
      return {};
    },
    .get = [](const model::Job& job) { return unless_empty((job.spec().*Get)()); }};

// Of what a job requires of workers.
template <auto Set, auto Get, uint64_t Least, uint64_t Most>
inline constexpr FieldAccess kNeedAccess = {
    .set = [](const Json& value, JobDraft& draft) -> Result<void> {
      (draft.spec.mutable_requires_()->*Set)(TRY(small_number_of(value, Least, Most)));
      return {};
    },
    .get = [](const model::Job& job) { return unless_empty((job.spec().requires_().*Get)()); }};

}  // namespace dunlin::spec
