#include "sdk/link.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "base/printable.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/rows.h"
#include "sdk/convert.h"
#include "wire/token_text.h"

namespace dunlin::sdk {
namespace {

// Longer than any program runs, and short enough for a clock to add it.
constexpr std::chrono::hours kLong = std::chrono::hours(24 * 365);

}  // namespace

Result<std::shared_ptr<Link>> Link::open(const std::string& url,
                                         const stores::OpenOptions& options) {
  if (!stores::is_hub_url(url)) {
    return dunlin::Error{dunlin::Code::unsupported,
                         fmt::format("a client cannot use the store {}: give the URL of a hub, "
                                     "dunlin://HOST:PORT",
                                     quote_url(url))};
  }
  auto store = TRY(stores::open_store(url, options));
  stores::StoreAccess access = TRY(stores::open_access(url, options));
  const bool by_file = options.token.empty() && !options.token_file.empty();
  const std::string token = by_file ? TRY(stores::read_token(options.token_file)) : options.token;
  return std::make_shared<Link>(Private(), std::move(store), std::move(access.async_store),
                                owner_in_token(token));
}

Link::Link(Private, std::unique_ptr<RequestStore> store,
           std::unique_ptr<stores::AsyncStore> async_store, std::string owner)
    : owner_(std::move(owner)),
      store_(std::move(store)),
      async_store_(std::move(async_store)),
      replies_(dunlin::reply_queue(fmt::format("{:016x}", random_seed()), owner_)),
      nonces_(random_seed()),
      random_(random_seed()),
      receiver_([this] { receive(); }) {}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  waker_.wake();
  receiver_.join();
  give_up({dunlin::Code::unavailable, "the client was closed before the outcome came"});
}

std::string Link::make_id() {
  const std::lock_guard lock(mutex_);
  std::string id;
  const WallTime now = posix_clock().wall();
  const std::string prefix = job_id_prefix(now);
  if (ids_.empty() || !ids_.begin()->starts_with(prefix)) ids_.clear();
  do {
    id = owned_job_id(make_job_id(random_, now), owner_);
  } while (!ids_.insert(id).second);
  return id;
}

bool Link::knows_route(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  const auto known = routes_.find(queue);
  return known != routes_.end() && posix_clock().now() - known->second < kRouteKnown;
}

void Link::learn_route(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  routes_[queue] = posix_clock().now();
}

std::shared_ptr<Followed> Link::follow(const std::string& job, uint64_t tasks, bool ours) {
  auto followed = std::make_shared<Followed>(job, tasks, ours);
  {
    const std::lock_guard lock(mutex_);
    jobs_.emplace(job, followed);
  }
  if (!ours) look_soon();
  return followed;
}

void Link::look_soon() {
  {
    const std::lock_guard lock(mutex_);
    look_now_ = true;
  }
  waker_.wake();
}

void Link::forget(const Followed& job) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = jobs_.equal_range(job.id);
  const auto found =
      std::find_if(first, last, [&](const auto& one) { return &*one.second == &job; });
  if (found != last) jobs_.erase(found);
}

void Link::drop_handle(Followed& job) {
  bool unwanted = false;
  {
    const std::lock_guard lock(mutex_);
    job.has_handle = false;
    job.ready.clear();
    unwanted = job.promised.empty();
  }
  if (unwanted) forget(job);
}

bool Link::wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
                const std::function<bool()>& ready) {
  return changed_.wait_for(lock, std::min<std::chrono::milliseconds>(timeout, kLong), ready);
}

Expected<std::optional<TaskResult>> Link::next(Followed& job, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool some =
      wait(lock, timeout, [&] { return !job.ready.empty() || job.over || trouble_.has_value(); });
  if (!job.ready.empty()) {
    auto first = job.ready.extract(job.ready.begin());
    job.taken.resize(std::max<size_t>(job.taken.size(), first.key() + 1));
    job.taken[first.key()] = true;
    return std::optional(std::move(first.mapped()));
  }
  if (job.trouble) return *job.trouble;
  if (job.over) return std::optional<TaskResult>();
  if (trouble_) return *trouble_;
  return Error{some ? Code::unavailable : Code::timeout,
               fmt::format("no outcome of job {} came in {} ms", job.id, timeout.count())};
}

Expected<std::vector<TaskResult>> Link::take_all(Followed& job, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  wait(lock, timeout, [&] { return job.over || trouble_.has_value(); });
  if (job.trouble) return *job.trouble;
  if (!job.over && trouble_) return *trouble_;
  if (!job.over) {
    return Error{Code::timeout,
                 fmt::format("job {} did not end in {} ms", job.id, timeout.count())};
  }
  std::vector<TaskResult> results;
  results.reserve(job.ready.size());
  for (auto& [task, result] : std::exchange(job.ready, {})) {
    job.taken.resize(std::max<size_t>(job.taken.size(), task + 1));
    job.taken[task] = true;
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<std::future<Expected<TaskResult>>> Link::promise(Followed& job, uint64_t task) {
  const std::lock_guard lock(mutex_);
  if (trouble_ || job.trouble) {
    Promise promise;
    promise.set_value(trouble_ ? *trouble_ : *job.trouble);
    return promise.get_future();
  }
  const auto found = job.ready.find(task);
  const bool taken = task < job.taken.size() && job.taken[task];
  if (found == job.ready.end() && (taken || job.over)) return std::nullopt;
  auto future = job.promised.emplace(task, Promise())->second.get_future();
  if (found != job.ready.end()) {
    TaskResult result = std::move(found->second);
    job.ready.erase(found);
    deliver(job, std::move(result));
  }
  return future;
}

void Link::deliver(Followed& job, TaskResult&& result) {
  const uint64_t task = result.task;
  const auto [first, last] = job.promised.equal_range(task);
  if (first == last) {
    if (job.has_handle) job.ready.emplace(task, std::move(result));
    return;
  }
  for (auto one = first; one != last; ++one) one->second.set_value(result);
  job.promised.erase(first, last);
  job.taken.resize(std::max<size_t>(job.taken.size(), task + 1));
  job.taken[task] = true;
}

void Link::end(Followed& job) {
  job.over = true;
  for (auto& [task, promise] : std::exchange(job.promised, {})) {
    promise.set_value(job.trouble.value_or(
        Error{Code::not_found, fmt::format("task {} of job {} has no outcome: the job was "
                                           "cancelled or skipped",
                                           task, job.id)}));
  }
}

void Link::give_up(const dunlin::Error& why) {
  const std::lock_guard lock(mutex_);
  trouble_ = public_error(why);
  for (const auto& [id, job] : jobs_) {
    for (auto& [task, promise] : std::exchange(job->promised, {})) promise.set_value(*trouble_);
  }
  changed_.notify_all();
}

}  // namespace dunlin::sdk
