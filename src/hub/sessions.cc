#include "hub/sessions.h"

#include <fmt/format.h>
#include <utility>

#include "base/bytes.h"
#include "base/memory.h"
#include "hub/access/token.h"
#include "hub/notify.h"

namespace dunlin::hub {
namespace {

constexpr size_t kReadFrameMax = 1 << 20;  // From a peer that may only read.
constexpr size_t kReadSize = 1 << 20;      // What a peer may add in a turn, about.

}  // namespace

void Sessions::opened(net::PeerId peer, bool crowded) { sessions_[peer].crowded = crowded; }

Result<void> Sessions::received(net::PeerId peer, std::string_view bytes, Instant now) {
  Session& session = sessions_.at(peer);
  if (session.refused) return {};
  bool whole = false;
  TRY(read(peer, session, bytes, whole, now));
  account(peer, session, whole, now);
  if (holdings_.is_too_much(session.unread)) {
    return Error{Code::full, "all connections together have sent too many incomplete requests"};
  }
  return {};
}

// Takes the frames that are whole; says whether one was.
Result<void> Sessions::read(net::PeerId peer, Session& session, std::string_view bytes, bool& whole,
                            Instant now) {
  session.unread += bytes.size();
  session.reader.feed(bytes);
  while (!session.refused) {
    const auto next = if_memory_lasts([&session] { return session.reader.next(); });
    if (!next.ok() && next.error().code == Code::unsupported) {
      refuse(peer, session, {next.error().code, next.error().what});
      return {};
    }
    const std::optional<std::string_view> frame = TRY(next);
    if (!frame) break;
    whole = true;
    session.unread -= frame->size() + kFrameHeaderSize;
    TRY(session.greeted ? take(peer, session, *frame, now) : greet(peer, session, *frame));
  }
  return {};
}

// Asks the mind, or keeps the frame as it is: what it says would take many times the room.
Result<void> Sessions::take(net::PeerId peer, Session& session, std::string_view frame,
                            Instant now) {
  if (session.kept.empty() && !hub_.busy(peer)) {
    ask(peer, session, TRY(if_memory_lasts([&] { return codec_.decode_request(frame); })), now);
    return {};
  }
  if (session.kept.empty()) {
    keeping_.push_back(peer);
    peers_.pause(peer, true);
  }
  return if_memory_lasts([&]() -> Result<void> {
    append_fixed(session.kept, static_cast<uint32_t>(frame.size()));
    session.kept += frame;
    return {};
  });
}

// Notes what is kept of a peer, and holds it back if that of all is too much.
void Sessions::account(net::PeerId peer, Session& session, bool anew, Instant now) {
  const size_t bytes = session.unread + session.kept.size();
  if (!session.kept.empty()) return holdings_.set_aside(peer, bytes);  // It waits for its own turn.
  holdings_.keep(peer, bytes, anew, now);
  if (session.held_back || !holdings_.must_wait(peer)) return;
  session.held_back = true;
  held_back_.push_back(peer);
  holdings_.waits(peer, true, now);
  peers_.pause(peer, true);
}

void Sessions::drop(net::PeerId peer, std::string_view reason) {
  Session& session = sessions_.at(peer);
  session.refused = true;
  session.reader = FrameReader(FrameReader::From::client);
  session.kept = {};
  session.unread = 0;
  session.asked = 0;
  holdings_.forget(peer);
  peers_.drop(peer, reason);
}

Result<void> Sessions::greet(net::PeerId peer, Session& session, std::string_view frame) {
  session.unread -= kPrefaceSize;
  const Hello hello = TRY(codec_.decode_hello(frame));
  if (session.crowded) {
    refuse(peer, session,
           {Code::full, "this hub has reached its limit of connections: try again later"});
    return {};
  }
  Result<Rights> rights = check_token(admin_token_, hello.token, clock_.wall());
  if (!rights.ok()) {
    refuse(peer, session, {rights.error().code, rights.error().what});
    return {};
  }
  session.rights = std::move(rights).value();
  session.greeted = true;
  session.reader.set_limit(session.rights.scopes == Scopes(Scope::read) ? kReadFrameMax
                                                                        : kFrameMax);
  peers_.greeted(peer);
  hub_.opened(peer, session.rights);
  codec_.encode_greeting(Welcome{"dunlin " DUNLIN_VERSION}, *peers_.outgoing(peer));
  return {};
}

void Sessions::refuse(net::PeerId peer, Session& session, Refused refused) {
  refusals_.warning(
      fmt::format("connection refused peer={} reason={}", peers_.name_of(peer), refused.what),
      clock_.now());
  session.refused = true;
  codec_.encode_greeting(std::move(refused), *peers_.outgoing(peer));
  peers_.finish(peer);
}

Result<void> Sessions::closed(net::PeerId peer) {
  const auto node = sessions_.extract(peer);
  const Session& session = node.mapped();
  if (session.greeted) hub_.closed(peer);
  if (!session.kept.empty()) std::erase(keeping_, peer);
  if (session.held_back) std::erase(held_back_, peer);
  holdings_.forget(peer);
  if (session.unread == 0) return {};
  return Error{Code::invalid,
               fmt::format("the connection ended {} bytes into a frame or hello", session.unread)};
}

std::optional<Instant> Sessions::turn(Instant now) {
  bool guest_was_told = false;
  for (Reply& reply : hub_.turn(now)) {
    if (guest_ && !sessions_.contains(reply.session)) {
      guest_->answered(std::move(reply), now);
      guest_was_told = true;
      continue;
    }
    std::string* out = peers_.outgoing(reply.session);
    if (out) codec_.encode_answer(reply.id, reply.answer, *out);
  }
  std::optional<Instant> wake = hub_.next_wake();
  if (guest_was_told) wake = now;  // It may have asked on.
  for (const net::PeerId peer : std::exchange(keeping_, {})) {
    Session& session = sessions_.at(peer);
    if (ask_kept(peer, session, now)) wake = now;
    if (!session.kept.empty()) {
      keeping_.push_back(peer);
    } else if (!session.held_back) {
      peers_.pause(peer, false);
    }
  }
  for (const net::PeerId peer : holdings_.too_slow(now)) {
    drop(peer, "the client sends an incomplete request too slowly");
  }
  let_on(now);
  for (const auto at : {refusals_.tell(now), holdings_.next_look()}) {
    if (at && (!wake || *at < *wake)) wake = at;
  }
  return wake;
}

// Lets those who were held back send on, as far as there is room.
void Sessions::let_on(Instant now) {
  size_t room = 1 + holdings_.room() / kReadSize;
  std::erase_if(held_back_, [&](net::PeerId peer) {
    if (room == 0 || holdings_.must_wait(peer)) return false;
    --room;
    Session& session = sessions_.at(peer);
    session.held_back = false;
    holdings_.waits(peer, false, now);
    if (session.kept.empty()) peers_.pause(peer, false);
    return true;
  });
}

void Sessions::stopping() {
  notify_manager("STOPPING=1");
  hub_.drain();
}

// A token may have ended since the hello.
void Sessions::ask(net::PeerId peer, const Session& session, NumberedRequest&& asked, Instant now) {
  if (session.rights.until != WallTime::max()) {
    const Result<void> lasts = limit_to_life(session.rights, clock_.wall(), asked.request);
    if (!lasts.ok()) return hub_.refuse(peer, asked.id, lasts.error());
  }
  hub_.request(peer, asked.id, std::move(asked.request), now);
}

// Says whether it asked anything.
bool Sessions::ask_kept(net::PeerId peer, Session& session, Instant now) {
  bool asked = false;
  while (session.asked < session.kept.size() && !peers_.clogged(peer) && !hub_.busy(peer)) {
    const std::string_view rest = std::string_view(session.kept).substr(session.asked);
    const size_t size = ByteReader(rest).fixed<uint32_t>();
    Result<NumberedRequest> next =
        if_memory_lasts([&] { return codec_.decode_request(rest.substr(kFrameHeaderSize, size)); });
    if (!next.ok()) {
      drop(peer, next.error().what);
      return asked;
    }
    session.asked += kFrameHeaderSize + size;
    ask(peer, session, std::move(next).value(), now);
    asked = true;
  }
  if (session.asked == session.kept.size()) {
    session.kept = {};
    session.asked = 0;
    account(peer, session, true, now);
  }
  return asked;
}

}  // namespace dunlin::hub
