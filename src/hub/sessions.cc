#include "hub/sessions.h"

#include <fmt/format.h>
#include <utility>

#include "base/log.h"
#include "hub/notify.h"
#include "hub/token.h"

namespace dunlin {

void Sessions::opened(PeerId peer, bool crowded) { sessions_[peer].crowded = crowded; }

Result<void> Sessions::received(PeerId peer, std::string_view bytes, Instant now) {
  Session& session = sessions_.at(peer);
  session.unread += bytes.size();
  session.reader.feed(bytes);
  while (!session.refused) {
    const Result<std::optional<std::string_view>> next = session.reader.next();
    if (!next.ok() && next.error().code == Code::unsupported) {
      refuse(peer, session, {next.error().code, next.error().what});
      return {};
    }
    const std::optional<std::string_view> frame = TRY(next);
    if (!frame) break;
    session.unread -= frame->size() + kFrameHeaderSize;
    if (!session.greeted) {
      TRY(greet(peer, session, *frame));
      continue;
    }
    NumberedRequest asked = TRY(codec_.decode_request(*frame));
    if (session.kept.empty() && !hub_.busy(peer)) {
      hub_.request(peer, asked.id, std::move(asked.request), now);
      continue;
    }
    if (session.kept.empty()) {
      keeping_.push_back(peer);
      peers_.pause(peer, true);
    }
    session.kept.push_back(std::move(asked));
  }
  return {};
}

Result<void> Sessions::greet(PeerId peer, Session& session, std::string_view frame) {
  session.unread -= kPrefaceSize;
  const Hello hello = TRY(codec_.decode_hello(frame));
  if (session.crowded) {
    refuse(peer, session,
           {Code::full, "this hub has as many connections as it takes: try again later"});
    return {};
  }
  const Result<Scopes> scopes = check_token(admin_token_, hello.token, clock_.wall());
  if (!scopes.ok()) {
    refuse(peer, session, {scopes.error().code, scopes.error().what});
    return {};
  }
  session.greeted = true;
  session.reader.set_limit(kFrameMax);
  peers_.greeted(peer);
  hub_.opened(peer, scopes.value());
  codec_.encode_greeting(Welcome{"dunlin " DUNLIN_VERSION}, *peers_.outgoing(peer));
  return {};
}

void Sessions::refuse(PeerId peer, Session& session, Refused refused) {
  log::warning("connection refused peer={} reason={}", peers_.name_of(peer), refused.what);
  session.refused = true;
  codec_.encode_greeting(std::move(refused), *peers_.outgoing(peer));
  peers_.finish(peer);
}

Result<void> Sessions::closed(PeerId peer) {
  const auto node = sessions_.extract(peer);
  const Session& session = node.mapped();
  if (session.greeted) hub_.closed(peer);
  if (!session.kept.empty()) std::erase(keeping_, peer);
  if (session.unread == 0) return {};
  return Error{Code::invalid,
               fmt::format("it ended {} bytes into a frame or hello", session.unread)};
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
  std::erase_if(keeping_, [&](PeerId peer) {
    Session& session = sessions_.at(peer);
    if (ask_kept(peer, session, now)) wake = now;
    if (session.kept.empty()) peers_.pause(peer, false);
    return session.kept.empty();
  });
  return wake;
}

void Sessions::stopping() {
  notify_manager("STOPPING=1");
  hub_.drain();
}

// Says whether it asked anything.
bool Sessions::ask_kept(PeerId peer, Session& session, Instant now) {
  bool asked = false;
  while (!session.kept.empty() && !peers_.clogged(peer) && !hub_.busy(peer)) {
    NumberedRequest next = std::move(session.kept.front());
    session.kept.pop_front();
    hub_.request(peer, next.id, std::move(next.request), now);
    asked = true;
  }
  return asked;
}

}  // namespace dunlin
