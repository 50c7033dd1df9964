// Keeps what a task writes to one stream: a little in memory, more in a file, the rest only
// counted. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunlin::worker {

class Capture {
 public:
  // Keeps up to `max` bytes; in `path` as soon as there are more than kOutputRowMax.
  Capture(std::string path, uint64_t max) : path_(std::move(path)), max_(max) {}
  ~Capture();  // Removes a file that nobody released.
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void add(std::string_view bytes);

  // The path of the file, which is the caller's to remove from now on; empty if there is none.
  std::string release();
  std::string& bytes() { return bytes_; }  // All of it, if there is no file.
  uint64_t kept() const { return kept_; }
  uint64_t cut() const { return cut_; }  // Over the limit, or the disk did not take it:
  const std::string& trouble() const { return trouble_; }  // why not.

 private:
  bool spool(std::string_view bytes);

  std::string path_;
  uint64_t max_;
  std::string bytes_;
  uint64_t kept_ = 0;
  uint64_t cut_ = 0;
  int file_ = -1;
  std::string trouble_;  // The disk refused: what follows would leave a hole.
};

}  // namespace dunlin::worker
