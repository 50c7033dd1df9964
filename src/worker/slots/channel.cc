#include "worker/slots/channel.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/names.h"
#include "base/text.h"

namespace dunlin::worker {
namespace {

constexpr size_t kLineMax = 200;

bool write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::open(LedgerClient& ledgers, PartitionAttempt who,
                                               LedgerClient::Unwanted unwanted) {
  const balance::Turn turn = TRY(ledgers.next(who, unwanted));
  if (!turn.span) return std::unique_ptr<Channel>();
  who.had = turn.span->size();
  auto channel =
      std::make_unique<Channel>(ledgers, std::move(who), std::move(unwanted), *turn.span);
  TRY(channel->start());
  return channel;
}

Channel::Channel(LedgerClient& ledgers, PartitionAttempt who, LedgerClient::Unwanted unwanted,
                 balance::Span first)
    : ledgers_(ledgers), who_(std::move(who)), unwanted_(std::move(unwanted)), ready_(first) {}

Channel::~Channel() {
  if (thread_.joinable()) {
    stop();
    ledgers_.lose(who_);
  }
  for (const int socket : {outer_, inner_}) {
    if (socket >= 0) ::close(socket);
  }
}

Result<void> Channel::start() {
  int both[2] = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) {
    return Error{Code::unavailable,
                 fmt::format("cannot make a channel for the task: {}", std::strerror(errno))};
  }
  outer_ = both[0];
  inner_ = both[1];
  thread_ = std::thread([this] { serve(); });
  return {};
}

void Channel::serve() {
  std::string unread;
  while (true) {
    const size_t end = unread.find('\n');
    if (end != std::string::npos) {
      const std::string reply = answer(unread.substr(0, end));
      unread.erase(0, end + 1);
      if (!write_all(outer_, reply)) return;
      continue;
    }
    if (unread.size() > kLineMax) {
      trouble_ = "it wrote a line that is too long to descriptor 3";
      return;
    }
    char bytes[kLineMax];
    const ssize_t count = recv(outer_, bytes, sizeof(bytes), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    unread.append(bytes, static_cast<size_t>(count));
  }
}

std::string Channel::answer(const std::string& line) {
  if (line == "next") return next();
  constexpr std::string_view kLeave = "leave ";
  if (line.starts_with(kLeave)) {
    const auto done = parse_number("the number of iterations", line.substr(kLeave.size()));
    if (done.ok()) return leave(done.value());
  }
  return fmt::format("error {} is not understood: write next, or leave and a number\n",
                     quote(line));
}

std::string Channel::next() {
  asked_ = true;
  if (ended_ || !trouble_.empty()) return "end\n";
  if (!ready_) {
    const auto turn = ledgers_.next(who_, unwanted_);
    if (!turn.ok() || turn.value().code != balance::Code::ok) {
      trouble_ = turn.ok() ? "it was silent for too long, and other partitions have its iterations"
                           : turn.error().what;
      return "end\n";
    }
    ready_ = turn.value().span;
    if (!ready_) {
      ended_ = true;
      return "end\n";
    }
    who_.had += ready_->size();
  }
  const balance::Span span = *std::exchange(ready_, std::nullopt);
  return fmt::format("do {} {}\n", span.first, span.size());
}

// It has done so many of all that it was given.
std::string Channel::leave(uint64_t done) {
  if (ended_ || !trouble_.empty()) return "end\n";
  const uint64_t given = who_.had - (ready_ ? ready_->size() : 0);
  if (done > given) {
    return fmt::format("error it was given {} iterations, and cannot have done {}\n", given, done);
  }
  const auto left = ledgers_.leave(who_, done, unwanted_);
  if (left.ok() && left.value() == Left::alone) {
    return "error nobody else is there to do the rest: go on, or fail and be started again\n";
  }
  if (!left.ok() || left.value() != Left::yes) {
    trouble_ = left.ok() ? "it was silent for too long, and other partitions have its iterations"
                         : left.error().what;
  } else {
    ended_ = true;
  }
  return "end\n";
}

// What was written last is answered before; nobody reads that.
void Channel::stop() {
  shutdown(inner_, SHUT_RDWR);
  thread_.join();
}

Result<void> Channel::close(bool well) {
  stop();
  if (well && (ended_ || ended_elsewhere())) return {};
  ledgers_.lose(who_);
  if (!well) return {};
  if (!trouble_.empty()) return Error{Code::conflict, trouble_};
  return Error{
      Code::invalid,
      asked_ ? "it exited before its iterations were done: a program must ask for more until it is "
               "told to end"
             : "it exited without asking for iterations until it was told to end: its program must "
               "ask on descriptor 3 or over HTTP, or be submitted without --iterations"};
}

// Over HTTP.
bool Channel::ended_elsewhere() {
  if (asked_ || !trouble_.empty()) return false;
  const auto place = ledgers_.place(who_, unwanted_);
  if (!place.ok()) trouble_ = place.error().what;
  return place.ok() && place.value().here && place.value().ended;
}

}  // namespace dunlin::worker
