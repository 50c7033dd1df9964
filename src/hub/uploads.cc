#include "hub/uploads.h"

namespace dunlin::hub {

size_t Uploads::size(Owner owner) const {
  const auto found = owned_.find(owner);
  return found == owned_.end() ? 0 : found->second.size();
}

size_t Uploads::size_of(const std::function<bool(Owner)>& is_one) const {
  size_t size = 0;
  for (const auto& [owner, owned] : owned_) size += is_one(owner) ? owned.size() : 0;
  return size;
}

void Uploads::note(uint64_t upload, std::optional<Owner> owner, Instant deadline) {
  ended(upload);
  uploads_[upload] = {.owner = owner, .deadline = deadline};
  deadlines_.insert({deadline, upload});
  if (owner) {
    owned_[*owner].insert(upload);
  } else {
    left_.insert({deadline, upload});
  }
}

void Uploads::went_on(uint64_t upload, Owner owner, Instant now) {
  note(upload, owner, now + kUploadIdle);
}

void Uploads::ended(uint64_t upload) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  deadlines_.erase({found->second.deadline, upload});
  left_.erase({found->second.deadline, upload});
  if (const auto owner = found->second.owner) {
    const auto owned = owned_.find(*owner);
    owned->second.erase(upload);
    if (owned->second.empty()) owned_.erase(owned);
  }
  uploads_.erase(found);
}

void Uploads::left(Owner owner, Instant now) {
  const auto found = owned_.find(owner);
  if (found == owned_.end()) return;
  const absl::btree_set<uint64_t> owned = found->second;
  for (const uint64_t upload : owned) note(upload, std::nullopt, now + kUploadLeft);
}

std::vector<uint64_t> Uploads::take_overdue(Instant now) {
  std::vector<uint64_t> overdue;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    overdue.push_back(deadlines_.begin()->second);
    ended(overdue.back());
  }
  return overdue;
}

std::optional<uint64_t> Uploads::take_left() {
  if (left_.empty()) return {};
  const uint64_t upload = left_.begin()->second;
  ended(upload);
  return upload;
}

std::optional<Instant> Uploads::next_overdue() const {
  if (deadlines_.empty()) return {};
  return deadlines_.begin()->first;
}

}  // namespace dunlin::hub
