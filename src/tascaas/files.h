// The files of a tenant by their keys, over blobs that are written once: a key is a row that says
// which blob has its bytes, so that a file can be replaced. A blob is named by one row only, ever:
// so what its row names no more can go. One thread at a time, as the store.
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

// Replaces one of that key. Nothing of it can be seen before all of it can. `again` is the mark of
// a job file that is to be another job.
Result<void> put_file(Store& store, const std::string& tenant, const std::string& key,
                      uint64_t size, const BlobSource& source, WallTime now,
                      const std::string& again = {});
Result<void> put_text(Store& store, const std::string& tenant, const std::string& key,
                      const std::string& text, WallTime now, const std::string& again = {});

// For who writes such rows itself: a name that was never used; and what erases those of the blobs
// that none of the rows names now, and tells whether one names the first.
std::string new_blob(const std::string& tenant);
Result<bool> erase_unnamed(Store& store, const std::vector<std::string>& rows,
                           const std::vector<std::string>& blobs);

// `not_found`
Result<FileInfo> find_file(Table& table, const std::string& tenant, const std::string& key);

// `full` if it is larger than `max`.
Result<std::string> read_file(Store& store, const File& file, size_t max);

// Those whose key starts so, by key.
Result<std::vector<FileInfo>> list_files(Table& table, const std::string& tenant,
                                         std::string_view prefix);

}  // namespace dunlin::tascaas
