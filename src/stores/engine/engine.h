// The embedded durable engine: a Core whose state is a log on a disk (stores/engine/log.h) and an
// index in memory (stores/engine/index.h). Keys and leases are in memory, values stay in the log.
//
// Acknowledged means durable: commit() is one write and one sync for everything since the last one.
// A failed commit is undone in the index; reading never stops, and writing is tried again after a
// pause. One thread at a time (file_store.h is for many).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/request.h"
#include "stores/engine/blob_files.h"
#include "stores/engine/index.h"
#include "stores/engine/log.h"

namespace dunlin::engine {

class Engine final : public Core {
 public:
  // Opens the store in `folder`, or makes one. `denied` if another process has it, `corrupt` with
  // file and offset if it is damaged. `disk` must outlive the engine.
  static Result<std::unique_ptr<Engine>> open(Disk& disk, const std::string& folder, Instant now,
                                              LogOptions options = {});

  Engine(Disk& disk, std::string folder);  // Use open().
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Answer handle(Request&& request, Instant now) override;
  Result<void> commit(Instant now) override;
  std::vector<std::string> expire(Instant now) override;
  std::optional<Instant> next_expiry() const override;

  // commit() in three steps, for a caller that lets others in while the disk works: begin_commit(),
  // Log::write() of what it returned, end_commit() with the result.
  bool staged() const { return log_->staged(); }
  const Log::Batch& begin_commit();
  Result<void> end_commit(Result<void> written, Instant now);
  bool segment_is_full() const { return log_->segment_is_full(); }

  // For tests and people who look inside.
  const Index& index() const { return *index_; }
  uint64_t disk_bytes() const { return log_->disk_bytes(); }

 private:
  Answer on(Commit&& request, Instant now);
  Answer on(Pull&& request, Instant now);
  Answer on(Renew&& request, Instant now);
  Answer on(AskDepth&& request, Instant now);
  Answer on(Get&& request, Instant now);
  Answer on(Scan&& request, Instant now);
  Answer on(BlobPart&& request, Instant now);
  Answer on(BlobEnd&& request, Instant now);
  Answer on(BlobGet&& request, Instant now);
  Answer on(BlobErase&& request, Instant now);
  Answer on(BlobList&& request, Instant now);
  Answer on(AskInfo&& request, Instant now);
  Answer on(EraseAll&& request, Instant now);

  Result<void> writable(Instant now);
  Result<std::optional<uint64_t>> already_committed(const Commit& request);
  Result<void> check(const Write& write);
  struct Stamp {  // Of a commit.
    uint64_t version = 0;
    uint64_t nonce = 0;
    Instant now;
  };
  void apply(const Put& put, const Stamp& stamp);
  void apply(const Erase& erase, const Stamp& stamp);
  void apply(const Push& push, const Stamp& stamp);
  void apply(const Finish& finish, const Stamp& stamp);
  void apply(const Keep& keep, const Stamp& stamp);

  void undo_staged();
  void give_back_ended(Instant now);

  std::vector<Item*> pick(const QueueState& queue, size_t max) const;

  // Copies what is still needed out of the oldest segment, a part at a time, so that disk use stays
  // in proportion to live data.
  void clean(size_t bytes_written);
  void move_live(const Record& record, Position at);
  void drop_dead_segments();

  Disk& disk_;
  const std::string folder_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Index> index_;
  BlobFiles blobs_;
  uint64_t stamp_ = 0;  // The last version, message number, token or file number that was given.
  size_t flying_ = 0;   // Of the index's changes, those in the batch that is being written.
  std::vector<uint64_t> erased_blobs_;  // Their files go when the erasure is durable.
  // Named since a commit left nothing staged; if that is undone their files are void, and go when
  // the next batch is durable, which makes the failed one so.
  std::vector<std::pair<std::string, uint64_t>> named_blobs_;
  std::vector<uint64_t> void_blobs_;
  std::vector<std::string> woken_;  // Queues with messages given back since the last expire().
  uint64_t clean_segment_ = 0;
  uint64_t clean_offset_ = 0;
  Instant quiet_until_ = Instant::min();  // After a failure: nothing is written before.
  std::string last_failure_;
};

}  // namespace dunlin::engine
