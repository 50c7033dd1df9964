// The stores that requests are carried out with: opened as needed, lent to one request at a time,
// and kept for the next one. From any thread.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/result.h"
#include "store/request_store.h"

namespace dunlin::rest {

class Stores {
 public:
  // Opens a store with the rights of a token.
  using Open = std::function<Result<std::unique_ptr<RequestStore>>(const std::string& token)>;

  // `only`: the one token that clients may use, if the store knows none; then all have the rights
  // of the service. The clock must outlive it.
  Stores(Open open, std::optional<std::string> only, const Clock& clock);

  // The token of the service itself. REQUIRES: nothing was borrowed yet.
  void set_own(std::string token) { own_ = std::move(token); }

  class Lent {
   public:
    Lent(Stores& owner, std::string token, std::unique_ptr<RequestStore> store, Instant opened)
        : owner_(&owner), token_(std::move(token)), store_(std::move(store)), opened_(opened) {}
    Lent(Lent&&) = default;
    Lent& operator=(Lent&&) = delete;
    ~Lent() {
      // One that an exception has interrupted may be in the middle of an answer.
      if (store_ && std::uncaught_exceptions() == 0) {
        owner_->give_back(token_, std::move(store_), opened_);
      }
    }
    Store& operator*() const { return *store_; }

   private:
    Stores* owner_;
    std::string token_;
    std::unique_ptr<RequestStore> store_;
    Instant opened_;
  };

  Result<Lent> own() { return borrow(own_); }
  // `denied` if the token is not one of this service.
  Result<Lent> with_token(const std::string& token);

 private:
  struct Idle {
    std::unique_ptr<RequestStore> store;
    Instant opened;
  };

  Result<Lent> borrow(const std::string& token);
  void give_back(const std::string& token, std::unique_ptr<RequestStore> store, Instant opened);

  const Open open_;
  const std::optional<std::string> only_;
  std::string own_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::deque<Idle>> idle_;  // By token.
  size_t idle_count_ = 0;
};

}  // namespace dunlin::rest
