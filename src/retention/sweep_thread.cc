#include "retention/sweep_thread.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "base/wait.h"

namespace dunlin::retention {
namespace {

constexpr Millis kTryAgain = std::chrono::seconds(10);
constexpr Millis kPauseMin = Millis(10);

}  // namespace

SweepThread::SweepThread(Connect connect, SweeperOptions options, const Clock& clock)
    : connect_(std::move(connect)),
      clock_(clock),
      sweeper_(std::move(options)),
      thread_([this] { run(); }) {}

SweepThread::~SweepThread() {
  stopping_ = true;
  stop_.wake();
  thread_.join();
}

Result<Millis> SweepThread::look() {
  if (store_ == nullptr) store_ = TRY(connect_());
  return sweeper_.sweep(*store_, {clock_.now(), clock_.wall()});
}

void SweepThread::run() {
  std::string trouble;
  while (!stopping_) {
    const Instant begun = clock_.now();
    const Result<Millis> next = look();
    if (stopping_) break;  // Whatever it said: the hub may be gone by now.
    // Others want the store, too: what took long is followed by a pause as long.
    const Millis pause = std::max(clock_.now() - begun, kPauseMin);
    if (!next.ok() && next.error().what != trouble) {
      trouble = next.error().what;
      log::warning("cannot remove old jobs, trying again: {}", trouble);
    }
    if (next.ok()) trouble.clear();
    const Millis wait = next.ok() ? std::max(next.value(), pause) : kTryAgain;
    wait_until(clock_.now() + wait, clock_, stop_.descriptor());
  }
  if (store_ != nullptr && trouble.empty()) (void)sweeper_.leave(*store_).ok();
}

}  // namespace dunlin::retention
