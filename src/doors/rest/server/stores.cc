#include "doors/rest/server/stores.h"

#include "base/digest.h"
#include "wire/token_text.h"

namespace dunlin::rest {
namespace {

constexpr size_t kIdleMax = 64;
// A token may end: what was opened with it is not used for much longer.
constexpr Millis kTokenStoreAge = std::chrono::seconds(30);

}  // namespace

Stores::Stores(Open open, std::optional<std::string> only, const Clock& clock)
    : open_(std::move(open)), only_(std::move(only)), clock_(clock) {}

Result<Stores::Lent> Stores::with_token(const std::string& token) {
  if (!only_) {
    // A store that was opened with it may still be here.
    const std::optional<TokenText> text = parse_token_text(token);
    if (text && text->has_expired(clock_.wall())) {
      return Error{Code::denied, "the token has expired: make a new one with `dunlin token`"};
    }
    return borrow(token);
  }
  if (!equal(*only_, token)) {
    return Error{Code::denied,
                 "the token does not belong to this service: use the one in its token file"};
  }
  return own();
}

Result<Stores::Lent> Stores::borrow(const std::string& token) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = idle_.find(token);
    if (found != idle_.end() && !found->second.empty()) {
      Idle idle = std::move(found->second.back());
      found->second.pop_back();
      --idle_count_;
      if (found->second.empty()) idle_.erase(found);
      if (token == own_ || clock_.now() - idle.opened < kTokenStoreAge) {
        return Lent(*this, token, std::move(idle.store), idle.opened);
      }
    }
  }
  auto store = TRY(open_(token));
  return Lent(*this, token, std::move(store), clock_.now());
}

void Stores::give_back(const std::string& token, std::unique_ptr<RequestStore> store,
                       Instant opened) {
  std::optional<Idle> old;  // Is closed after the lock is given back.
  const std::lock_guard lock(mutex_);
  if (idle_count_ >= kIdleMax) {
    const auto some = idle_.begin();
    old = std::move(some->second.front());
    some->second.pop_front();
    --idle_count_;
    if (some->second.empty()) idle_.erase(some);
  }
  idle_[token].push_back({std::move(store), opened});
  ++idle_count_;
}

}  // namespace dunlin::rest
