// The store's contract on engines that other people wrote, against their real servers. Where those
// are is said by the environment (tests/e2e/engine_*.sh start them).

#include <cstdlib>

#include "backends/open.h"
#include "base/env_posix.h"
#include "net/socket.h"
#include "store/contract.h"

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
  std::unique_ptr<CallStore> open() const {
    auto store = open_store(url_, {});
    CHECK(store.ok());
    return std::move(store).value();
  }

  std::string url_;
};

std::unique_ptr<StoreSubject> postgres() {
  return std::make_unique<ServerSubject>("DUNLIN_TEST_POSTGRES");
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(&postgres));
INSTANTIATE_TEST_SUITE_P(Postgres, WaitingContract, testing::Values(&postgres));

}  // namespace
}  // namespace dunlin
