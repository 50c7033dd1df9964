#include "sim/fiber.h"

#include <sched.h>
#include <utility>

#include "base/check.h"

namespace dunlin {

void stay_on_one_processor() {
  static const cpu_set_t all = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    return set;
  }();
  CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);  // The one before may be busy by now.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

namespace {

constexpr Millis kTryAgain = Millis(50);

class FiberStore final : public CallStore {
 public:
  FiberStore(Fiber& fiber, uint64_t seed, int tries_max)
      : CallStore(seed), fiber_(fiber), tries_max_(tries_max) {}

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

Fiber::~Fiber() {
  killed_ = true;
  while (thread_.joinable() && !over_) go_on(Error{Code::unavailable, "killed"});
  if (thread_.joinable()) thread_.join();
}

std::optional<Fiber::Wish> Fiber::go_on(Answer answer) {
  CHECK(!over_);
  answer_ = std::move(answer);
  wish_.reset();
  if (!thread_.joinable()) {
    thread_ = std::thread([this] {
      its_turn_.acquire();
      body_(*this);
      over_ = true;
      our_turn_.release();
    });
  }
  its_turn_.release();
  our_turn_.acquire();
  return std::exchange(wish_, std::nullopt);
}

Answer Fiber::wish(Wish wish) {
  if (killed_) return Error{Code::unavailable, "killed"};
  wish_ = std::move(wish);
  our_turn_.release();
  its_turn_.acquire();
  if (killed_) return Error{Code::unavailable, "killed"};
  return std::move(answer_);
}

Answer Fiber::ask(Request request) { return wish(std::move(request)); }

void Fiber::pause(Millis time) { wish(Pause{time}); }

std::unique_ptr<CallStore> Fiber::store(uint64_t seed, int tries_max) {
  return std::make_unique<FiberStore>(*this, seed, tries_max);
}

}  // namespace dunlin
