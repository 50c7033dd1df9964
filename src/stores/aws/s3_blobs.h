// The Blobs of a store, in S3: one bucket (PREFIX-blobs), a blob is an object of its name; or in a
// bucket of the user's, below a prefix. The hash of a blob stands in its metadata, so that a repeat
// is told from other bytes without reading them.
//
// Large blobs are sent in parts; nothing is visible before the last one. No more than one part is
// ever in memory. Blocks; one thread at a time, but for stop().
#pragma once

#include <string>

#include "store/store.h"
#include "stores/aws/service.h"

namespace dunlin::cloud {

inline constexpr uint64_t kPartMin = 8 << 20;
inline constexpr uint64_t kPartsMax = 10'000;  // S3's limit.

// How large the parts of a blob are: as small as the number of parts allows, in whole MiB.
uint64_t part_size(uint64_t blob_size);

class S3Blobs final : public Blobs {
 public:
  S3Blobs(CloudAddress address, const CloudOptions& options, const Clock& clock, const Disk& disk);

  Result<void> put(std::string_view name, uint64_t size, const BlobSource& source) override;
  Result<std::string> get(std::string_view name, uint64_t offset, size_t max) override;
  Result<void> erase(std::string_view name) override;
  Result<std::vector<BlobInfo>> list(std::string_view prefix, std::string_view after,
                                     size_t max) override;

  // Makes the bucket if there is none. `conflict` if it is somebody else's, `not_found` if the user
  // should have made it. The first put does that by itself.
  Result<void> prepare();

  // Whether objects can be listed there.
  Result<void> check();

  void stop() { link_.stop(); }

 private:
  struct Blob {
    std::string name;
    uint64_t size = 0;
    std::string hash;  // In hex.
  };
  enum class There { nothing, same, other };

  std::string object_of(std::string_view name) const;
  std::string path_of(std::string_view name) const;
  Result<There> look(const Blob& blob);
  Result<There> compare(const Blob& blob);
  Result<void> put_whole(const Blob& blob, const std::string& bytes);
  Result<void> put_parts(const Blob& blob, const BlobSource& source);
  Result<std::string> send_parts(const Blob& blob, const BlobSource& source,
                                 const std::string& upload);
  Result<void> settle(const Blob& blob, const Reply& reply);
  Result<Reply> ask(const S3Call& call);

  CloudLink link_;
};

}  // namespace dunlin::cloud
