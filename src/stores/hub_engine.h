// A row of stores/engines.h: dunlin://HOST:PORT and dunlin+tls://HOST:PORT, a store behind a hub.
// Pure but for what opens; from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stores/open.h"

namespace dunlin::stores {

// `invalid` says which part is wrong.
Result<HubAddress> parse_hub_url(std::string_view url);

Result<std::unique_ptr<RequestStore>> open_hub_engine(const std::string& url,
                                                      const OpenOptions& options);
Result<StoreAccess> access_hub_engine(const std::string& url, const OpenOptions& options);

}  // namespace dunlin::stores
