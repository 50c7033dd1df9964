#include "rest/memory.h"

#include "tascaas/signing.h"

namespace dunlin::rest {
namespace {

constexpr size_t kThingsMax = 10'000;

}  // namespace

bool Memory::due(const std::string& what, Instant now, Millis every) {
  const std::lock_guard lock(mutex_);
  if (done_.size() > kThingsMax) done_.clear();
  const auto [at, fresh] = done_.try_emplace(what, now);
  if (!fresh && now - at->second < every) return false;
  at->second = now;
  return true;
}

Result<std::string> Memory::signing_key(Table& table) {
  {
    const std::lock_guard lock(mutex_);
    if (signing_key_) return *signing_key_;
  }
  const std::string key = TRY(tascaas::signing_key(table));
  const std::lock_guard lock(mutex_);
  signing_key_ = key;
  return key;
}

}  // namespace dunlin::rest
