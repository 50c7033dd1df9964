#include "sim/fiber.h"

#include <sys/mman.h>
#include <utility>
#include <vector>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace dunlin {

namespace {

constexpr Millis kTryAgain = Millis(50);
constexpr size_t kStackBytes = 1 << 20;  // Memory only as far as it is used.
constexpr size_t kGuardBytes = 1 << 12;
constexpr size_t kSparesMax = 64;

class FiberStore final : public RequestStore {
 public:
  FiberStore(Fiber& fiber, uint64_t seed, int tries_max)
      : RequestStore(seed), fiber_(fiber), tries_max_(tries_max) {}

 protected:
  Answer call(Request&& request) override {
    Answer answer = Error{Code::unavailable, "killed"};
    for (int tries = 0; tries < tries_max_ && !fiber_.killed(); ++tries) {
      answer = fiber_.ask(request);
      const auto* error = std::get_if<Error>(&answer);
      const bool passing =
          error != nullptr && (error->code == Code::unavailable || error->code == Code::full);
      if (!passing) return answer;
      fiber_.pause(kTryAgain);
    }
    return answer;
  }

 private:
  Fiber& fiber_;
  const int tries_max_;
};

}  // namespace

// Below it is a page that nobody may touch. Those of fibers that are over serve others: to make one
// costs more than a short fiber.
struct Fiber::Stack {
  Stack() {
    if (!spares().empty()) {
      memory = spares().back();
      spares().pop_back();
      return;
    }
    void* const mapped = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK(mprotect(mapped, kGuardBytes, PROT_NONE) == 0);
    memory = static_cast<char*>(mapped) + kGuardBytes;
  }
  ~Stack() {
    if (spares().size() < kSparesMax) {
      spares().push_back(memory);
    } else {
      munmap(static_cast<char*>(memory) - kGuardBytes, kGuardBytes + kStackBytes);
    }
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  static std::vector<void*>& spares() {
    static std::vector<void*> all;
    return all;
  }

  void* memory = nullptr;
};

Fiber::Fiber(Body body) : body_(std::move(body)) {}

Fiber::~Fiber() {
  killed_ = true;
  while (stack_ != nullptr && !over_) go_on(Error{Code::unavailable, "killed"});
}

std::optional<Fiber::Wish> Fiber::go_on(Answer answer) {
  CHECK(!over_);
  answer_ = std::move(answer);
  wish_.reset();
  if (stack_ == nullptr) begin();
  change(world_, its_own_, false);
  return std::exchange(wish_, std::nullopt);
}

void Fiber::begin() {
  stack_ = std::make_unique<Stack>();
  CHECK(getcontext(&its_own_.context) == 0);
  its_own_.context.uc_stack.ss_sp = stack_->memory;
  its_own_.context.uc_stack.ss_size = kStackBytes;
  its_own_.context.uc_link = nullptr;
  its_own_.bottom = stack_->memory;
  its_own_.size = kStackBytes;
  const auto address = reinterpret_cast<uintptr_t>(this);
  makecontext(&its_own_.context, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(address), static_cast<unsigned>(address >> 32U));
}

void Fiber::enter(unsigned low, unsigned high) {
  reinterpret_cast<Fiber*>(uintptr_t{high} << 32U | low)->run();
}

void Fiber::run() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &world_.bottom, &world_.size);
#endif
  body_(*this);
  over_ = true;
  change(its_own_, world_, true);
  CHECK(false);  // Nobody goes on with a fiber that is over.
}

void Fiber::change(Side& from, Side& to, [[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
  CHECK(swapcontext(&from.context, &to.context) == 0);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, &to.bottom, &to.size);
#endif
}

Answer Fiber::wish(Wish wish) {
  if (killed_) return Error{Code::unavailable, "killed"};
  wish_ = std::move(wish);
  change(its_own_, world_, false);
  if (killed_) return Error{Code::unavailable, "killed"};
  return std::move(answer_);
}

Answer Fiber::ask(Request request) { return wish(std::move(request)); }

void Fiber::pause(Millis time) { wish(Pause{time}); }

std::unique_ptr<RequestStore> Fiber::store(uint64_t seed, int tries_max) {
  return std::make_unique<FiberStore>(*this, seed, tries_max);
}

}  // namespace dunlin
