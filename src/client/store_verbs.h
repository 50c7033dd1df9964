// The verbs of `dunlin store`: each is what the command line said, and run() does it.
//
// run() prints what was found and returns the exit code, or the error that ended it. Nothing is
// written to a store before all arguments are known to be good.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/open.h"
#include "base/result.h"
#include "client/output.h"
#include "store/request_store.h"

namespace dunlin {

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
OpenOptions open_options(const StoreTarget& target);

// The owner that the target's token is bound to; empty: it is bound to nobody.
Result<std::string> bound_owner(const StoreTarget& target);

enum class Missing { make, refuse };  // What to do about a file: store that does not exist.
Result<std::unique_ptr<RequestStore>> open_target(const StoreTarget& target, Missing missing);

struct PushVerb {
  std::string queue = {};
  std::string id = {};  // Empty: one is made up.
  std::optional<std::string> body = {};
  std::string body_file = {};
  bool lines = false;
};
struct PullVerb {
  std::string queue = {};
  uint64_t max = 1;
  std::string hold = "60s";
  std::string wait = "0s";
};
struct FinishVerb {
  std::string queue = {};
  std::vector<std::string> leases = {};  // ID:TOKEN each, or one ID and its TOKEN.
};
struct RenewVerb {
  std::string queue = {};
  std::string hold = {};
  std::vector<std::string> leases = {};
};
struct DepthVerb {
  std::string queue = {};
};

struct GetVerb {
  std::string table = {};
  std::vector<std::string> keys = {};
};
struct PutVerb {
  std::string table = {};
  std::string key = {};
  std::optional<std::string> value = {};
  std::string value_file = {};
  std::optional<uint64_t> version = {};
  bool fresh = false;  // The row must not exist.
};
struct EraseVerb {
  std::string table = {};
  std::string key = {};
  std::optional<uint64_t> version = {};
};
struct ScanVerb {
  std::string table = {};
  std::string prefix = {};
  uint64_t max = 0;  // 0: all.
};

struct BlobPutVerb {
  std::string name = {};
  std::string file = {};
};
struct BlobGetVerb {
  std::string name = {};
  std::string file = {};  // Empty: standard output.
};
struct BlobEraseVerb {
  std::string name = {};
};
struct BlobListVerb {
  std::string prefix = {};
};

struct InfoVerb {};
struct InitVerb {};
struct KeepVerb {
  std::string keep = {};    // Empty: as it is.
  std::string failed = {};  // As well.
};
struct DestroyVerb {
  bool yes = false;
};
struct CheckVerb {
  std::string folder = {};
};

Result<int> run(const PushVerb& verb, const StoreTarget& target);
Result<int> run(const PullVerb& verb, const StoreTarget& target);
Result<int> run(const FinishVerb& verb, const StoreTarget& target);
Result<int> run(const RenewVerb& verb, const StoreTarget& target);
Result<int> run(const DepthVerb& verb, const StoreTarget& target);
Result<int> run(const GetVerb& verb, const StoreTarget& target);
Result<int> run(const PutVerb& verb, const StoreTarget& target);
Result<int> run(const EraseVerb& verb, const StoreTarget& target);
Result<int> run(const ScanVerb& verb, const StoreTarget& target);
Result<int> run(const BlobPutVerb& verb, const StoreTarget& target);
Result<int> run(const BlobGetVerb& verb, const StoreTarget& target);
Result<int> run(const BlobEraseVerb& verb, const StoreTarget& target);
Result<int> run(const BlobListVerb& verb, const StoreTarget& target);
Result<int> run(const InfoVerb& verb, const StoreTarget& target);
Result<int> run(const InitVerb& verb, const StoreTarget& target);
Result<int> run(const KeepVerb& verb, const StoreTarget& target);
Result<int> run(const DestroyVerb& verb, const StoreTarget& target);
Result<int> run(const CheckVerb& verb, const StoreTarget& target);

// The leases that the arguments of finish and renew name.
Result<std::vector<Lease>> parse_leases(const std::vector<std::string>& arguments);

}  // namespace dunlin
