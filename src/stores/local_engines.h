// Rows of stores/engines.h: memory: and file:FOLDER, the engines inside this process. Each store
// is for one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "stores/open.h"

namespace dunlin::stores {

Result<std::unique_ptr<RequestStore>> open_memory_engine(const std::string& url,
                                                         const OpenOptions& options);

// `not_found` if there is no store in the folder and the options do not make one.
Result<std::unique_ptr<RequestStore>> open_file_engine(const std::string& url,
                                                       const OpenOptions& options);
Result<StoreAccess> access_file_engine(const std::string& url, const OpenOptions& options);

}  // namespace dunlin::stores
