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
#include "mixed/hints.h"

namespace dunlin {

class HintSender {
 public:
  explicit HintSender(ConnectHints connect);
  ~HintSender();  // Sends what is left, if the service takes it.
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  // From any thread.
  void post(std::string queue, std::string hint);

 private:
  struct Posted {
    std::string queue;
    std::string hint;
    bool last = false;
  };

  void run();
  void send(std::vector<Posted>&& posted);

  ConnectHints connect_;
  std::unique_ptr<Hints> hints_;            // Of the thread.
  std::map<std::string, Instant> failing_;  // Queues to leave alone until then. Of the thread.
  Box<Posted> posted_;
  std::atomic<size_t> waiting_ = 0;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace dunlin
