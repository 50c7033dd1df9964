// One of our standard streams, as `dunlin run` writes to it: every write is checked, and it is
// known how much of it is out of our hands. One thread, but for sync().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin::run {

class Outlet {
 public:
  // `name` is for errors. While a write waits for a reader, a byte in `signals` ends it; -1: none.
  // REQUIRES: SIGPIPE is blocked or ignored.
  Outlet(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  void watch(int signals) { signals_ = signals; }

  // Takes all of it; some may wait in memory until flush(). After a failure nothing more is
  // written.
  Result<void> write(std::string_view bytes);
  Result<void> flush();

  uint64_t given() const { return written_ + buffer_.size(); }  // Bytes, to write().
  uint64_t written() const { return written_; }  // How many of them the file or the pipe has,
  // and how many the file has, or the pipe's reader has taken out.
  uint64_t taken() const;

  bool reader_gone() const;                          // Nobody will read what is in the pipe.
  bool broken_pipe() const { return reader_gone_; }  // A write has failed for that reason.
  bool interrupted() const { return interrupted_; }

  // Waits until a file's bytes are durable; nothing for others. From any thread.
  Result<void> sync() const;

 private:
  Result<void> write_now(std::string_view bytes);
  Result<void> wait_for_room();
  Error failed(int number);

  const int descriptor_;
  const std::string name_;
  int signals_ = -1;
  std::string buffer_;
  uint64_t written_ = 0;
  bool broken_ = false;
  bool reader_gone_ = false;
  bool interrupted_ = false;
};

}  // namespace dunlin::run
