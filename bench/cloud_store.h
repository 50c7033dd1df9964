// A store on SQS and DynamoDB in simulated time: the memory core, which answers, behind the delays
// of bench/cloud_model.h, which follow what stores/mixed/mixed_store.h asks of both services:
//
//   commit       one write of all its rows; messages are rows, large ones two. Then the process
//                sends hints for what was pushed, by a thread of its own: one request at a time,
//                for each queue and ten hints, with what has gathered meanwhile.
//   pull         looks through the queue's rows first and every five seconds; else waits for hints,
//                asks for more if it got as many as it asked for, and writes the lease. A hint
//                whose message is gone costs that, too. Hints are deleted in tens, and when none
//                comes.
//   renew        one write
//   depth        a scan of the queue's rows
//   get, scan    one read for each 100 keys or each page
//
// Who is late with a comparison learns it after the write, and reads. One thread.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "bench/cloud_model.h"
#include "bench/cloud_timeline.h"
#include "store/request.h"

namespace dunlin::bench {

// What a process of its own has: when it looks through a queue, and the thread that sends hints.
class CloudSite {
 private:
  friend class CloudStore;
  struct Batch {
    std::string queue;
    std::vector<size_t> hints;  // Their bytes.
  };
  std::map<std::string, Micros> looks_;
  std::map<std::string, size_t> unsettled_;  // Hints that were received, by queue.
  std::map<std::string, std::vector<size_t>> posted_;
  std::deque<Batch> sending_;
  bool busy_ = false;
};

struct SqsBill {
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t deleted = 0;
  uint64_t requests() const { return sent + received + deleted; }
};

class CloudStore {
 public:
  using Then = std::function<void(Answer&&)>;

  CloudStore(Timeline& timeline, const CloudModel& model, uint64_t seed);

  // REQUIRES: the site outlives the answer.
  void ask(CloudSite& site, Request&& request, Then then);
  // At once, for what is there before the clock runs.
  Answer ask_now(Request&& request);

  const SqsBill& sqs() const { return sqs_; }
  const Meter& writes() const { return writes_; }
  const Meter& reads() const { return reads_; }
  void forget_bill();

 private:
  struct Line {                    // A queue.
    std::deque<size_t> hints;      // That can be received: their bytes.
    std::deque<uint64_t> waiting;  // Pulls.
    size_t row_bytes = 0;          // Of its messages, without bodies that stand apart.
  };
  struct Pulling {
    CloudSite* site = nullptr;
    Pull pull;
    Then then;
    Micros until = 0;
    size_t hints = 0;
    uint64_t wait = 0;  // Number of its latest wait.
  };
  struct Weight {  // Of a message, in bytes.
    size_t row = 0;
    size_t body = 0;  // 0 if it is in the row.
  };
  struct Cost {
    size_t rows = 0;
    size_t messages = 0;
    uint64_t units = 0;
    bool has_rows = false;  // Others than messages.
  };

  void on(CloudSite& site, Commit&& commit, Then then);
  void on(CloudSite& site, Pull&& pull, Then then);
  void on(CloudSite& site, Renew&& renew, Then then);
  void on(CloudSite& site, AskDepth&& ask, Then then);
  void on(CloudSite& site, Get&& get, Then then);
  void on(CloudSite& site, Scan&& scan, Then then);
  template <typename Other>
  void on(CloudSite& site, Other&& other, const Then& then);

  static Weight weigh(const std::string& queue, const Message& message);
  Cost cost_of(const Commit& commit) const;
  void note_messages(CloudSite& site, const std::vector<Write>& writes);
  void read_then(Request&& request, size_t requests, Then then);

  // How long so many requests take, one after the other.
  Micros write(size_t requests, uint64_t units);
  Micros read(size_t requests, uint64_t units);

  void post_hint(CloudSite& site, const std::string& queue, size_t bytes);
  void send_next(CloudSite& site);

  void advance(uint64_t id);
  void look(uint64_t id);
  void wait(uint64_t id);
  void give_up_waiting(uint64_t id, uint64_t wait);
  void receive(uint64_t id);
  Micros settle(CloudSite& site, const std::string& queue, size_t hints);
  void lease(uint64_t id, size_t count, bool hinted);
  void leased(uint64_t id, size_t count, bool hinted);
  void end(uint64_t id, Answer&& answer);

  Timeline& timeline_;
  const CloudModel model_;
  Random random_;
  std::unique_ptr<Core> core_;
  Meter writes_;
  Meter reads_;
  SqsBill sqs_;
  std::map<std::string, Line> lines_;
  absl::flat_hash_map<std::string, Weight> weights_;  // By queue and message.
  std::map<uint64_t, Pulling> pulls_;
  uint64_t last_pull_ = 0;
};

// A thread with a store that blocks: one request at a time, in their order.
class CloudLane {
 public:
  CloudLane(CloudStore& store, CloudSite& site) : store_(store), site_(site) {}
  void post(Request&& request, CloudStore::Then then);

 private:
  struct Posted {
    Request request;
    CloudStore::Then then;
  };
  void next();

  CloudStore& store_;
  CloudSite& site_;
  std::deque<Posted> posted_;
  bool busy_ = false;
};

}  // namespace dunlin::bench
