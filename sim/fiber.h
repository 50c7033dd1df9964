// Code that blocks, in a simulated world: it has a stack of its own, and runs only while the world
// waits for it, so one of the two goes on at a time and a run is a function of its seed. What it
// asks of the store becomes events of the world, one request after the other.
//
// World and fibers share one thread. A fiber that is killed hears `unavailable` from then on, as a
// process that dies hears nothing; its body must then return soon.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ucontext.h>
#include <variant>

#include "store/request_store.h"

namespace dunlin {

class Fiber {
 public:
  using Body = std::function<void(Fiber&)>;
  struct Pause {  // Instead of a request: it wants to go on after so long.
    Millis time;
  };
  using Wish = std::variant<Request, Pause>;

  explicit Fiber(Body body);
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
  std::unique_ptr<RequestStore> store(uint64_t seed, int tries_max = 200);

 private:
  struct Stack;
  struct Side {  // The world, or the body: what is needed to go on there.
    ucontext_t context;
    void* fake_stack = nullptr;  // Of the address sanitizer, as is what follows.
    const void* bottom = nullptr;
    size_t size = 0;
  };

  void begin();
  static void enter(unsigned low, unsigned high);  // The two halves of the fiber's address.
  void run();
  static void change(Side& from, Side& to, bool for_good);
  Answer wish(Wish wish);

  Body body_;
  std::unique_ptr<Stack> stack_;  // None before it begins.
  Side world_;
  Side its_own_;
  std::optional<Wish> wish_;
  Answer answer_;
  bool killed_ = false;
  bool over_ = false;
};

}  // namespace dunlin
