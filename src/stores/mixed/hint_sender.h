// Sends hints from a thread of its own: who writes a message does not wait for the queue service.
// What cannot be sent is dropped, because who waits for messages looks by itself now and then.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/lane.h"
#include "stores/mixed/hints.h"

namespace dunlin::mixed {

class HintSender {
 public:
  explicit HintSender(ConnectHints connect);
  ~HintSender();  // Sends what is left, if the service takes it.
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  struct Posted {
    std::string queue;
    std::string hint;
  };

  // From any thread.
  void post(std::vector<Posted>&& posted);

  // Whether hints are dropped because the service does not take them. From any thread.
  bool fails() const { return fails_; }

 private:
  void run();
  void send(std::map<std::string, std::vector<std::string>>&& by_queue);

  ConnectHints connect_;
  std::unique_ptr<Hints> hints_;            // Of the thread, but for stop().
  std::map<std::string, Instant> failing_;  // Queues to leave alone until then. Of the thread.
  Box<std::vector<Posted>> posted_;         // None at all: it is over.
  std::atomic<size_t> waiting_ = 0;
  std::atomic<bool> fails_ = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace dunlin::mixed
