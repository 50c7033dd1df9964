// Code that blocks, in a simulated world: it runs in a thread of its own, but only while the world
// waits for it, so one of the two goes on at a time and a run is a function of its seed. What it
// asks of the store becomes events of the world, one request after the other.
//
// The owner is the world's thread. A fiber that is killed hears `unavailable` from then on, as a
// process that dies hears nothing; its body must then return soon.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <variant>

#include "store/call_store.h"

namespace dunlin {

// Lets this thread, and those that it begins from now on, run on one processor: the one that it is
// on. Only one of them runs at a time, and to wake another one there costs a tenth. A world calls
// it when it begins.
void stay_on_one_processor();

class Fiber {
 public:
  using Body = std::function<void(Fiber&)>;
  struct Pause {  // Instead of a request: it wants to go on after so long.
    Millis time;
  };
  using Wish = std::variant<Request, Pause>;

  explicit Fiber(Body body) : body_(std::move(body)) {}
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // --- For the world ---

  // Goes on until it wishes for something, or is over. The first answer is ignored.
  std::optional<Wish> go_on(Answer answer = Done{});
  void kill() { killed_ = true; }
  bool over() const { return over_; }

  // --- For the body ---

  Answer ask(Request request);
  void pause(Millis time);
  bool killed() const { return killed_; }
  // Its store: repeats what may have happened, as real clients do, so often at most.
  std::unique_ptr<CallStore> store(uint64_t seed, int tries_max = 200);

 private:
  Answer wish(Wish wish);

  Body body_;
  std::thread thread_;
  std::binary_semaphore its_turn_{0};
  std::binary_semaphore our_turn_{0};
  std::optional<Wish> wish_;
  Answer answer_;
  bool killed_ = false;
  bool over_ = false;
};

}  // namespace dunlin
