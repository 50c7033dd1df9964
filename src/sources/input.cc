#include "sources/input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "base/env_posix.h"

namespace dunlin::sources {
namespace {

constexpr size_t kReadBytes = 64 << 10;

Error cannot_read(const std::string& file, std::string_view why) {
  return {Code::invalid, fmt::format("cannot read {}: {}", shown_name(file), why)};
}

Error too_long(const std::string& file, uint64_t max) {
  return {Code::invalid,
          fmt::format("{} is larger than the limit of {} bytes", shown_name(file), max)};
}

// Sequential, so pipes will do.
class Source {
 public:
  static Result<Source> open(const std::string& file) {
    if (file == "-") {
      if (isatty(STDIN_FILENO) == 1) {
        fmt::print(stderr, "dunlin: reading from the terminal; Ctrl-D ends it\n");
      }
      return Source(file, stdin);
    }
    std::FILE* const opened = std::fopen(file.c_str(), "re");
    if (opened == nullptr) return cannot_read(file, std::strerror(errno));
    return Source(file, opened);
  }

  // Nothing at the end.
  Result<std::string> next() {
    std::string bytes(kReadBytes, '\0');
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), stream_.get()));
    if (std::ferror(stream_.get()) != 0) return cannot_read(file_, std::strerror(errno));
    return bytes;
  }

 private:
  struct Close {
    void operator()(std::FILE* stream) const {
      if (stream != stdin) std::fclose(stream);
    }
  };

  Source(std::string file, std::FILE* stream) : file_(std::move(file)), stream_(stream) {}

  std::string file_;
  std::unique_ptr<std::FILE, Close> stream_;
};

// Nobody else sees the file: its name is gone as soon as it is open.
Result<Readable> spool(const std::string& file, uint64_t max) {
  Source source = TRY(Source::open(file));
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) {
    return Error{Code::invalid,
                 fmt::format("cannot find a folder for a temporary copy of {}: set TMPDIR",
                             shown_name(file))};
  }
  const std::string path = (folder / fmt::format("dunlin-{:016x}", random_seed())).string();
  Readable copy{.file = TRY(posix_disk().create(path))};
  TRY(posix_disk().remove(path));
  while (true) {
    const std::string bytes = TRY(source.next());
    if (bytes.empty()) return copy;
    if (copy.size + bytes.size() > max) return too_long(file, max);
    TRY(copy.file->write(copy.size, bytes));
    copy.size += bytes.size();
  }
}

}  // namespace

std::string shown_name(const std::string& file) { return file == "-" ? "standard input" : file; }

Result<void> read_pieces(const std::string& file,
                         const std::function<Result<void>(std::string_view)>& take) {
  Source source = TRY(Source::open(file));
  while (true) {
    const std::string bytes = TRY(source.next());
    if (bytes.empty()) return {};
    TRY(take(bytes));
  }
}

Result<std::string> read_input(const std::string& file, size_t max) {
  Source source = TRY(Source::open(file));
  std::string all;
  while (true) {
    const std::string bytes = TRY(source.next());
    if (bytes.empty()) return all;
    all += bytes;
    if (all.size() > max) return too_long(file, max);
  }
}

Result<void> LineReader::read_more() {
  rest_.erase(0, from_);
  scanned_ = rest_.size();
  from_ = 0;
  rest_.resize(scanned_ + kReadBytes);
  ssize_t size = 0;
  do {
    size = ::read(descriptor_, rest_.data() + scanned_, kReadBytes);
  } while (size < 0 && errno == EINTR);
  rest_.resize(scanned_ + static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size < 0) return cannot_read("-", std::strerror(errno));
  ended_ = size == 0;
  return {};
}

Result<std::optional<std::string>> LineReader::take_line() {
  const size_t found = rest_.find('\n', scanned_);
  const bool whole = found != std::string::npos;
  const size_t end = whole ? found : rest_.size();
  if (end - from_ > line_max_) {
    return Error{Code::invalid,
                 fmt::format("line {} of standard input has more than {} bytes: put it in a blob",
                             lines_ + 1, line_max_)};
  }
  scanned_ = end;
  if (!whole && (!ended_ || end == from_)) return std::optional<std::string>();
  std::optional line = rest_.substr(from_, end - from_);
  ++lines_;
  from_ = scanned_ = std::min(end + 1, rest_.size());
  return line;
}

Result<std::vector<std::string>> LineReader::next(size_t max) {
  std::vector<std::string> lines;
  while (lines.size() < max) {
    std::optional<std::string> line = TRY(take_line());
    if (line) {
      lines.push_back(*std::move(line));
    } else if (ended_ || !lines.empty()) {
      break;
    } else {
      TRY(read_more());
    }
  }
  return lines;
}

Result<Readable> open_input(const std::string& file, uint64_t max) {
  std::error_code failed;
  const bool plain = file != "-" && std::filesystem::is_regular_file(file, failed);
  if (!plain) return spool(file, max);
  auto opened = posix_disk().open_to_read(file);
  if (!opened.ok()) return Error{Code::invalid, opened.error().what};
  Readable readable{.file = std::move(opened).value()};
  readable.size = TRY(readable.file->size());
  if (readable.size > max) return too_long(file, max);
  return readable;
}

}  // namespace dunlin::sources
