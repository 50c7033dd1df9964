#include "sim/memory_disk.h"

#include <algorithm>
#include <map>
#include <set>

namespace dunlin {
namespace {

using Contents = std::string;

// Files keep their bytes alive through the disk, which must outlive them.
class MemoryFile final : public File {
 public:
  explicit MemoryFile(Contents& contents) : contents_(contents) {}

  Result<void> write(uint64_t offset, std::string_view bytes) override {
    if (offset > contents_.size()) contents_.resize(offset);
    const size_t over = std::min<size_t>(bytes.size(), contents_.size() - offset);
    std::copy_n(bytes.data(), over, contents_.data() + offset);
    contents_.append(bytes.substr(over));
    return {};
  }
  Result<void> sync() override { return {}; }
  Result<void> truncate(uint64_t size) override {
    contents_.resize(size);
    return {};
  }
  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    if (offset >= contents_.size()) return size_t{0};
    const size_t size = std::min<size_t>(into.size(), contents_.size() - offset);
    std::copy_n(contents_.data() + offset, size, into.data());
    return size;
  }
  Result<uint64_t> size() const override { return uint64_t{contents_.size()}; }

 private:
  Contents& contents_;
};

class MemoryDisk final : public Disk {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path) override {
    std::unique_ptr<Contents>& contents = files_[path];
    if (contents) removed_.push_back(std::move(contents));
    contents = std::make_unique<Contents>();
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(*contents));
  }
  Result<std::unique_ptr<File>> open(const std::string& path) override {
    return open_to_read(path);
  }
  Result<std::unique_ptr<File>> open_to_read(const std::string& path) const override {
    const auto found = files_.find(path);
    if (found == files_.end()) return Error{Code::not_found, "no file " + path};
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(*found->second));
  }
  Result<void> remove(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return {};
    // Open handles may still refer to it; its bytes go now, the empty shell stays.
    found->second->clear();
    found->second->shrink_to_fit();
    removed_.push_back(std::move(found->second));
    files_.erase(found);
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& folder) const override {
    if (!folders_.contains(folder)) return Error{Code::not_found, "no folder " + folder};
    std::vector<std::string> names;
    const std::string prefix = folder + "/";
    for (auto file = files_.lower_bound(prefix); file != files_.end(); ++file) {
      if (!file->first.starts_with(prefix)) break;
      const std::string name = file->first.substr(prefix.size());
      if (name.find('/') == std::string::npos) names.push_back(name);
    }
    return names;
  }
  Result<void> make_folder(const std::string& folder) override {
    folders_.insert(folder);
    return {};
  }
  Result<void> sync_folder(const std::string& /*folder*/) override { return {}; }
  Result<std::unique_ptr<FolderLock>> lock(const std::string& /*folder*/) override {
    return std::make_unique<FolderLock>();
  }

 private:
  std::map<std::string, std::unique_ptr<Contents>> files_;
  std::vector<std::unique_ptr<Contents>> removed_;
  std::set<std::string> folders_;
};

}  // namespace

std::unique_ptr<Disk> memory_disk() { return std::make_unique<MemoryDisk>(); }

}  // namespace dunlin
