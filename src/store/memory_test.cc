#include "store/memory.h"

#include <gtest/gtest.h>

#include "sim/clock.h"
#include "store/contract.h"

namespace dunlin {
namespace {

class MemorySubject final : public StoreSubject {
 public:
  std::unique_ptr<Store> connect() override { return core_store(*core_, clock_, ++connections_); }
  std::unique_ptr<Store> connect_twice() override {
    return twice(core_store(*core_, clock_, ++connections_));
  }
  void wait(Millis time) override { clock_.advance(time); }

 private:
  SimClock clock_;
  std::unique_ptr<Core> core_ = memory_core();
  uint64_t connections_ = 0;
};

std::unique_ptr<StoreSubject> memory_subject() { return std::make_unique<MemorySubject>(); }

}  // namespace

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(&memory_subject));

}  // namespace dunlin
