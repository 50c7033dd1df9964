// What a service need not ask the store for each time. All of it may be lost at any time. From any
// thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/result.h"
#include "store/store.h"

namespace dunlin::rest {

class Memory {
 public:
  // Whether something that is done now and then is due: at most once in `every`.
  bool due(const std::string& what, Instant now, Millis every);

  // What URLs are signed with: the same for all services on the store, made by the first.
  Result<std::string> signing_key(Table& table);

 private:
  std::mutex mutex_;
  std::map<std::string, Instant> done_;
  std::optional<std::string> signing_key_;
};

}  // namespace dunlin::rest
