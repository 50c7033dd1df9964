#include "model/jobs/inputs.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "model/keys.h"

namespace dunlin {
namespace {

constexpr uint64_t kGroupBytesMax = kValuesPerIndex * (kInputValueMax + 8);  // With their sizes.

uint64_t groups_of(const model::Source& source) {
  return (source.count() + kValuesPerIndex - 1) / kValuesPerIndex;
}

}  // namespace

Result<void> SourceWriter::add(std::string_view value) {
  if (value.size() > kInputValueMax) {
    return Error{Code::invalid, fmt::format("value {} has {} bytes, more than the limit of {}: put "
                                            "it into a file and give the file's name",
                                            count_ + 1, value.size(), kInputValueMax)};
  }
  if (count_ == kTasksMax) {
    return Error{
        Code::invalid,
        fmt::format("the job has more than {} values: split it into several jobs", kTasksMax)};
  }
  if (bytes_.size() + value.size() > kSourceBytesMax) {
    return Error{Code::invalid, fmt::format("the first {} values have {} bytes, which exceeds the "
                                            "limit: split the job into several",
                                            count_, kSourceBytesMax)};
  }
  if (count_ % kValuesPerIndex == 0) offsets_.push_back(bytes_.size());
  append_sized(bytes_, value);
  ++count_;
  return {};
}

SourceWriter::Finished SourceWriter::finish(std::string blob_name, bool linked) && {
  Finished finished;
  finished.source.set_count(count_);
  finished.source.set_linked(linked);
  if (bytes_.size() <= kInlineMax) {
    finished.source.set_inline_(std::move(bytes_));
    return finished;
  }
  finished.source.set_blob(std::move(blob_name));
  finished.source.set_blob_bytes(bytes_.size());
  finished.blob = std::move(bytes_);
  for (const uint64_t offset : offsets_) append_fixed(finished.blob, offset);
  return finished;
}

Result<std::vector<std::string>> read_values(std::string_view bytes) {
  std::vector<std::string> values;
  ByteReader reader(bytes);
  while (!reader.empty()) {
    const std::string_view value = reader.sized();
    if (!reader.ok()) {
      return Error{Code::corrupt,
                   fmt::format("stored input values are cut off after value {}", values.size())};
    }
    values.emplace_back(value);
  }
  return values;
}

Slice index_slice(const model::Source& source, uint64_t group) {
  const uint64_t offsets = group + 1 < groups_of(source) ? 2 : 1;
  return {source.blob_bytes() + group * sizeof(uint64_t), offsets * sizeof(uint64_t)};
}

Result<Slice> group_slice(const model::Source& source, uint64_t group, std::string_view index) {
  ByteReader reader(index);
  const auto begin = reader.fixed<uint64_t>();
  const bool last = group + 1 >= groups_of(source);
  const uint64_t end = last ? source.blob_bytes() : reader.fixed<uint64_t>();
  if (!reader.ok() || !reader.empty() || begin > end || end > source.blob_bytes() ||
      end - begin > kGroupBytesMax) {
    return Error{Code::corrupt, fmt::format("the index of input blob {} is wrong at value {}",
                                            source.blob(), group * kValuesPerIndex)};
  }
  return Slice{begin, end - begin};
}

}  // namespace dunlin
