#include "net/stream.h"

#include <fmt/format.h>

namespace dunlin::net {
namespace {

constexpr size_t kReadSize = 256 << 10;
constexpr size_t kSendAtOnce = 64 << 10;
constexpr size_t kQueueKept = 1 << 20;  // Room that is kept for the next bytes.

}  // namespace

Result<Stream> Stream::connect(const std::string& host, uint16_t port, const TlsContext* tls,
                               Instant deadline, const Clock& clock) {
  Stream stream(TRY(Socket::connect(host, port, deadline, clock)));
  stream.in_.resize(kReadSize);
  if (tls != nullptr) TRY(stream.shake(*tls, host, deadline, clock));
  return stream;
}

Result<void> Stream::shake(const TlsContext& tls, const std::string& host, Instant deadline,
                           const Clock& clock) {
  tls_.emplace(TRY(tls.connect(host)));
  TRY(tls_->start(out_));
  while (!tls_->ready()) {
    if (clock.now() >= deadline) {
      return Error{Code::unavailable,
                   fmt::format("{}: connected, but the TLS handshake took too long: does it speak "
                               "TLS?",
                               socket_.peer())};
    }
    // The hub speaks after us, so nothing but the handshake arrives here.
    const std::string_view early = TRY(exchange(deadline, clock));
    if (!early.empty()) return Error{Code::invalid, socket_.peer() + ": sent data before its turn"};
  }
  return {};
}

Result<void> Stream::send(std::string_view bytes) {
  if (tls_) {
    TRY(tls_->send(bytes, out_));
  } else {
    out_ += bytes;
  }
  if (out_.size() - sent_ >= kSendAtOnce) return flush();
  return {};
}

Result<void> Stream::flush() {
  while (sent_ < out_.size()) {
    const size_t size = TRY(socket_.write_some(std::string_view(out_).substr(sent_)));
    if (size == 0) break;
    sent_ += size;
  }
  if (sent_ == out_.size()) {
    out_.clear();
    if (out_.capacity() > kQueueKept) out_.shrink_to_fit();
    sent_ = 0;
  } else if (sent_ > kQueueKept) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
  return {};
}

Result<std::string_view> Stream::exchange(Instant deadline, const Clock& clock, int also) {
  TRY(flush());
  const Socket::Ready ready = socket_.wait(!out_.empty(), deadline, clock, also);
  if (!ready.to_read) return std::string_view();
  const size_t size = TRY(socket_.read_some(in_));
  const std::string_view bytes = std::string_view(in_).substr(0, size);
  if (!tls_) return bytes;
  plain_.clear();
  auto received = tls_->receive(bytes, plain_, out_);
  if (!received.ok()) {
    // The alert tells the other side why; that it may not arrive changes nothing here.
    static_cast<void>(flush());
    return received.error();
  }
  if (tls_->finished() && plain_.empty()) {
    return Error{Code::unavailable, socket_.peer() + ": the other side closed the connection"};
  }
  return std::string_view(plain_);
}

}  // namespace dunlin::net
