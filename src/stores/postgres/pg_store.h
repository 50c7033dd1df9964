// A store in a PostgreSQL database: all three primitives in one schema, a commit in one
// transaction, one trip each. A waiting pull listens for the queue's bell. Blocks; one thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "store/request_store.h"
#include "stores/postgres/link.h"

namespace dunlin::postgres {

// One try of each request. REQUIRES: validate(request).ok()
class PgEngine {
 public:
  PgEngine(PgAddress address, const Clock& clock) : link_(std::move(address), clock) {}

  // A pull does not wait.
  Answer handle(const Request& request, Instant deadline);

  // Until then a bell will be rung if something comes, but for a lease that ends at the time that
  // is returned.
  Result<std::optional<Millis>> watch(const std::string& queue, Instant deadline);
  // Whether a queue that is watched may have something.
  Result<bool> rang(const std::string& queue);

  PgLink& link() { return link_; }

 private:
  Answer on(const Commit& commit, Instant deadline);
  Answer on(const Pull& pull, Instant deadline);
  Answer on(const Renew& renew, Instant deadline);
  Answer on(const AskDepth& ask, Instant deadline);
  Answer on(const Get& get, Instant deadline);
  Answer on(const Scan& scan, Instant deadline);
  Answer on(const BlobPart& part, Instant deadline);
  Answer on(const BlobEnd& end, Instant deadline);
  Answer on(const BlobGet& get, Instant deadline);
  Answer on(const BlobErase& erase, Instant deadline);
  Answer on(const BlobList& list, Instant deadline);
  Answer on(const AskInfo& ask, Instant deadline);
  Answer on(const EraseAll& erase, Instant deadline);

  PgLink link_;
  std::map<std::string, std::string> bells_;  // By queue.
  std::set<std::string> rung_;
};

struct PgOptions {
  Millis deadline = Millis(30'000);  // Of a request, reconnections and failovers included.
  Millis connect_wait = Millis(10'000);
};

class PgStore final : public RequestStore {
 public:
  PgStore(PgAddress address, const PgOptions& options, const Clock& clock);

 protected:
  Answer call(Request&& request) override;

 private:
  Answer pull(const Pull& pull);

  const Clock& clock_;
  const PgOptions options_;
  PgEngine engine_;
};

// Repeats what gave way or got lost, until the deadline.
Answer insist(PgEngine& engine, const Request& request, Instant deadline, const Clock& clock);

// Connects, and checks that the schema is there.
Result<std::unique_ptr<PgStore>> open_postgres(const std::string& url, const PgOptions& options,
                                               const Clock& clock);

}  // namespace dunlin::postgres
