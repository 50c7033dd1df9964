#include "mixed/hint_sender.h"

#include <map>
#include <utility>

#include "base/env_posix.h"
#include "base/log.h"
#include "net/socket.h"

namespace dunlin {
namespace {

constexpr size_t kWaitingMax = 10'000;  // Hints; more are dropped.
constexpr Millis kFailingWait = Millis(5000);
constexpr Millis kForever = std::chrono::hours(1);

}  // namespace

HintSender::HintSender(ConnectHints connect)
    : connect_(std::move(connect)), thread_([this] { run(); }) {}

HintSender::~HintSender() {
  posted_.put({.queue = {}, .hint = {}, .last = true});
  thread_.join();
}

void HintSender::post(std::string queue, std::string hint) {
  if (waiting_ >= kWaitingMax) return;
  ++waiting_;
  posted_.put({std::move(queue), std::move(hint), false});
}

void HintSender::run() {
  while (true) {
    std::vector<Posted> posted = posted_.take();
    if (posted.empty()) {
      wait_until(posix_clock().now() + kForever, posix_clock(), posted_.descriptor());
      continue;
    }
    const bool last = posted.back().last;
    if (last) posted.pop_back();
    waiting_ -= posted.size();
    send(std::move(posted));
    if (last) return;
  }
}

void HintSender::send(std::vector<Posted>&& posted) {
  std::map<std::string, std::vector<std::string>> by_queue;
  for (Posted& one : posted) by_queue[one.queue].push_back(std::move(one.hint));
  for (const auto& [queue, hints] : by_queue) {
    const auto failed = failing_.find(queue);
    if (failed != failing_.end() && posix_clock().now() < failed->second) continue;
    if (hints_ == nullptr) {
      auto made = connect_();
      if (made.ok()) hints_ = std::move(made).value();
    }
    if (hints_ == nullptr) return;
    const auto sent = hints_->send(queue, hints);
    if (!sent.ok() && failing_.empty()) {
      log::warning("no hints are sent, work is found more slowly: {}", sent.error().what);
    }
    if (sent.ok() && failing_.erase(queue) > 0 && failing_.empty()) {
      log::info("hints are sent again");
    }
    // Trying takes seconds, in which other queues would wait.
    if (!sent.ok()) failing_[queue] = posix_clock().now() + kFailingWait;
  }
}

}  // namespace dunlin
