// The store's contract on engines that other people wrote, against their real servers. Where those
// are is said by the environment (tests/e2e/engine_*.sh start them).

#include <cstdio>
#include <cstdlib>

#include "base/env_posix.h"
#include "base/wait.h"
#include "store/contract.h"
#include "stores/open.h"

namespace dunlin {
namespace {

class ServerSubject : public StoreSubject {
 public:
  explicit ServerSubject(const char* variable) {
    const char* const url = std::getenv(variable);
    CHECK(url != nullptr);
    url_ = url;
  }

  std::unique_ptr<Store> connect() override { return open(); }
  std::unique_ptr<Store> connect_twice() override { return twice(open()); }
  bool waits() const override { return true; }
  void wait(Millis time) override {
    wait_until(posix_clock().now() + time + Millis(20), posix_clock());
  }

 private:
  std::unique_ptr<RequestStore> open() const {
    const char* const endpoint = std::getenv("DUNLIN_AWS_ENDPOINT");
    auto store = stores::open_store(url_, {.aws_endpoint = endpoint == nullptr ? "" : endpoint});
    if (!store.ok()) std::fprintf(stderr, "%s\n", store.error().what.c_str());
    CHECK(store.ok());
    return std::move(store).value();
  }

  std::string url_;
};

std::unique_ptr<StoreSubject> postgres() {
  return std::make_unique<ServerSubject>("DUNLIN_TEST_POSTGRES");
}

// Rows in one engine, hints from another.
class MixedSubject final : public ServerSubject {
 public:
  using ServerSubject::ServerSubject;
  bool ordered() const override { return false; }
  bool blob_parts() const override { return false; }
};

std::unique_ptr<StoreSubject> mixed() {
  return std::make_unique<MixedSubject>("DUNLIN_TEST_MIXED");
}
std::unique_ptr<StoreSubject> aws() { return std::make_unique<MixedSubject>("DUNLIN_TEST_AWS"); }

INSTANTIATE_TEST_SUITE_P(Mixed, StoreContract, testing::Values(&mixed));
INSTANTIATE_TEST_SUITE_P(Mixed, WaitingContract, testing::Values(&mixed));
INSTANTIATE_TEST_SUITE_P(Aws, StoreContract, testing::Values(&aws));
INSTANTIATE_TEST_SUITE_P(Aws, WaitingContract, testing::Values(&aws));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(&postgres));
INSTANTIATE_TEST_SUITE_P(Postgres, WaitingContract, testing::Values(&postgres));

}  // namespace
}  // namespace dunlin
