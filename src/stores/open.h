// The URL that names a store, the one extension point that a user sees, and the store behind it.
// stores/engines.h is the table of what URLs there are; docs/ENGINES.md says what each is good
// for. Opening may block as long as its options say; from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "store/request_store.h"
#include "stores/async_store.h"
#include "stores/hub/hub_store.h"

namespace dunlin::stores {

struct OpenOptions {
  std::string token = {};         // For a hub.
  std::string token_file = {};    // Where to read it if it is empty.
  std::string tls_ca = {};        // See HubOptions.
  std::string aws_endpoint = {};  // Compatible services; empty: what DUNLIN_AWS_ENDPOINT says.
  bool make = true;               // A file: store that does not exist; else it is `not_found`.
  Millis deadline = HubOptions().deadline;
  Millis connect_wait = HubOptions().connect_wait;
};

// `invalid` if the URL or a file that an option names cannot be used; else what the engine says.
Result<std::unique_ptr<RequestStore>> open_store(const std::string& url,
                                                 const OpenOptions& options);

// The same for an agent: an AsyncStore, and what makes further stores on the same engine for its
// lanes.
struct StoreAccess {
  std::unique_ptr<AsyncStore> async_store;
  Connect connect;
  size_t commit_rows = kBatchMax;  // In one commit, at most.
  // How long outcomes are gathered while more are on their way, and work is taken ahead in
  // proportion: longer where each request is slow and paid for.
  Millis pace = Millis(20);
};
Result<StoreAccess> open_access(const std::string& url, const OpenOptions& options);

// Makes what a store needs on a server of others, or migrates it. False: it was there already.
Result<bool> init_store(const std::string& url, const OpenOptions& options = {});
// What it has with services that are paid for by the queue and table, as they call it.
struct Made {
  std::string service;
  std::string name;
};
Result<std::vector<Made>> list_made(const std::string& url, const OpenOptions& options = {});
// Removes the store, with all that is in it.
Result<void> destroy_store(const std::string& url, const OpenOptions& options = {});

// Whether tokens decide there who may do what, and old jobs are removed there.
bool is_hub_url(std::string_view url);

// What the file holds, without the white space around it.
Result<std::string> read_token(const std::string& file);

}  // namespace dunlin::stores
