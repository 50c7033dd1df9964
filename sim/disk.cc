#include "sim/disk.h"

#include <algorithm>
#include <utility>

namespace dunlin {
namespace {

const Error kDead{Code::unavailable, "the disk is gone"};

void overwrite(std::string& contents, uint64_t offset, std::string_view bytes) {
  if (offset + bytes.size() > contents.size()) contents.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Whether a write changes any byte of the sector of `at`, up to that one. What comes before is
// written with what it has and stays as it is, however the power goes: in a sector that is appended
// to, and just so in one that is written again from its beginning.
bool changes_sector(const std::string& durable, const SimFile::Change& change, uint64_t at) {
  constexpr uint64_t kSector = 512;
  if (at >= durable.size()) return true;
  const uint64_t first = std::max(at / kSector * kSector, change.offset);
  const uint64_t size = at + 1 - first;
  return std::string_view(durable).substr(first, size) !=
         std::string_view(change.bytes).substr(first - change.offset, size);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

class SimHandle final : public File {
 public:
  SimHandle(const SimDisk& disk, std::shared_ptr<SimFile> file)
      : disk_(disk), file_(std::move(file)) {}

  Result<void> write(uint64_t offset, std::string_view bytes) override {
    const bool alive = disk_.step().ok();
    const uint64_t grows =
        offset + bytes.size() - std::min<uint64_t>(offset + bytes.size(), file_->now.size());
    const bool full = disk_.used() + grows > disk_.faults.capacity;
    if (alive && !full && !disk_.strikes(disk_.faults.write_fails)) {
      put(offset, bytes);
      return {};
    }
    const size_t reached = disk_.random_.below(bytes.size() + 1);
    if (disk_.random_.percent(50)) put(offset, bytes.substr(0, reached));
    if (!alive) return kDead;
    if (full) return Error{Code::full, "no space left on device"};
    return Error{Code::unavailable, "input/output error"};
  }

  Result<void> sync() override {
    TRY(disk_.step());
    if (disk_.on_sync) disk_.on_sync();
    const bool fails = disk_.strikes(disk_.faults.sync_fails);
    for (const SimFile::Change& change : std::exchange(file_->pending, {})) {
      // After a failure what did not get there is not dirty any more: a second sync would find
      // nothing to write, and succeed.
      if (!fails || disk_.random_.percent(50)) SimDisk::apply(change, file_->durable);
    }
    if (fails) return Error{Code::unavailable, "input/output error"};
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    TRY(disk_.step());
    file_->now.resize(size);
    file_->pending.push_back({.truncates = true, .offset = size, .bytes = {}});
    return {};
  }

  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    if (disk_.dead()) return kDead;
    if (disk_.strikes(disk_.faults.read_fails)) {
      return Error{Code::unavailable, "input/output error"};
    }
    if (offset >= file_->now.size()) return size_t{0};
    const size_t size = std::min<size_t>(into.size(), file_->now.size() - offset);
    std::copy_n(file_->now.data() + offset, size, into.data());
    disk_.bytes_read += size;
    return size;
  }

  Result<uint64_t> size() const override { return uint64_t{file_->now.size()}; }

 private:
  void put(uint64_t offset, std::string_view bytes) {
    overwrite(file_->now, offset, bytes);
    file_->pending.push_back({.truncates = false, .offset = offset, .bytes = std::string(bytes)});
  }

  const SimDisk& disk_;
  std::shared_ptr<SimFile> file_;
};

Result<void> SimDisk::step() const {
  if (!dead_ && calls_left_-- == 0) dead_ = true;
  if (dead_) return kDead;
  return {};
}

uint64_t SimDisk::used() const {
  uint64_t total = 0;
  for (const auto& [path, file] : files_) total += file->now.size();
  return total;
}

Result<std::unique_ptr<File>> SimDisk::create(const std::string& path) {
  TRY(step());
  if (strikes(faults.create_fails)) return Error{Code::denied, "cannot create " + path};
  auto& file = files_[path];
  if (file && file->name_is_durable) removed_[path] = file;
  file = std::make_shared<SimFile>();
  return std::unique_ptr<File>(std::make_unique<SimHandle>(*this, file));
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path) { return open_to_read(path); }

Result<std::unique_ptr<File>> SimDisk::open_to_read(const std::string& path) const {
  if (dead_) return kDead;
  const auto found = files_.find(path);
  if (found == files_.end()) return Error{Code::not_found, "no file " + path};
  return std::unique_ptr<File>(std::make_unique<SimHandle>(*this, found->second));
}

Result<void> SimDisk::remove(const std::string& path) {
  TRY(step());
  const auto found = files_.find(path);
  if (found == files_.end()) return {};
  if (found->second->name_is_durable) removed_[path] = found->second;
  files_.erase(found);
  return {};
}

Result<std::vector<std::string>> SimDisk::list(const std::string& folder) const {
  if (dead_) return kDead;
  if (!folders_.contains(folder)) return Error{Code::not_found, "no folder " + folder};
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (folder_of(path) == folder) names.push_back(path.substr(folder.size() + 1));
  }
  return names;
}

Result<void> SimDisk::make_folder(const std::string& folder) {
  TRY(step());
  folders_.insert(folder);
  return {};
}

Result<void> SimDisk::sync_folder(const std::string& folder) {
  TRY(step());
  for (const auto& [path, file] : files_) {
    if (folder_of(path) == folder) file->name_is_durable = true;
  }
  std::erase_if(removed_, [&](const auto& entry) { return folder_of(entry.first) == folder; });
  return {};
}

Result<std::unique_ptr<FolderLock>> SimDisk::lock(const std::string& /*folder*/) {
  if (dead_) return kDead;
  return std::make_unique<FolderLock>();
}

void SimDisk::apply(const SimFile::Change& change, std::string& contents) {
  if (change.truncates) {
    contents.resize(change.offset);
  } else {
    overwrite(contents, change.offset, change.bytes);
  }
}

void SimDisk::lose_power(SimFile& file) {
  for (const SimFile::Change& change : file.pending) {
    const uint64_t fate = random_.below(4);
    if (fate == 0) continue;
    if (change.truncates) {
      file.durable.resize(change.offset);
      continue;
    }
    std::string bytes = change.bytes;
    if (fate == 1) bytes.resize(random_.below(bytes.size() + 1));
    if (fate == 2 && !bytes.empty()) {
      const size_t from = random_.below(bytes.size());
      const size_t to = std::min(bytes.size(), from + random_.below(600));
      const char garbage = static_cast<char>(random_.below(256));
      for (size_t i = from; i < to; ++i) {
        if (changes_sector(file.durable, change, change.offset + i)) bytes[i] = garbage;
      }
    }
    overwrite(file.durable, change.offset, bytes);
  }
  file.pending.clear();
  file.now = file.durable;
}

void SimDisk::revive(bool power_was_lost) {
  dead_ = false;
  calls_left_ = UINT64_MAX;
  if (!power_was_lost) return;
  for (auto& [path, file] : removed_) {
    if (random_.percent(50)) files_.insert_or_assign(path, file);
  }
  removed_.clear();
  std::erase_if(files_, [&](const auto& entry) {
    return !entry.second->name_is_durable && random_.percent(50);
  });
  for (auto& [path, file] : files_) {
    lose_power(*file);
    file->name_is_durable = true;
  }
}

std::unique_ptr<SimDisk> SimDisk::copy() const {
  auto other = std::make_unique<SimDisk>(1);
  for (const auto& [path, file] : files_) {
    auto same = std::make_shared<SimFile>();
    same->now = file->now;
    other->files_.emplace(path, std::move(same));
  }
  other->folders_ = folders_;
  return other;
}

std::vector<std::string> SimDisk::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) paths.push_back(path);
  return paths;
}

std::string& SimDisk::bytes(const std::string& path) { return files_.at(path)->now; }

}  // namespace dunlin
