#include "net/server.h"

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "base/rationed_log.h"
#include "net/listen.h"
#include "net/strangers.h"

namespace dunlin::net {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

constexpr size_t kReadBuffer = 256 << 10;
constexpr size_t kAcceptsMax = 64;          // In a turn, on each address.
constexpr size_t kCrowdMax = 64;            // Peers beyond the limit that are told so.
constexpr size_t kSpareMax = 16;            // Buffers that are kept for the next peer.
constexpr size_t kSpareBytesMax = 4 << 20;  // Of such a buffer.
constexpr Millis kAcceptRetry = Millis(200);

struct Peer {
  Peer(Descriptor&& connected, Service& served_by)
      : socket(std::move(connected)), service(served_by) {}

  Descriptor socket;
  Service& service;
  std::string name;  // Its address.
  std::optional<TlsSession> tls;
  std::string plain;  // With TLS: waits to be encrypted.
  std::string out;    // Waits to be sent, from `sent` on.
  size_t sent = 0;
  size_t counted = 0;  // Of `out`, in Loop::unsent_.
  Instant progress;    // When it last took a byte, or had none to take.
  bool greeted = false;
  bool paused = false;     // By the service.
  bool finishing = false;  // What it sends is thrown away.
  bool doomed = false;     // To be dropped after this turn.
  bool reading = false;    // Waits to be readable.
  bool writing = false;    // Waits to be writable.
  bool dirty = false;      // Is in Loop::dirty_.

  size_t unsent() const { return plain.size() + out.size() - sent; }
};

struct Listener {
  Listener(asio::io_context& io, int number, Service* served_by, bool without_tls)
      : socket(io, number), service(served_by), plain(without_tls) {}

  Descriptor socket;
  Service* service;  // Null: that of run().
  bool plain;        // Without TLS.
};

}  // namespace

class Server::Loop {
 public:
  Loop(const Clock& clock, const TlsContext* tls, ServerLimits limits)
      : clock_(clock), tls_(tls), limits_(limits), buffer_(kReadBuffer, '\0'), signals_(io_) {}

  Result<Address> listen(const Address& address, Service* service, bool plain);
  void run(Service& service);
  void stop() {
    asio::post(io_, [this] { stopping_ = true; });
  }
  void stop_on(const std::vector<int>& signals);

  std::string* outgoing(PeerId id);
  void greeted(PeerId id);
  void pause(PeerId id, bool paused);
  void finish(PeerId id);
  void doom(PeerId id, std::string_view reason);
  bool clogged(const Peer& peer) const {
    return peer.unsent() > limits_.unsent_max ||
           (peer.unsent() > 0 && unsent_ > limits_.unsent_all_max);
  }
  Peer* find(PeerId id) {
    const auto found = peers_.find(id);
    return found == peers_.end() ? nullptr : found->second.get();
  }

 private:
  struct Deadline {
    Instant at;
    PeerId peer = 0;
  };

  void gather(std::optional<Instant> wake);
  void keep_time();
  std::optional<Instant> next_deadline();
  void send_all();
  bool finished(std::optional<Instant> wake) const;
  void close_all();

  std::optional<Instant> turn();
  void wait_to_accept(Listener& listener);
  void accept(Listener& listener);
  void admit(int number, const Address& address, const Listener& listener);
  bool make_room(std::optional<PeerId> stranger);
  void read(PeerId id);
  Result<void> receive(PeerId id, Peer& peer, std::string_view bytes);
  Result<void> encrypt(Peer& peer);
  void touch(PeerId id, Peer& peer) {
    if (!std::exchange(peer.dirty, true)) dirty_.push_back(id);
  }
  void send(PeerId id);
  void wait_to_read(PeerId id);
  void left(PeerId id);
  void drop(PeerId id, std::string_view reason);
  Result<void> forget(PeerId id);
  void recycle(std::string&& buffer);

