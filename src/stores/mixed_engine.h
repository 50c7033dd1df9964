// Rows of stores/engines.h: stores of several engines, queue=URL,table=URL[,blobs=URL], and
// aws:REGION/PREFIX, which is SQS, DynamoDB and S3. From any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/open.h"

namespace dunlin::stores {

Result<std::unique_ptr<RequestStore>> open_mixed_engine(const std::string& url,
                                                        const OpenOptions& options);
Result<StoreAccess> access_mixed_engine(const std::string& url, const OpenOptions& options);
Result<bool> init_mixed_engine(const std::string& url, const OpenOptions& options);
Result<std::vector<Made>> list_mixed_engine(const std::string& url, const OpenOptions& options);
Result<void> destroy_mixed_engine(const std::string& url, const OpenOptions& options);

}  // namespace dunlin::stores
