// Stores of several engines: queue=URL,table=URL[,blobs=URL], and aws:REGION/PREFIX, which is SQS,
// DynamoDB and S3.
#pragma once

#include <string>
#include <string_view>

#include "backends/open.h"

namespace dunlin {

// The engines of a mixed store. Without blobs= they are where the table is.
struct MixedUrl {
  std::string queue;  // amqp://, amqps:// or aws:
  std::string table;  // postgres://, dunlin://, dunlin+tls:// or aws:
  std::string blobs;  // As the table, or s3://.
};

bool is_mixed(std::string_view url);
Result<MixedUrl> parse_mixed_url(const std::string& url);

// What makes stores on these engines. They share what one process knows. Nothing is asked yet.
struct MixedEngines {
  Connect connect;
  size_t commit_rows = kBatchMax;  // See StoreAccess.
  Millis pace = StoreAccess().pace;
};
Result<MixedEngines> mixed_engines(const std::string& url, const OpenOptions& options);

Result<StoreAccess> mixed_access(const std::string& url, const OpenOptions& options);

// See init_store, list_made and destroy_store.
Result<bool> init_mixed(const std::string& url, const OpenOptions& options);
Result<std::vector<Made>> list_mixed(const std::string& url, const OpenOptions& options);
Result<void> destroy_mixed(const std::string& url, const OpenOptions& options);

}  // namespace dunlin
