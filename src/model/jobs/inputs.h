// The lists of values from which a job's tasks take their inputs, as they are stored. Pure; from
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"

namespace dunlin {

inline constexpr size_t kInlineMax = 2 << 10;        // Bytes of values inside the job itself.
inline constexpr uint64_t kValuesPerIndex = 256;     // Values between two offsets of the index.
inline constexpr size_t kInputValueMax = 128 << 10;  // Bytes of one value.
inline constexpr size_t kSourceBytesMax = 1 << 30;   // Of all its values.

// Builds a source value by value.
class SourceWriter {
 public:
  Result<void> add(std::string_view value);  // `invalid` if it is too long, or there are too many.

  // A small list ends up inside the source and leaves `blob` empty; else `blob` is what must be
  // stored under `blob_name` before the job is submitted.
  struct Finished {
    model::Source source;
    std::string blob;
  };
  Finished finish(std::string blob_name, bool linked) &&;

 private:
  std::string bytes_;
  std::vector<uint64_t> offsets_;  // Of every kValuesPerIndex-th value.
  uint64_t count_ = 0;
};

// Values that stand one after the other. `corrupt` if the bytes are not that.
Result<std::vector<std::string>> read_values(std::string_view bytes);

// How to read a value from a source's blob: first the two offsets of its group, then the group.
struct Slice {
  uint64_t offset = 0;
  uint64_t size = 0;
};
Slice index_slice(const model::Source& source, uint64_t group);
// `index` is what index_slice() held; `corrupt` if it cannot be. The group's values are
// group * kValuesPerIndex and following.
Result<Slice> group_slice(const model::Source& source, uint64_t group, std::string_view index);

}  // namespace dunlin
