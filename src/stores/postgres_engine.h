// A row of stores/engines.h: postgres://USER@HOST/DATABASE, a store in a PostgreSQL database, in
// the schema dunlin or in the one that follows '#'. From any thread.
#pragma once

#include <memory>
#include <string>

#include "stores/open.h"

namespace dunlin::stores {

Result<std::unique_ptr<RequestStore>> open_postgres_engine(const std::string& url,
                                                           const OpenOptions& options);
Result<StoreAccess> access_postgres_engine(const std::string& url, const OpenOptions& options);
Result<bool> init_postgres_engine(const std::string& url, const OpenOptions& options);
Result<void> destroy_postgres_engine(const std::string& url, const OpenOptions& options);

}  // namespace dunlin::stores
