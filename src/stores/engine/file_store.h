// `file:FOLDER`: the durable engine inside this process, for as many threads as it has. Calls that
// come together share a sync: while one thread waits for the disk the others stage the next batch.
#pragma once

#include <memory>
#include <string>

#include "base/env.h"
#include "store/request_store.h"

namespace dunlin::engine {

class FileStore : public RequestStore {
 public:
  using RequestStore::RequestStore;

  // Another store on the same engine, for another thread. All stores share its life.
  virtual std::unique_ptr<FileStore> connect() = 0;
};

// `disk` and `clock` must outlive the store.
Result<std::unique_ptr<FileStore>> open_file_store(Disk& disk, const Clock& clock,
                                                   const std::string& folder);
Result<std::unique_ptr<FileStore>> open_file_store(const std::string& folder);

}  // namespace dunlin::engine
