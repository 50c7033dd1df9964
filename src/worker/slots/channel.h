// How a partition's program asks for its iterations: lines on a descriptor that it inherits
// (docs/ITERATIVE.md). A thread answers them while the program runs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "worker/slots/ledger_client.h"

namespace dunlin::worker {

class Channel {
 public:
  // Takes the first turn. Nothing, if there is no work left for the partition. `unwanted` is asked
  // from another thread, until close().
  static Result<std::unique_ptr<Channel>> open(LedgerClient& ledgers, PartitionAttempt who,
                                               LedgerClient::Unwanted unwanted);

  Channel(LedgerClient& ledgers, PartitionAttempt who, LedgerClient::Unwanted unwanted,
          balance::Span first);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int descriptor() const { return inner_; }  // For the program.

  // The program has ended, and well if it says so. Returns why its iterations are not done, if they
  // are not; they go to others then. A program that never asked here may have asked over HTTP: what
  // the ledger says counts.
  Result<void> close(bool well);

 private:
  Result<void> start();
  void stop();
  void serve();
  std::string answer(const std::string& line);
  std::string next();
  std::string leave(uint64_t done);
  bool ended_elsewhere();

  LedgerClient& ledgers_;
  PartitionAttempt who_;
  const LedgerClient::Unwanted unwanted_;
  std::optional<balance::Span> ready_;  // Taken, and not given to the program yet.
  bool asked_ = false;
  bool ended_ = false;  // The program was told that there is no more.
  std::string trouble_;
  int outer_ = -1;
  int inner_ = -1;
  std::thread thread_;
};

}  // namespace dunlin::worker
