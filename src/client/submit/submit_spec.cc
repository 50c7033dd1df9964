// The values of a task before its job is stored: what --dry-run shows.
#include "base/check.h"
#include "client/submit/submit_verb.h"
#include "model/jobs/inputs.h"
#include "model/tasks/expand.h"

namespace dunlin::client {
namespace {

// What stands in a source that is not stored yet.
Result<std::string> value_at(const model::Source& source, std::string_view blob, uint64_t index) {
  std::string_view bytes = source.inline_();
  const uint64_t group = index / kValuesPerIndex;
  uint64_t first = 0;
  if (!source.blob().empty()) {
    const Slice offsets = index_slice(source, group);
    const Slice slice = TRY(group_slice(source, group, blob.substr(offsets.offset, offsets.size)));
    bytes = blob.substr(slice.offset, slice.size);
    first = group * kValuesPerIndex;
  }
  const std::vector<std::string> values = TRY(read_values(bytes));
  CHECK(index - first < values.size());
  return values[index - first];
}

}  // namespace

Result<std::vector<std::string>> values_of(const sources::Gathered& gathered, uint64_t task) {
  std::vector<std::string> values;
  const std::vector<uint64_t> indices = source_indices(gathered.inputs, task);
  for (size_t i = 0; i < indices.size(); ++i) {
    const model::Source& source = gathered.inputs.sources(static_cast<int>(i));
    std::string_view blob;
    for (const sources::Gathered::Blob& one : gathered.blobs) {
      if (one.name == source.blob()) blob = one.bytes;
    }
    values.push_back(TRY(value_at(source, blob, indices[i])));
  }
  return values;
}

}  // namespace dunlin::client
