// The verbs of `dunlin store`: each is what the command line said, and run() does it.
//
// run() prints what was found and returns the exit code, or the error that ended it. Nothing is
// written to a store before all arguments are known to be good.
//
// Calls block as the store does. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/store_target.h"
#include "store/store.h"

namespace dunlin::store_cli {

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

Result<int> run(const PushVerb& verb, const cli::StoreTarget& target);
Result<int> run(const PullVerb& verb, const cli::StoreTarget& target);
Result<int> run(const FinishVerb& verb, const cli::StoreTarget& target);
Result<int> run(const RenewVerb& verb, const cli::StoreTarget& target);
Result<int> run(const DepthVerb& verb, const cli::StoreTarget& target);
Result<int> run(const GetVerb& verb, const cli::StoreTarget& target);
Result<int> run(const PutVerb& verb, const cli::StoreTarget& target);
Result<int> run(const EraseVerb& verb, const cli::StoreTarget& target);
Result<int> run(const ScanVerb& verb, const cli::StoreTarget& target);
Result<int> run(const BlobPutVerb& verb, const cli::StoreTarget& target);
Result<int> run(const BlobGetVerb& verb, const cli::StoreTarget& target);
Result<int> run(const BlobEraseVerb& verb, const cli::StoreTarget& target);
Result<int> run(const BlobListVerb& verb, const cli::StoreTarget& target);
Result<int> run(const InfoVerb& verb, const cli::StoreTarget& target);
Result<int> run(const InitVerb& verb, const cli::StoreTarget& target);
Result<int> run(const KeepVerb& verb, const cli::StoreTarget& target);
Result<int> run(const DestroyVerb& verb, const cli::StoreTarget& target);
Result<int> run(const CheckVerb& verb, const cli::StoreTarget& target);

// The leases that the arguments of finish and renew name.
Result<std::vector<Lease>> parse_leases(const std::vector<std::string>& arguments);

}  // namespace dunlin::store_cli
