// Which store a command line names, and opening it. A call may look for a hub of the user on this
// machine. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/output.h"
#include "store/request_store.h"
#include "stores/open.h"

namespace dunlin::cli {

// Which store, and how to speak about it.
struct StoreTarget {
  std::string at = {};  // URL; empty: the user's own hub, else the user's own file: store.
  std::string token_file = {};
  std::string tls_ca = {};
  std::string aws_endpoint = {};
  bool json = false;
  bool quiet = false;

  Form form() const { return json ? Form::json : quiet ? Form::quiet : Form::plain; }
};

// A target without a URL becomes the user's own hub, if one runs on this machine.
void find_own_hub(StoreTarget& target);
// Likewise, for commands that need a hub or another store: waits for one that is just starting.
Result<void> wait_for_own_hub(StoreTarget& target);

// With the token of the user's own hub unless another is named.
stores::OpenOptions open_options(const StoreTarget& target);

// The owner that the target's token is bound to; empty: it is bound to nobody.
Result<std::string> bound_owner(const StoreTarget& target);

enum class Missing { make, refuse };  // What to do about a file: store that does not exist.
Result<std::unique_ptr<RequestStore>> open_target(const StoreTarget& target, Missing missing);

}  // namespace dunlin::cli
