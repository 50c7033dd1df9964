// Blobs on disk: a file each, DIR/blobs/NUMBER, in blocks of 64 KiB with a checksum behind each.
// The log says which files are blobs and under which names; any other file here is garbage. Calls
// block on the disk; one thread at a time, as the engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/request.h"
#include "stores/engine/index.h"

namespace dunlin::engine {

class BlobFiles {
 public:
  BlobFiles(Disk& disk, const std::string& folder) : disk_(disk), folder_(folder + "/blobs") {}

  // Makes the folder and removes the files that `is_used` does not know.
  Result<void> open(const std::function<bool(uint64_t file)>& is_used);

  // Takes the next bytes of an upload. The first part opens file `fresh`; `full` if there are as
  // many uploads as there may be.
  Result<void> part(const BlobPart& part, uint64_t fresh, Instant now);
  void give_up(uint64_t upload);
  size_t uploads() const { return uploads_.size(); }

  // All parts are here and durable: the number of the file, 0 for an empty blob.
  Result<uint64_t> end(const BlobEnd& end);

  Result<std::string> read(const BlobState& blob, uint64_t offset, size_t max) const;
  Result<bool> same(const BlobState& a, const BlobState& b) const;  // REQUIRES: of one size
  void remove(uint64_t file);

  std::string path(uint64_t file) const { return folder_ + "/" + std::to_string(file); }

 private:
  struct Upload {
    uint64_t number = 0;  // The sender's.
    uint64_t file = 0;
    uint64_t size = 0;
    uint64_t unsynced = 0;
    Instant last = {};  // When its last part came.
    std::unique_ptr<File> to;
  };

  std::vector<Upload>::iterator find(uint64_t upload);
  void forget(std::vector<Upload>::iterator upload);
  Result<void> write(Upload& upload, std::string_view bytes);

  Disk& disk_;
  const std::string folder_;
  std::vector<Upload> uploads_;
};

}  // namespace dunlin::engine
