#include "stores/local_engines.h"

#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "store/memory.h"
#include "stores/engine/file_store.h"
#include "stores/engines.h"

namespace dunlin::stores {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kFile = "file:";

// Looking must not make a store where someone mistyped its name.
Result<void> find_file_store(const std::string& folder) {
  const auto log = posix_disk().list(folder + "/log");
  if (log.ok() || log.error().code != Code::not_found) return {};
  return Error{Code::not_found, fmt::format("there is no store in {}: the first write makes one, "
                                            "or name another one",
                                            folder)};
}

Result<std::unique_ptr<engine::FileStore>> open_folder(const std::string& url,
                                                       const OpenOptions& options) {
  const std::string folder = url.substr(kFile.size());
  if (folder.empty()) return bad_url(url, "names no folder");
  if (!options.make) TRY(find_file_store(folder));
  return engine::open_file_store(folder);
}

}  // namespace

Result<std::unique_ptr<RequestStore>> open_memory_engine(const std::string& url,
                                                         const OpenOptions& /*options*/) {
  if (url != kMemory) return bad_url(url, "has something after 'memory:'");
  return memory_store(posix_clock());
}

Result<std::unique_ptr<RequestStore>> open_file_engine(const std::string& url,
                                                       const OpenOptions& options) {
  std::unique_ptr<RequestStore> store = TRY(open_folder(url, options));
  return store;
}

// The engine is in this process: every lane has a store of its own on it.
Result<StoreAccess> access_file_engine(const std::string& url, const OpenOptions& options) {
  const std::unique_ptr<engine::FileStore> opened = TRY(open_folder(url, options));
  Connect connect = [first = std::shared_ptr<engine::FileStore>(opened->connect())] {
    std::unique_ptr<RequestStore> next = first->connect();
    return Result<std::unique_ptr<RequestStore>>(std::move(next));
  };
  StoreAccess access;
  access.async_store = async_lane_store(connect);
  access.connect = std::move(connect);
  return access;
}

}  // namespace dunlin::stores