  const Clock& clock_;
  const TlsContext* tls_;
  const ServerLimits limits_;
  Service* service_ = nullptr;
  Instant now_;
  asio::io_context io_{1};
  std::string buffer_;  // What was just received, from whoever it was.
  std::string plain_;   // The same, decrypted.
  asio::signal_set signals_;
  std::deque<Listener> listeners_;
  std::vector<Service*> others_;         // Services of addresses, each once.
  std::optional<Instant> accept_again_;  // After the system had no room for another connection.

  PeerId last_peer_ = 0;
  absl::flat_hash_map<PeerId, std::unique_ptr<Peer>> peers_;
  Strangers strangers_;  // Those that have not greeted and are not finishing.
  std::vector<std::pair<PeerId, std::string>> doomed_;  // And why.
  RationedLog complaints_{"connections"};
  size_t gathered_ = 0;          // Bytes in this turn.
  size_t unsent_ = 0;            // Bytes to all peers.
  bool again_ = false;           // A peer takes bytes again for which the service may have waited.
  std::vector<PeerId> to_read_;  // Peers that may be read again after this turn.
  std::vector<PeerId> dirty_;    // Peers to which there is something to send.
  absl::btree_set<PeerId> stalled_;  // Peers that do not take what there is.
  Instant check_stalled_;
  std::deque<Deadline> greetings_;  // Both in the order of time, as each has one duration.
  std::deque<Deadline> partings_;
  std::vector<std::string> spare_;

  bool stopping_ = false;
  std::optional<Instant> stop_by_;
};

Result<Address> Server::Loop::listen(const Address& address, Service* service, bool plain) {
  const Listening opened = TRY(open_listener(address));
  listeners_.emplace_back(io_, opened.socket, service, plain);
  if (service && std::ranges::find(others_, service) == others_.end()) others_.push_back(service);
  return opened.address;
}

void Server::Loop::stop_on(const std::vector<int>& signals) {
  for (const int signal : signals) {
    boost::system::error_code ignored;
    signals_.add(signal, ignored);
  }
  signals_.async_wait([this](const boost::system::error_code& failed, int number) {
    if (failed) return;
    log::info("stopping signal={}", number);
    stopping_ = true;
    boost::system::error_code unused;
    signals_.clear(unused);
  });
}

void Server::Loop::run(Service& service) {
  service_ = &service;
  now_ = clock_.now();
  const auto guard = asio::make_work_guard(io_);
  for (Listener& listener : listeners_) wait_to_accept(listener);
  std::optional<Instant> wake = now_;
  while (true) {
    gather(wake);
    now_ = clock_.now();
    if (stopping_ && !stop_by_) {
      stop_by_ = now_ + limits_.stop_max;
      listeners_.clear();
      for (Service* other : others_) other->stopping();
      service_->stopping();
    }
    keep_time();
    wake = turn();
    send_all();
    if (stop_by_ && !again_ && finished(wake)) break;
    const std::optional<Instant> other = next_deadline();
    if (other && (!wake || *other < *wake)) wake = other;
    if (std::exchange(again_, false)) wake = now_;
  }
  close_all();
}

std::optional<Instant> Server::Loop::turn() {
  std::optional<Instant> wake;
  const auto consider = [&wake](std::optional<Instant> at) {
    if (at && (!wake || *at < *wake)) wake = at;
  };
  for (Service* other : others_) consider(other->turn(now_));
  consider(service_->turn(now_));
  for (const auto& [id, reason] : std::exchange(doomed_, {})) {
    if (find(id)) drop(id, reason);
  }
  consider(complaints_.tell(now_));
  return wake;
}

// Runs the handlers of all that is ready; waits for something only if nothing is to be done before.
void Server::Loop::gather(std::optional<Instant> wake) {
  gathered_ = 0;
  if (!wake) {
    io_.run_one();
  } else if (const Instant now = clock_.now(); *wake > now) {
    io_.run_one_for(std::min<Millis>(*wake - now, std::chrono::hours(1)));
  }
  while (gathered_ < limits_.gather_max && io_.poll_one() > 0) {
  }
}

bool Server::Loop::finished(std::optional<Instant> wake) const {
  return now_ >= *stop_by_ || (unsent_ == 0 && (!wake || *wake > now_));
}

