// The files of a tenant by their keys, over blobs that are written once: a key is a row that says
// which blob has its bytes, so that a file can be replaced. One thread at a time, as the store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

struct FileInfo {
  std::string key;
  File file;
  uint64_t version = 0;  // Of its row.
};

// Replaces one of that key. Nothing of it can be seen before all of it can.
Result<void> put_file(Store& store, const std::string& tenant, const std::string& key,
                      uint64_t size, const BlobSource& source, WallTime now);
Result<void> put_text(Store& store, const std::string& tenant, const std::string& key,
                      const std::string& text, WallTime now);

// `not_found`
Result<FileInfo> find_file(Table& table, const std::string& tenant, const std::string& key);

// `full` if it is larger than `max`.
Result<std::string> read_file(Store& store, const File& file, size_t max);

// Those whose key starts so, by key.
Result<std::vector<FileInfo>> list_files(Table& table, const std::string& tenant,
                                         std::string_view prefix);

}  // namespace dunlin::tascaas
