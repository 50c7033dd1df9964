// The connection of a client, shared by its jobs: a store for calls, one at a time from any thread,
// and a thread that receives replies over an AsyncStore of its own and hands them to the jobs that
// they belong to. Once in a second it looks at jobs that have been quiet, in case a reply was
// missed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <dunlin/client.h>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "base/waker.h"
#include "model/jobs/progress.h"
#include "model/jobs/results.h"
#include "model/replies.h"
#include "store/request_store.h"
#include "stores/async_store.h"
#include "stores/open.h"

namespace dunlin::sdk {

using Promise = std::promise<Expected<TaskResult>>;

// One job that somebody here has a handle or a future of. The receiver owns what it needs to follow
// the job, the link's lock guards the rest.
struct Followed {
  Followed(std::string job, uint64_t count, bool replies)
      : id(std::move(job)), tasks(count), ours(replies), follower(id, count) {}

  const std::string id;
  const uint64_t tasks;
  const bool ours;  // Its replies come to us.

  ResultFollower follower;
  std::vector<dunlin::TaskResult> unfetched = {};  // Without those outputs that are rows.
  bool quiet = true;                               // No reply came since the last look.
  bool ended = false;                              // What follower has seen is all there will be.

  std::map<uint64_t, TaskResult> ready = {};  // Not taken yet, by task.
  std::multimap<uint64_t, Promise> promised = {};
  std::vector<bool> taken = {};       // By task; false beyond its end.
  std::optional<Error> trouble = {};  // Its pages cannot be read.
  bool over = false;                  // No more will come.
  bool has_handle = true;
};

class Link {
  struct Private {};

 public:
  Link(Private, std::unique_ptr<RequestStore> store,
       std::unique_ptr<stores::AsyncStore> async_store, std::string owner);
  static Result<std::shared_ptr<Link>> open(const std::string& url,
                                            const stores::OpenOptions& options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // One thread at a time has the store.
  template <typename Work>
  auto call(const Work& work) {
    const std::lock_guard lock(store_mutex_);
    return work(*store_);
  }

  // That the token is bound to; empty: to nobody.
  const std::string& owner() const { return owner_; }
  const std::string& reply_queue() const { return replies_.name(); }
  std::string make_id();  // Another one each time.
  bool knows_route(const std::string& queue);
  void learn_route(const std::string& queue);

  // Before the job is submitted, so that no reply comes too early; forget() if it could not be.
  std::shared_ptr<Followed> follow(const std::string& job, uint64_t tasks, bool ours);
  void forget(const Followed& job);
  void drop_handle(Followed& job);
  void look_soon();  // Something has happened that no reply tells of.

  Expected<std::optional<TaskResult>> next(Followed& job, std::chrono::milliseconds timeout);
  Expected<std::vector<TaskResult>> take_all(Followed& job, std::chrono::milliseconds timeout);
  // None if the store must be asked, because the outcome was taken before or will not come.
  std::optional<std::future<Expected<TaskResult>>> promise(Followed& job, uint64_t task);

 private:
  // Of the receiver.
  void receive();
  void ask_for_replies();
  void answered(NumberedAnswer&& answer);
  void take_reply(const model::Reply& reply, std::vector<std::shared_ptr<Followed>>& touched);
  void finish_replies();
  void look();
  void look_for_removed(const std::vector<std::shared_ptr<Followed>>& quiet);
  void look_at(Followed& job, const Standing& standing);
  void hand_over(Followed& job);
  Result<std::vector<TaskResult>> fetch(const Followed& job);
  void give_up(const dunlin::Error& why);

  // With the lock.
  void deliver(Followed& job, TaskResult&& result);
  void end(Followed& job);
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
            const std::function<bool()>& ready);
  std::shared_ptr<Followed> find(const std::string& id);

  const std::string owner_;

  std::mutex store_mutex_;
  std::unique_ptr<RequestStore> store_;

  std::unique_ptr<stores::AsyncStore> async_store_;  // Of the receiver, and these:
  ReplyQueue replies_;                               // Its name is anybody's to read.
  Random nonces_;
  uint64_t posted_ = 0;
  uint64_t pull_ = 0;  // The pull that is under way; 0: none.

  std::mutex mutex_;  // Of what follows, and of the jobs. Never held while the store works.
  std::condition_variable changed_;
  Random random_;
  std::multimap<std::string, std::shared_ptr<Followed>> jobs_;  // By id; one may be found often.
  std::set<std::string> ids_;                                   // Made in this millisecond.
  std::map<std::string, Instant> routes_;                       // That were there then.
  uint64_t looks_ = 0;
  std::optional<Error> trouble_;  // No results will come any more.
  bool look_now_ = false;
  bool closing_ = false;

  Waker waker_;
  std::thread receiver_;  // Last: it uses the others.
};

}  // namespace dunlin::sdk