// What is left unread would make the system tear the connection down, answers included.
void Server::Loop::close_all() {
  for (const auto& [id, peer] : peers_) {
    while (::recv(peer->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
    }
  }
  while (!peers_.empty()) static_cast<void>(forget(peers_.begin()->first));
}

void Server::Loop::keep_time() {
  while (!greetings_.empty() && greetings_.front().at <= now_) {
    const PeerId id = greetings_.front().peer;
    greetings_.pop_front();
    const Peer* peer = find(id);
    if (peer && !peer->greeted && !peer->finishing) drop(id, "the client sent no hello in time");
  }
  while (!partings_.empty() && partings_.front().at <= now_) {
    const PeerId id = partings_.front().peer;
    partings_.pop_front();
    if (find(id)) static_cast<void>(forget(id));
  }
  if (now_ >= check_stalled_) {
    check_stalled_ = now_ + limits_.stall_max / 4;
    const std::vector<PeerId> stalled(stalled_.begin(), stalled_.end());
    for (const PeerId id : stalled) {
      Peer* peer = find(id);
      if (now_ - peer->progress < limits_.stall_max) continue;
      // The system would go on offering what it holds.
      const linger none = {.l_onoff = 1, .l_linger = 0};
      setsockopt(peer->socket.native_handle(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
      drop(id,
           fmt::format("the client takes none of the {} bytes that wait for it", peer->unsent()));
    }
  }
  if (accept_again_ && *accept_again_ <= now_) {
    accept_again_.reset();
    for (Listener& listener : listeners_) wait_to_accept(listener);
  }
}

std::optional<Instant> Server::Loop::next_deadline() {
  std::optional<Instant> next = accept_again_;
  const auto consider = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  while (!greetings_.empty()) {
    const Peer* peer = find(greetings_.front().peer);
    if (peer && !peer->greeted) {
      consider(greetings_.front().at);
      break;
    }
    greetings_.pop_front();
  }
  if (!partings_.empty()) consider(partings_.front().at);
  if (!stalled_.empty()) consider(check_stalled_);
  if (stop_by_) consider(*stop_by_);
  return next;
}

void Server::Loop::wait_to_accept(Listener& listener) {
  listener.socket.async_wait(Descriptor::wait_read,
                             [this, &listener](const boost::system::error_code& failed) {
                               if (!failed && !stop_by_) accept(listener);
                             });
}

void Server::Loop::accept(Listener& listener) {
  for (size_t i = 0; i < kAcceptsMax; ++i) {
    Address address;
    address.size = sizeof(address.socket);
    const int number =
        accept4(listener.socket.native_handle(), reinterpret_cast<sockaddr*>(&address.socket),
                &address.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (number >= 0) {
      admit(number, address, listener);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      complaints_.warning(fmt::format("cannot accept another connection: {} peers={}",
                                      std::strerror(errno), peers_.size()),
                          clock_.now());
      if (make_room(strangers_.oldest())) continue;
      accept_again_ = clock_.now() + kAcceptRetry;
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      break;
    }
  }
  wait_to_accept(listener);
}

// Drops that one. Whether there was one.
bool Server::Loop::make_room(std::optional<PeerId> stranger) {
  if (stranger) drop(*stranger, "the client has sent no hello yet, and its place is needed");
  return stranger.has_value();
}

void Server::Loop::admit(int number, const Address& address, const Listener& listener) {
  const std::string origin = origin_of(address);
  if (strangers_.count_of(origin) >= limits_.strangers_max) {
    make_room(strangers_.oldest_of(origin));
  } else if (peers_.size() >= limits_.peers_max) {
    make_room(strangers_.oldest());
  }
  if (peers_.size() >= limits_.peers_max + kCrowdMax) {
    ::close(number);
    return;
  }
  Service& service = listener.service ? *listener.service : *service_;
  tune_connection(number);
  const bool crowded = peers_.size() >= limits_.peers_max;
  const PeerId id = ++last_peer_;
  auto peer = std::make_unique<Peer>(Descriptor(io_, number), service);
  peer->name = address.text();
  if (tls_ && !listener.plain) peer->tls.emplace(tls_->accept());
  peers_.emplace(id, std::move(peer));
  greetings_.push_back({clock_.now() + limits_.greet_max, id});
  if (!crowded) strangers_.add(id, origin);
  to_read_.push_back(id);
  service.opened(id, crowded);
}

void Server::Loop::wait_to_read(PeerId id) {
  Peer* peer = find(id);
  if (!peer || peer->reading || stop_by_) return;
  if (peer->doomed || (!peer->finishing && (peer->paused || clogged(*peer)))) return;
  peer->reading = true;
  peer->socket.async_wait(Descriptor::wait_read,
                          [this, id](const boost::system::error_code& failed) {
                            if (!failed) read(id);
                          });
}

// The wait begins anew only after the turn, so that nobody is read twice in one.
void Server::Loop::read(PeerId id) {
  Peer* peer = find(id);
  if (!peer) return;
  peer->reading = false;
  to_read_.push_back(id);
  size_t size = 0;
  while (size < limits_.read_max && !peer->paused && !peer->doomed) {
    const ssize_t some =
        ::recv(peer->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN) return;
    if (some <= 0) return left(id);
    size += static_cast<size_t>(some);
    gathered_ += static_cast<size_t>(some);
    if (!peer->finishing) {
      const Result<void> taken = receive(id, *peer, {buffer_.data(), static_cast<size_t>(some)});
      if (!taken.ok()) return drop(id, taken.error().what);
      if (peer->tls && peer->tls->finished()) return left(id);
    }
    if (static_cast<size_t>(some) < buffer_.size()) return;
  }
}

Result<void> Server::Loop::receive(PeerId id, Peer& peer, std::string_view bytes) {
  if (!peer.tls) return peer.service.received(id, bytes, clock_.now());
  touch(id, peer);  // For what the handshake has to say.
  plain_.clear();
  Result<void> decrypted = peer.tls->receive(bytes, plain_, peer.out);
  if (!decrypted.ok()) {
    // Tells the peer why, if there is room.
    ::send(peer.socket.native_handle(), peer.out.data() + peer.sent, peer.out.size() - peer.sent,
           MSG_DONTWAIT | MSG_NOSIGNAL);
    return decrypted;
  }
  if (plain_.empty()) return {};
  return peer.service.received(id, plain_, clock_.now());
}

// With TLS, moves what is to be said from `plain` to `out`.
Result<void> Server::Loop::encrypt(Peer& peer) {
  if (!peer.tls || peer.plain.empty()) return {};
  TRY(peer.tls->send(peer.plain, peer.out));
  recycle(std::exchange(peer.plain, {}));
  if (peer.finishing) peer.tls->finish(peer.out);
  return {};
}

void Server::Loop::send_all() {
  for (const PeerId id : std::exchange(dirty_, {})) send(id);
  for (const PeerId id : std::exchange(to_read_, {})) wait_to_read(id);
}

void Server::Loop::send(PeerId id) {
  Peer* peer = find(id);
  if (!peer) return;
  peer->dirty = false;
  const bool was_clogged = clogged(*peer);
  if (const Result<void> encrypted = encrypt(*peer); !encrypted.ok()) {
    return drop(id, encrypted.error().what);
  }
  while (peer->unsent() > 0) {
    const ssize_t some = ::send(peer->socket.native_handle(), peer->out.data() + peer->sent,
                                peer->unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN) break;
    if (some < 0) return left(id);
    peer->sent += static_cast<size_t>(some);
    peer->progress = now_;
  }
  if (peer->unsent() == 0) {
    recycle(std::exchange(peer->out, {}));
    peer->sent = 0;
    stalled_.erase(id);
    if (peer->finishing) ::shutdown(peer->socket.native_handle(), SHUT_WR);
  } else {
    if (peer->sent > peer->out.size() / 2) peer->out.erase(0, std::exchange(peer->sent, 0));
    if (stalled_.insert(id).second) peer->progress = now_;
    if (!std::exchange(peer->writing, true)) {
      peer->socket.async_wait(Descriptor::wait_write,
                              [this, id](const boost::system::error_code& failed) {
                                Peer* waited = find(id);
                                if (failed || !waited) return;
                                waited->writing = false;
                                touch(id, *waited);
                              });
    }
  }
  unsent_ = unsent_ - peer->counted + peer->unsent();
  peer->counted = peer->unsent();
  if (was_clogged && !clogged(*peer)) again_ = true;
  wait_to_read(id);
}

std::string* Server::Loop::outgoing(PeerId id) {
  Peer* peer = find(id);
  if (!peer) return nullptr;
  touch(id, *peer);
  std::string& text = peer->tls ? peer->plain : peer->out;
  if (text.empty() && !spare_.empty()) {
    text = std::move(spare_.back());
    spare_.pop_back();
  }
  return &text;
}

// Large buffers go from peer to peer, so that one which is idle holds none.
void Server::Loop::recycle(std::string&& buffer) {
  if (spare_.size() >= kSpareMax || buffer.capacity() > kSpareBytesMax) return;
  buffer.clear();
  spare_.push_back(std::move(buffer));
}

void Server::Loop::pause(PeerId id, bool paused) {
  Peer* peer = find(id);
  if (!peer || peer->paused == paused) return;
  peer->paused = paused;
  if (!paused) to_read_.push_back(id);
}

void Server::Loop::finish(PeerId id) {
  Peer* peer = find(id);
  if (!peer || peer->finishing) return;
  peer->finishing = true;
  strangers_.remove(id);
  partings_.push_back({clock_.now() + limits_.linger_max, id});
  touch(id, *peer);
}

void Server::Loop::greeted(PeerId id) {
  Peer* peer = find(id);
  if (!peer) return;
  peer->greeted = true;
  strangers_.remove(id);
}

void Server::Loop::doom(PeerId id, std::string_view reason) {
  Peer* peer = find(id);
  if (!peer || std::exchange(peer->doomed, true)) return;
  doomed_.emplace_back(id, reason);
}

// It closed the connection, or the network did.
void Server::Loop::left(PeerId id) {
  const std::string name = find(id)->name;
  const bool finishing = find(id)->finishing;
  const Result<void> ended = forget(id);
  if (!ended.ok() && !finishing) {
    complaints_.warning(fmt::format("connection lost peer={} reason={}", name, ended.error().what),
                        clock_.now());
  }
}

void Server::Loop::drop(PeerId id, std::string_view reason) {
  complaints_.warning(fmt::format("connection dropped peer={} reason={}", find(id)->name, reason),
                      clock_.now());
  static_cast<void>(forget(id));
}

Result<void> Server::Loop::forget(PeerId id) {
  unsent_ -= find(id)->counted;
  stalled_.erase(id);
  strangers_.remove(id);
  Service& service = find(id)->service;
  peers_.erase(id);
  return service.closed(id);
}

Server::Server(const Clock& clock, const TlsContext* tls, ServerLimits limits)
    : loop_(std::make_unique<Loop>(clock, tls, limits)) {}
Server::~Server() = default;

Result<Address> Server::listen(const Address& address, Service* service, bool plain) {
  return loop_->listen(address, service, plain);
}
void Server::run(Service& service) { loop_->run(service); }
void Server::stop() { loop_->stop(); }
void Server::stop_on(const std::vector<int>& signals) { loop_->stop_on(signals); }
std::string* Server::outgoing(PeerId peer) { return loop_->outgoing(peer); }
void Server::pause(PeerId peer, bool paused) { loop_->pause(peer, paused); }
void Server::finish(PeerId peer) { loop_->finish(peer); }
void Server::drop(PeerId peer, std::string_view reason) { loop_->doom(peer, reason); }
void Server::greeted(PeerId peer) { loop_->greeted(peer); }

bool Server::clogged(PeerId peer) const {
  const Peer* found = loop_->find(peer);
  return found && loop_->clogged(*found);
}

std::string Server::name_of(PeerId peer) const {
  const Peer* found = loop_->find(peer);
  return found ? found->name : "";
}

}  // namespace dunlin::net
