#include "doors/rest/bodies/spool.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "doors/rest/server/call.h"

namespace dunlin::rest {
namespace {

constexpr size_t kMemoryMax = 256 << 10;

Result<std::unique_ptr<File>> open_hidden() {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) return Error{Code::unavailable, "cannot find a folder for temporary files"};
  const std::string path = (folder / fmt::format("dunlin-{:016x}", random_seed())).string();
  auto file = TRY(posix_disk().create(path));
  TRY(posix_disk().remove(path));
  return file;
}

}  // namespace

Result<void> Spool::append(std::string_view bytes) {
  if (!file_ && memory_.size() + bytes.size() <= kMemoryMax) {
    memory_ += bytes;
  } else {
    if (!file_) {
      file_ = TRY(open_hidden());
      TRY(file_->write(0, memory_));
      memory_ = {};
    }
    TRY(file_->write(size_, bytes));
  }
  size_ += bytes.size();
  return {};
}

BlobSource Spool::source() const {
  return [this](uint64_t offset, size_t max) -> Result<std::string> {
    if (!file_) return memory_.substr(std::min<uint64_t>(offset, memory_.size()), max);
    std::string bytes(max, '\0');
    bytes.resize(TRY(file_->read(offset, bytes)));
    return bytes;
  };
}

Result<bool> receive(Call& call, Spool& into) {
  const uint64_t most = call.setting().upload_max;
  bool fits = call.head().length.value_or(0) <= most;
  std::string piece;
  while (fits && TRY(call.read_some(piece))) {
    fits = piece.size() <= most - into.size();
    if (fits) TRY(into.append(piece));
    piece.clear();
  }
  if (!fits) call.close_after();
  return fits;
}

}  // namespace dunlin::rest
