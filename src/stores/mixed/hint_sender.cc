#include "stores/mixed/hint_sender.h"

#include <map>
#include <utility>

#include "base/env_posix.h"
#include "base/log.h"
#include "base/wait.h"

namespace dunlin::mixed {
namespace {

constexpr size_t kWaitingMax = 10'000;  // Hints; more are dropped.
constexpr Millis kFailingWait = Millis(5000);
constexpr Millis kForever = std::chrono::hours(1);

// Asks nobody yet.
std::unique_ptr<Hints> made(const ConnectHints& connect) {
  auto hints = connect();
  return hints.ok() ? std::move(hints).value() : nullptr;
}

}  // namespace

HintSender::HintSender(ConnectHints connect)
    : connect_(std::move(connect)), hints_(made(connect_)), thread_([this] { run(); }) {}

HintSender::~HintSender() {
  posted_.put({});
  if (hints_ != nullptr) hints_->stop();  // A service that is away is not tried again.
  thread_.join();
}

void HintSender::post(std::vector<Posted>&& posted) {
  if (posted.empty() || waiting_ >= kWaitingMax) return;
  waiting_ += posted.size();
  posted_.put(std::move(posted));
}

void HintSender::run() {
  for (bool over = false; !over;) {
    std::map<std::string, std::vector<std::string>> by_queue;
    for (std::vector<Posted>& some : posted_.take()) {
      over = over || some.empty();
      waiting_ -= some.size();
      for (Posted& one : some) by_queue[one.queue].push_back(std::move(one.hint));
    }
    send(std::move(by_queue));
    if (!over) wait_until(posix_clock().now() + kForever, posix_clock(), posted_.descriptor());
  }
}

void HintSender::send(std::map<std::string, std::vector<std::string>>&& by_queue) {
  for (const auto& [queue, hints] : by_queue) {
    const auto failed = failing_.find(queue);
    if (failed != failing_.end() && posix_clock().now() < failed->second) continue;
    if (hints_ == nullptr) return;
    const auto sent = hints_->send(queue, hints);
    if (!sent.ok() && failing_.empty()) {
      log::warning("cannot send hints, so workers find work more slowly: {}", sent.error().what);
    }
    if (sent.ok() && !failing_.empty()) {
      // Others have perhaps nothing to send any more.
      const Instant now = posix_clock().now();
      std::erase_if(failing_, [now, &name = queue](const auto& one) {
        return one.first == name || one.second <= now;
      });
      if (failing_.empty()) log::info("sending hints again");
    }
    // Trying takes seconds, in which other queues would wait.
    if (!sent.ok()) failing_[queue] = posix_clock().now() + kFailingWait;
    fails_ = !failing_.empty();
  }
}

}  // namespace dunlin::mixed
