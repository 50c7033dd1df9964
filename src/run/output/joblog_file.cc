#include "run/output/joblog_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "run/output/joblog.h"

namespace dunlin::run {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr size_t kNumberMax = 20;     // Digits.
constexpr size_t kLineMax = 4 << 20;  // A longer one is not ours.

// Which task a line, or the beginning of one, is about; none if that cannot be said.
constexpr uint64_t kNoTask = UINT64_MAX;
uint64_t task_of(std::string_view line) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const bool whole = error == std::errc() && end < line.data() + line.size() && *end == '\t';
  return whole && number > 0 ? number - 1 : kNoTask;
}

}  // namespace

JoblogFile::~JoblogFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> JoblogFile::open(const std::string& path) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  // A pipe or a device cannot always be read, and has nothing to recover.
  if (descriptor_ < 0) descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) {
    return Error{Code::invalid, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  }
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  if (size <= 0) return write(std::string(kJoblogHeader));
  char last = '\n';
  ragged_ = pread(descriptor_, &last, 1, size - 1) == 1 && last != '\n';
  return {};
}

Result<void> JoblogFile::write(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return Error{Code::full,
                   fmt::format("cannot write {}: {}; run the same command again to resume", path_,
                               std::strerror(errno))};
    }
    done += static_cast<size_t>(count);
  }
  return {};
}

Result<void> JoblogFile::recover(const LineOf& line_of) {
  ragged_ = false;
  std::string rest;
  std::vector<char> piece(kPiece);
  uint64_t size = 0;
  while (true) {
    const ssize_t count = pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(size));
    if (count <= 0) break;
    size += static_cast<uint64_t>(count);
    rest.append(piece.data(), static_cast<size_t>(count));
    size_t from = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', from)) {
      const std::string_view line = std::string_view(rest).substr(from, end + 1 - from);
      from = end + 1;
      const uint64_t task = task_of(line);
      if (task != kNoTask && TRY(line_of(task)) == line) there_.insert(task);
    }
    rest.erase(0, from);
    if (rest.size() > kLineMax) rest.erase(0, rest.size() - kLineMax);
  }
  return rest.empty() ? Result<void>() : take_off(size, rest, line_of);
}

// Removes the fragment of a line at the end of the file. If we began that line, we write it again.
Result<void> JoblogFile::take_off(uint64_t size, const std::string& fragment,
                                  const LineOf& line_of) {
  const uint64_t task = task_of(fragment);
  const bool number =
      std::all_of(fragment.begin(), fragment.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool ours = number || (task != kNoTask && TRY(line_of(task)).starts_with(fragment));
  const bool head = kJoblogHeader.starts_with(fragment);
  if (!ours && !head) return write("\n");  // Somebody else's: it stays.
  const uint64_t left = size - fragment.size();
  if (ftruncate(descriptor_, static_cast<off_t>(left)) != 0) {
    return Error{Code::full, fmt::format("cannot shorten {}: {}", path_, std::strerror(errno))};
  }
  return left == 0 ? write(std::string(kJoblogHeader)) : Result<void>();
}

Result<void> JoblogFile::add(uint64_t task, const std::string& line) {
  if (there_.contains(task)) return {};
  return write(std::exchange(ragged_, false) ? "\n" + line : line);
}

std::optional<std::vector<bool>> JoblogFile::tasks_there(uint64_t tasks) const {
  std::vector<bool> there(tasks);
  std::vector<char> piece(kPiece);
  std::string number;  // The beginning of a line, as far as it matters.
  for (off_t at = 0;;) {
    const ssize_t count = pread(descriptor_, piece.data(), piece.size(), at);
    if (count < 0) return std::nullopt;
    if (count == 0) return there;
    at += count;
    for (const char c : std::string_view(piece.data(), static_cast<size_t>(count))) {
      if (c == '\n') {
        number.clear();
      } else if (number.size() <= kNumberMax) {
        number += c;
        const uint64_t task = c == '\t' ? task_of(number) : kNoTask;
        if (task < tasks) there[task] = true;
      }
    }
  }
}

Result<void> JoblogFile::sync() const {
  // A pipe or a device cannot be.
  if (descriptor_ < 0 || fdatasync(descriptor_) == 0 || errno == EINVAL) return {};
  return Error{Code::full,
               fmt::format("cannot make {} durable: {}; run the same command again to resume",
                           path_, std::strerror(errno))};
}

}  // namespace dunlin::run
