#include "store/contract.h"

#include <fmt/format.h>
#include <random>
#include <utility>

namespace dunlin {

// A program may link the contract and hold no engine to it.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WaitingContract);

namespace {

class TwiceStore final : public RequestStore {
 public:
  TwiceStore(std::unique_ptr<RequestStore> store, uint64_t seed)
      : RequestStore(seed), store_(std::move(store)) {}

 protected:
  Answer call(Request&& request) override {
    if (!std::holds_alternative<Pull>(request) && !std::holds_alternative<BlobEnd>(request)) {
      store_->ask(Request(request));
    }
    return store_->ask(std::move(request));
  }

 private:
  std::unique_ptr<RequestStore> store_;
};

std::string unique_name() {
  static const uint32_t run = std::random_device()();
  static uint64_t count = 0;
  return fmt::format("c{:08x}-{}", run, ++count);
}

}  // namespace

std::unique_ptr<Store> twice(std::unique_ptr<RequestStore> store) {
  return std::make_unique<TwiceStore>(std::move(store), std::random_device()());
}

void StoreContract::SetUp() {
  subject = GetParam()();
  ASSERT_NE(subject, nullptr);
  store = subject->connect();
  ASSERT_NE(store, nullptr);
  name = unique_name();
}

}  // namespace dunlin
