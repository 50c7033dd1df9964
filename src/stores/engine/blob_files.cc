#include "stores/engine/blob_files.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/uploads.h"
#include "stores/engine/segment.h"

namespace dunlin::engine {
namespace {

constexpr size_t kBlock = 64 << 10;
constexpr size_t kBlockOnDisk = kBlock + 4;
constexpr uint64_t kSyncEvery = 4 << 20;  // Keeps each stop of the loop short.
static_assert(kBlobPart % kBlock == 0);

uint64_t on_disk(uint64_t offset) { return offset / kBlock * kBlockOnDisk; }

// Of the block of a blob that begins at `offset`. It says in which file and where it stands.
uint32_t checksum(std::string_view block, uint64_t file, uint64_t offset) {
  return crc32c(block, place(file, offset / kBlock));
}

}  // namespace

Result<void> BlobFiles::open(const std::function<bool(uint64_t file)>& is_used) {
  TRY(disk_.make_folder(folder_));
  for (const std::string& name : TRY(disk_.list(folder_))) {
    uint64_t file = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), file);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    if (is_number && !is_used(file)) TRY(disk_.remove(path(file)));
  }
  return {};
}

std::vector<BlobFiles::Upload>::iterator BlobFiles::find(uint64_t upload) {
  return std::ranges::find(uploads_, upload, &Upload::number);
}

void BlobFiles::forget(std::vector<Upload>::iterator upload) {
  remove(upload->file);
  uploads_.erase(upload);
}

void BlobFiles::give_up(uint64_t upload) {
  if (const auto found = find(upload); found != uploads_.end()) forget(found);
}

Result<void> BlobFiles::part(const BlobPart& part, uint64_t fresh, Instant now) {
  if (part.offset == 0) {
    give_up(part.upload);
    if (uploads_.size() >= kUploadsMax) {
      const auto idle = find_idle(uploads_, now);
      if (idle == uploads_.end()) return no_place_for_upload();
      forget(idle);
    }
    auto file = TRY(disk_.create(path(fresh)));
    uploads_.push_back({.number = part.upload, .file = fresh, .to = std::move(file)});
  }
  const auto upload = find(part.upload);
  if (upload == uploads_.end() || part.offset > upload->size || upload->size % kBlobPart != 0) {
    if (upload != uploads_.end() && part.offset + part.bytes.size() <= upload->size) return {};
    return Error{Code::not_found, "upload " + std::to_string(part.upload) +
                                      " was forgotten: send it again from the start"};
  }
  upload->last = now;
  if (part.offset < upload->size) return {};  // A repeat of what is here.
  auto written = write(*upload, part.bytes);
  if (!written.ok()) forget(upload);
  return written;
}

Result<void> BlobFiles::write(Upload& upload, std::string_view bytes) {
  std::string blocks;
  blocks.reserve(bytes.size() + 4 * (bytes.size() / kBlock + 1));
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::string_view block = bytes.substr(at, kBlock);
    blocks += block;
    append_fixed(blocks, checksum(block, upload.file, upload.size + at));
  }
  TRY(upload.to->write(on_disk(upload.size), blocks));
  upload.size += bytes.size();
  upload.unsynced += bytes.size();
  if (upload.unsynced < kSyncEvery) return {};
  upload.unsynced = 0;
  return upload.to->sync();
}

Result<uint64_t> BlobFiles::end(const BlobEnd& end) {
  if (end.size == 0) return uint64_t{0};
  const auto upload = find(end.upload);
  if (upload == uploads_.end() || upload->size != end.size) {
    return Error{Code::not_found, "upload " + std::to_string(end.upload) + " of blob " + end.name +
                                      " is not complete: send it again from the start"};
  }
  const uint64_t file = upload->file;
  Result<void> synced = upload->to->sync();
  if (synced.ok()) synced = disk_.sync_folder(folder_);
  uploads_.erase(upload);
  if (synced.ok()) return file;
  // A second sync would succeed without writing what the first one could not.
  remove(file);
  return synced.error();
}

Result<std::string> BlobFiles::read(const BlobState& blob, uint64_t offset, size_t max) const {
  const auto& [_, file, size, placed] = blob;
  if (offset >= size) return std::string();
  max = std::min<uint64_t>(max, size - offset);
  const auto from = TRY(disk_.open_to_read(path(file)));
  const uint64_t first = offset / kBlock * kBlock;
  const uint64_t last = std::min(size, (offset + max + kBlock - 1) / kBlock * kBlock);
  const uint64_t blocks = (last - first + kBlock - 1) / kBlock;
  std::string raw(last - first + 4 * blocks, '\0');
  raw.resize(TRY(from->read(on_disk(first), raw)));

  std::string bytes;
  bytes.reserve(last - first);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t length = std::min<uint64_t>(kBlock, last - first - i * kBlock);
    const std::string_view rest =
        std::string_view(raw).substr(std::min(raw.size(), i * kBlockOnDisk));
    ByteReader written(rest.substr(std::min<size_t>(rest.size(), length)));
    const std::string_view block = rest.substr(0, length);
    const uint32_t right = placed ? checksum(block, file, first + i * kBlock) : crc32c(block);
    if (written.fixed<uint32_t>() != right || !written.ok()) {
      return to_error(
          {path(file), on_disk(first + i * kBlock), "the block here fails its checksum"});
    }
    bytes += block;
  }
  return bytes.substr(offset - first, max);
}

Result<bool> BlobFiles::same(const BlobState& a, const BlobState& b) const {
  for (uint64_t at = 0; at < a.size; at += kBlobPart) {
    if (TRY(read(a, at, kBlobPart)) != TRY(read(b, at, kBlobPart))) return false;
  }
  return true;
}

void BlobFiles::remove(uint64_t file) {
  // One that stays is removed when the store is opened the next time.
  if (file != 0) (void)disk_.remove(path(file)).ok();
}

}  // namespace dunlin::engine
