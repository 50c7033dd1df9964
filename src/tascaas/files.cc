#include "tascaas/files.h"

#include <fmt/format.h>
#include <set>

#include "base/digest.h"
#include "base/names.h"
#include "model/rows.h"
#include "store/compare_and_set.h"
#include "store/request.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
std::string new_blob(const std::string& tenant) {
  return blob_prefix(tenant) + hex(random_bytes(16));
}

// Who still reads one of them is cut off, which shows: the reply is shorter than it said.
Result<bool> erase_unnamed(Store& store, const std::vector<std::string>& rows,
                           const std::vector<std::string>& blobs) {
  std::set<std::string> named;
  for (const Row& row : TRY(store.table().get(kTable, rows))) {
    named.insert(TRY(parse_row<File>(kTable, row)).record.blob());
  }
  for (const std::string& blob : blobs) {
    if (!blob.empty() && !named.contains(blob)) TRY(store.blobs().erase(blob));
  }
  return named.contains(blobs.front());
}

Result<void> put_file(Store& store, const std::string& tenant, const std::string& key,
                      uint64_t size, const BlobSource& source, WallTime now,
                      const std::string& again) {
  if (!is_file_key(key)) {
    return Error{Code::invalid, fmt::format("{} cannot be the name of a file: visible characters "
                                            "without spaces, at most {}",
                                            quote(key), kFileKeyMax)};
  }
  File file;
  file.set_size(size);
  file.set_modified_ms(to_ms(now));
  file.set_again(again);
  const std::string row = file_row(tenant, key);
  const Error busy = {Code::unavailable,
                      fmt::format("file {} changes all the time: try again", key)};
  const auto there = compare_and_set(busy, [&]() -> Round<bool> {
    // Another one for each try: who was quicker may have replaced and removed the last.
    file.set_blob(new_blob(tenant));
    TRY(store.blobs().put(file.blob(), size, source));
    const auto old = TRY(read_record<File>(store.table(), kTable, row));
    const auto put = TRY(
        unless_conflict(store.table().put(kTable, {row, file.SerializeAsString(), old.version})));
    // Also after a conflict: it was written if an answer was lost and the row has been changed
    // since, as a job file is taken.
    const std::vector<std::string> rows{row};
    const bool named = TRY(erase_unnamed(store, rows, {file.blob(), old.record.blob()}));
    return put || named ? std::optional(true) : std::nullopt;
  });
  return there.ok() ? Result<void>() : there.error();
}

Result<void> put_text(Store& store, const std::string& tenant, const std::string& key,
                      const std::string& text, WallTime now, const std::string& again) {
  const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
    return text.substr(std::min<uint64_t>(offset, text.size()), max);
  };
  return put_file(store, tenant, key, text.size(), source, now, again);
}

Result<FileInfo> find_file(Table& table, const std::string& tenant, const std::string& key) {
  const Error missing = {Code::not_found,
                         fmt::format("tenant {} has no file {}", tenant, quote(key))};
  if (!is_file_key(key)) return missing;
  auto stored = TRY(read_record<File>(table, kTable, file_row(tenant, key)));
  if (stored.version == 0) return missing;
  return FileInfo{key, std::move(stored.record), stored.version};
}

Result<std::string> read_file(Store& store, const File& file, size_t max) {
  if (file.size() > max) {
    return Error{Code::full, fmt::format("it has {} bytes, more than {}", file.size(), max)};
  }
  std::string bytes;
  while (bytes.size() < file.size()) {
    const std::string part = TRY(store.blobs().get(file.blob(), bytes.size(), kBlobPart));
    if (part.empty()) return Error{Code::corrupt, fmt::format("blob {} is short", file.blob())};
    bytes += part;
  }
  return bytes;
}

Result<std::vector<FileInfo>> list_files(Table& table, const std::string& tenant,
                                         std::string_view prefix) {
  const std::string all = file_row(tenant, "");
  std::vector<FileInfo> files;
  for (const Row& row : TRY(scan_all(table, file_row(tenant, prefix)))) {
    auto stored = TRY(parse_row<File>(kTable, row));
    files.push_back({row.key.substr(all.size()), std::move(stored.record), stored.version});
  }
  return files;
}

}  // namespace dunlin::tascaas
