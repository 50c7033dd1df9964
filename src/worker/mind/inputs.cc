#include "worker/mind/inputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "model/tasks/expand.h"

namespace dunlin::worker {
namespace {

constexpr size_t kGroupsMax = 64;  // That are kept, of each job.

}  // namespace

bool JobInputs::are_there(JobView& job, uint64_t task, std::vector<std::string>& values) {
  values.clear();
  const model::Inputs& inputs = job.spec().inputs();
  if (inputs.sources().empty()) return true;
  const std::vector<uint64_t> indices = source_indices(inputs, task);
  for (size_t source = 0; source < indices.size(); ++source) {
    const uint64_t index = indices[source];
    const bool is_inside = inputs.sources(static_cast<int>(source)).blob().empty();
    const std::vector<std::string>* list = &job.values[source];
    if (!is_inside) {
      const uint64_t group = index / kValuesPerIndex;
      const auto found = job.groups.find({source, group});
      if (found == job.groups.end()) {
        read_group(job, source, group);
        return false;
      }
      list = &found->second;
    }
    const uint64_t at = is_inside ? index : index % kValuesPerIndex;
    if (at >= list->size()) {
      job.trouble = fmt::format("the inputs of job {} are damaged", job.id);
      return false;
    }
    values.push_back((*list)[at]);
  }
  return true;
}

void JobInputs::read_group(JobView& job, size_t source, uint64_t group) {
  if (!job.groups_asked.insert({source, group}).second) return;
  const model::Source& from = job.spec().inputs().sources(static_cast<int>(source));
  const Slice index = index_slice(from, group);
  asks_.ask(BlobGet{from.blob(), index.offset, index.size},
            [this, pin = Pin(job), &from, source, group](Answer&& answer) {
              const auto* error = std::get_if<Error>(&answer);
              if (error != nullptr) return group_read(*pin, source, group, *error);
              const auto* bytes = std::get_if<Bytes>(&answer);
              const auto slice = bytes == nullptr ? Result<Slice>(Error{Code::corrupt, "no bytes"})
                                                  : group_slice(from, group, bytes->bytes);
              if (!slice.ok()) return group_read(*pin, source, group, slice.error());
              read_slice(pin, from.blob(), slice.value(), "",
                         [this, pin, source, group](Result<std::string>&& values) {
                           group_read(*pin, source, group, values);
                         });
            });
}

void JobInputs::group_read(JobView& job, size_t source, uint64_t group,
                           const Result<std::string>& bytes) {
  const auto failed = [&](const Error& error) {
    job.trouble = fmt::format("the inputs of job {} cannot be read: {}", job.id, error.what);
  };
  if (!bytes.ok()) return failed(bytes.error());
  auto values = read_values(bytes.value());
  if (!values.ok()) return failed(values.error());
  if (job.groups.size() >= kGroupsMax) {
    job.groups.clear();
    job.groups_asked.clear();
  }
  job.groups_asked.insert({source, group});
  job.groups[{source, group}] = std::move(values).value();
}

// A slice may be longer than one answer.
void JobInputs::read_slice(Pin job, const std::string& blob, Slice slice, std::string so_far,
                           Then then) {
  if (slice.size == 0) return then(std::move(so_far));
  BlobGet part{blob, slice.offset, std::min<uint64_t>(slice.size, kBlobPart)};
  asks_.ask(std::move(part), [this, job, blob, slice, so_far = std::move(so_far),
                              then = std::move(then)](Answer&& answer) mutable {
    if (const auto* error = std::get_if<Error>(&answer)) return then(*error);
    const std::string& bytes = std::get<Bytes>(answer).bytes;
    if (bytes.empty()) return then(Error{Code::corrupt, "blob " + blob + " is too short"});
    so_far += bytes;
    read_slice(job, blob, {slice.offset + bytes.size(), slice.size - bytes.size()},
               std::move(so_far), std::move(then));
  });
}

bool JobInputs::stdin_is_there(JobView& job) {
  const std::string& blob = job.spec().stdin_blob();
  if (blob.empty() || job.stdin_there) return true;
  if (job.stdin_asked) return false;
  job.stdin_asked = true;
  asks_.ask(BlobList{blob, "", 1}, [this, pin = Pin(job), blob](Answer&& answer) {
    const auto* names = std::get_if<BlobNames>(&answer);
    if (names == nullptr || names->blobs.empty() || names->blobs[0].name != blob ||
        names->blobs[0].size > kStdinMax) {
      pin->trouble = fmt::format("the stdin of job {} cannot be read", pin->id);
      pin->stdin_there = true;
      return;
    }
    read_slice(pin, blob, {0, names->blobs[0].size}, "", [pin](Result<std::string>&& bytes) {
      if (!bytes.ok()) pin->trouble = bytes.error().what;
      if (bytes.ok()) pin->text->stdin_bytes = std::move(bytes).value();
      pin->stdin_there = true;
    });
  });
  return false;
}

}  // namespace dunlin::worker
