// A store of three engines: rows in one, blobs in another, and messages as rows of the first, with
// a queue service of others that hints at them.
//
// The Table is the truth: a message is a row (stores/mixed/message_row.h), a lease is a change of
// that row, and a commit that writes rows, pushes and finishes is one commit of rows. So a mixed
// store promises what its Table promises, whatever the queue service loses, repeats or reorders.
// Who pulls takes what hints name; and looks through the queue's rows when there are none, when a
// lease it has seen ends, and now and then.
//
// No two clocks are compared: a lease has ended for a process that has seen the row unchanged for
// as long as the row is held, by its own steady clock (stores/mixed/lease_watch.h).
//
// A store blocks, and belongs to one thread at a time, but for stop(). MixedShared serves any
// thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/request_store.h"
#include "stores/mixed/hint_sender.h"
#include "stores/mixed/hints.h"
#include "stores/mixed/lease_watch.h"
#include "stores/mixed/message_row.h"

namespace dunlin::mixed {

// A message as this process last saw it. It may have changed since: each use compares the version.
struct SeenMessage {
  uint64_t version = 0;  // 0: there is none.
  MessageRow row;
};

// What all stores of one process on the same engines share.
class MixedShared {
 public:
  explicit MixedShared(ConnectHints connect) : sender(std::move(connect)) {}

  std::optional<SeenMessage> find(const std::string& key) const;
  void saw(const std::string& key, SeenMessage message, Instant now);
  void forget(const std::string& key);

  // How long the lease on a message still lasts for this process; zero if it can be taken. The row
  // was read, or written, before `now`.
  Millis left(const std::string& key, uint64_t version, Millis hold, Instant now);

  // When to look through the rows of the queue.
  Instant next_look(const std::string& queue) const;
  void looked(const std::string& queue, Instant next);

  // Until when the service gives no hints about the queue, as it seems. It is in doubt until it has
  // answered again: whoever asks it may wait for seconds.
  Instant deaf_until(const std::string& queue) const;
  void deaf(const std::string& queue, Instant until);
  bool in_doubt(const std::string& queue) const;
  void answered(const std::string& queue);

  HintSender sender;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, SeenMessage> held_;  // By key; those that were handed to us.
  LeaseWatch watch_;
  std::map<std::string, Instant> looks_;  // By queue.
  std::map<std::string, Instant> deaf_;   // By queue.
};

struct MixedParts {
  std::unique_ptr<RequestStore> table;  // Its commits of rows are atomic.
  std::unique_ptr<Hints> hints;
  std::unique_ptr<Blobs> blobs = nullptr;              // Else those of the next,
  std::unique_ptr<RequestStore> blob_store = nullptr;  // else of the table's store.
  std::shared_ptr<MixedShared> shared;
  size_t writes_max = kBatchMax;  // Rows in one commit of the table.
  size_t bytes_max = kBatchBytesMax;
};

class MixedStore final : public RequestStore {
 public:
  MixedStore(MixedParts parts, const Clock& clock, uint64_t seed);

  ~MixedStore() override;

  Blobs& blobs() override;
  Result<void> drop_queue(std::string_view queue) override;
  void stop() override;

 protected:
  Answer call(Request&& request) override;

 private:
  struct Candidate {
    std::string id;
    SeenMessage seen;
    std::optional<std::string> body;  // If it is known and not in the row.
  };
  using Candidates = std::vector<Candidate>;
  struct Unsettled {
    std::vector<std::string> receipts;
    Instant since;  // The first of them.
  };
  struct RowCommit;

  Answer on(Commit&& commit);
  Answer on(const Pull& pull);
  Answer pull_now(const Pull& pull);
  Answer on(const Renew& renew);
  Answer on(const AskDepth& ask);
  Answer info_of_all();
  void count(const Row& row, const MessageRow& message, Depth& depth);
  Result<void> count_blobs(Info& info);

  // Commits (mixed_commit.cc).
  Result<RowCommit> rows_for(const Commit& commit, bool afresh);
  Answer commit_halves(Commit&& commit);
  MessageRow kept(MessageRow row, const Keep& keep) const;

  Result<std::vector<Delivery>> take_hinted(const Pull& pull, Millis wait);
  void settle(const std::string& queue, std::vector<std::string>&& receipts);
  Result<std::vector<Delivery>> look(const Pull& pull, size_t bytes);
  Result<std::vector<Delivery>> take(const Pull& pull, Candidates&& candidates, size_t bytes);
  Result<bool> lease(const Pull& pull, Candidates& candidates);
  Result<void> keep_ready(const std::string& queue, Candidates& candidates) const;
  Result<std::vector<Delivery>> deliver(const Pull& pull, Candidates&& taken) const;
  Result<void> renew_some(const Renew& renew, std::span<const Lease> leases, Lost& lost);

  Result<std::vector<SeenMessage>> recall(const std::vector<std::string>& keys);
  Result<std::vector<SeenMessage>> read_messages(const std::vector<std::string>& keys) const;
  template <typename Each>
  Result<void> each_message(const std::string& prefix, const Each& each);
  static Error damaged(std::string_view key);
  Result<uint64_t> write_rows(std::vector<Write> writes, uint64_t nonce = 0);
  HintSender::Posted hint_at(const std::string& queue, const std::string& id,
                             const SeenMessage& message, const std::string* body) const;

  const Clock& clock_;
  MixedParts parts_;
  Random random_;
  std::map<std::string, Unsettled> unsettled_;  // By queue.
  std::atomic<bool> stopped_ = false;
};

}  // namespace dunlin::mixed
