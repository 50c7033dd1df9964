#include "doors/rest/server/service.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "base/log.h"
#include "base/names.h"
#include "base/rationed_log.h"
#include "base/signals.h"
#include "base/waker.h"
#include "doors/rest/server/exchange.h"
#include "doors/rest/server/problem.h"
#include "net/listen.h"
#include "net/strangers.h"

namespace dunlin::rest {
namespace {

constexpr int kAcceptRetryMs = 100;
constexpr size_t kStreamsMax = 128;  // Of one owner or token half.
constexpr size_t kEndingMax = 256;   // Connections that made room and have not ended yet.
constexpr Millis kRefusal = std::chrono::seconds(1);  // To take the words of a refusal.

}  // namespace

class Service::Threads {
 public:
  Threads(const Clock& clock, Stores& stores, const std::vector<Family>& families,
          ServiceOptions options)
      : clock_(clock),
        stores_(stores),
        options_(std::move(options)),
        setting_{
            clock,     cache_,   options_.tls != nullptr, options_.public_url, options_.upload_max,
            &families, &streams_} {}

  ~Threads() {
    stop();
    for (const int listener : listeners_) close(listener);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  Result<net::Address> listen(const net::Address& address) {
    const net::Listening opened = TRY(net::open_listener(address));
    listeners_.push_back(opened.socket);
    return opened.address;
  }

  void start(int signals, std::function<void()> stopped) {
    signals_ = signals;
    stopped_ = std::move(stopped);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  void stop() {
    stopping_.wake();
    const std::lock_guard lock(joining_);
    if (acceptor_.joinable() && acceptor_.get_id() != std::this_thread::get_id()) acceptor_.join();
  }

  void wait() {
    const std::lock_guard lock(joining_);
    if (acceptor_.joinable()) acceptor_.join();
  }

 private:
  struct Served {
    uint64_t id = 0;
    std::string origin = {};
    int socket = -1;
    bool greeted = false;          // It has made a request.
    Waits waits = Waits::in_vain;  // Who has not counts as such.
    bool counts = true;            // Until it has made room, or has ended.
    bool ended = false;
    std::thread thread = {};
  };

  bool should_stop() const {
    pollfd both[] = {{.fd = stopping_.descriptor(), .events = POLLIN, .revents = 0},
                     {.fd = signals_, .events = POLLIN, .revents = 0}};
    return poll(both, 2, 0) > 0;
  }

  void accept_all() {
    std::vector<pollfd> watched;
    for (const int listener : listeners_) watched.push_back({listener, POLLIN, 0});
    watched.push_back({stopping_.descriptor(), POLLIN, 0});
    watched.push_back({signals_, POLLIN, 0});
    while (!should_stop()) {
      const auto tell = tell_complaints();
      const int wait =
          tell ? static_cast<int>(std::max<int64_t>((*tell - clock_.now()).count(), 1)) : -1;
      poll(watched.data(), watched.size(), wait);
      reap();
      for (const int listener : listeners_) accept_one(listener);
    }
    if (signals_ >= 0) {
      while (take_signal(signals_)) continue;
    }
    stopping_.wake();
    for (const int listener : listeners_) shutdown(listener, SHUT_RDWR);
    end_all();
    if (stopped_) stopped_();
  }

  std::optional<Instant> tell_complaints() {
    const std::lock_guard lock(mutex_);
    return complaints_.tell(clock_.now());
  }

  void accept_one(int listener) {
    net::Address from;
    from.size = sizeof(from.socket);
    const int socket = accept4(listener, reinterpret_cast<sockaddr*>(&from.socket), &from.size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        const std::string why = std::strerror(errno);
        {
          const std::lock_guard lock(mutex_);
          complaints_.warning("cannot accept another connection: " + why, clock_.now());
          make_room(strangers_.oldest(), idle_.oldest());
        }
        poll(nullptr, 0, kAcceptRetryMs);
      }
      return;
    }
    net::tune_connection(socket);
    const std::string origin = net::origin_of(from);
    std::unique_lock lock(mutex_);
    if (!has_room(origin)) {
      lock.unlock();
      refuse(socket);
      return;
    }
    Served& served = served_.emplace_back();
    served.id = ++last_id_;
    served.origin = origin;
    served.socket = socket;
    by_id_.emplace(served.id, &served);
    strangers_.add(served.id, origin);
    ++origins_[origin];
    ++counted_;
    try {
      served.thread = std::thread([this, &served] { serve(served); });
    } catch (const std::system_error& error) {
      complaints_.warning(fmt::format("cannot serve another connection: {}", error.what()),
                          clock_.now());
      make_room(strangers_.oldest(), idle_.oldest());
      end_counting(served);
      by_id_.erase(served.id);
      served_.pop_back();
      lock.unlock();
      refuse(socket);
    }
  }

  // For one more from there; others may have to go. REQUIRES: locked, as for the next four.
  bool has_room(const std::string& origin) {
    const size_t each_max = std::max<size_t>(options_.connections_max * 3 / 4, 1);
    const auto same = origins_.find(origin);
    if (same != origins_.end() && same->second >= each_max) {
      make_room(strangers_.oldest_of(origin), idle_.oldest_of(origin));
      if (origins_.contains(origin) && origins_.at(origin) >= each_max) return false;
    }
    if (counted_ >= options_.connections_max) make_room(strangers_.oldest(), idle_.oldest());
    return counted_ < options_.connections_max &&
           served_.size() < options_.connections_max + kEndingMax;
  }

  // Rather one that has never made a request, or sends what nobody wants.
  void make_room(std::optional<uint64_t> stranger, std::optional<uint64_t> idle) {
    const std::optional<uint64_t> id = stranger ? stranger : idle;
    if (!id) return;
    Served& served = *by_id_.at(*id);
    end_counting(served);
    shutdown(served.socket, SHUT_RDWR);
  }

  void end_counting(Served& served) {
    strangers_.remove(served.id);
    idle_.remove(served.id);
    if (!std::exchange(served.counts, false)) return;
    --counted_;
    const auto origin = origins_.find(served.origin);
    if (--origin->second == 0) origins_.erase(origin);
  }

  void waits(Served& served, Waits what) {
    const std::lock_guard lock(mutex_);
    if (!served.counts || what == served.waits) return;
    if (what == Waits::request && !served.greeted) return;
    strangers_.remove(served.id);
    idle_.remove(served.id);
    if (what == Waits::request) idle_.add(served.id, served.origin);
    if (what == Waits::in_vain) strangers_.add(served.id, served.origin);
    served.greeted = true;
    served.waits = what;
  }

  // Says why only without TLS: a client that is refused is not worth a handshake.
  void refuse(int socket) const {
    Connection connection(socket, nullptr, clock_);
    if (options_.tls != nullptr) return;
    std::string bytes;
    http::append_reply(problem(503, "full", "there are too many connections: try again"), false,
                       bytes);
    (void)connection.send(bytes, kRefusal).ok();
  }

  // What a request throws, here or in a library, ends its connection and not the service.
  void serve(Served& served) {
    {
      Connection connection(served.socket, options_.tls, clock_);
      const ExchangeLimits limits{.first_max = options_.first_max,
                                  .idle_max = options_.idle_max,
                                  .head_max = options_.head_max,
                                  .waiting = [this, &served](Waits what) { waits(served, what); }};
      std::string failed;
      try {
        serve_connection(connection, setting_, limits, stores_, stopping_.descriptor());
      } catch (const std::exception& error) {
        failed = error.what();
      }
      const std::lock_guard lock(mutex_);
      if (!failed.empty()) {
        complaints_.warning(
            fmt::format("a request failed and ended its connection: {}", quote(failed)),
            clock_.now());
      }
      end_counting(served);
      by_id_.erase(served.id);
      served.socket = -1;  // Its number may soon be another's.
      served.ended = true;
    }
    ended_.notify_all();
  }

  // Joins threads that have ended.
  void reap() {
    std::list<Served> ended;
    const std::lock_guard lock(mutex_);
    for (auto at = served_.begin(); at != served_.end();) {
      const auto next = std::next(at);
      if (at->ended) ended.splice(ended.end(), served_, at);
      at = next;
    }
    for (Served& served : ended) served.thread.join();
  }

  void end_all() {
    std::unique_lock lock(mutex_);
    const auto all_ended = [this] {
      return std::ranges::all_of(served_, [](const Served& served) { return served.ended; });
    };
    if (!ended_.wait_for(lock, options_.stop_max, all_ended)) {
      for (const Served& served : served_) {
        if (served.socket >= 0) shutdown(served.socket, SHUT_RDWR);
      }
    }
    ended_.wait(lock, all_ended);
    for (Served& served : served_) served.thread.join();
    served_.clear();
  }

  const Clock& clock_;
  Stores& stores_;
  const ServiceOptions options_;
  ServiceCache cache_;
  StreamLimit streams_{kStreamsMax};
  const Setting setting_;
  std::vector<int> listeners_;
  int signals_ = -1;
  std::function<void()> stopped_;
  Waker stopping_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Served> served_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Served*> by_id_;      // Those that have not ended.
  std::map<std::string, size_t> origins_;  // How many of those count.
  size_t counted_ = 0;
  net::Strangers strangers_;               // They wait for a first request, or in vain.
  net::Strangers idle_;                    // They wait for another request.
  RationedLog complaints_{"connections"};  // Under the lock.
  std::mutex joining_;
  std::thread acceptor_;
};

Service::Service(const Clock& clock, Stores& stores, const std::vector<Family>& families,
                 ServiceOptions options)
    : threads_(std::make_unique<Threads>(clock, stores, families, std::move(options))) {}
Service::~Service() = default;

Result<net::Address> Service::listen(const net::Address& address) {
  return threads_->listen(address);
}
void Service::start(int signals, std::function<void()> stopped) {
  threads_->start(signals, std::move(stopped));
}
void Service::stop() { threads_->stop(); }
void Service::wait() { threads_->wait(); }

}  // namespace dunlin::rest
