#include "wire/hub_client_mind.h"

#include <algorithm>
#include <fmt/format.h>

namespace dunlin {
namespace {

// Far ahead counts as for ever, and cannot overflow.
Instant after(Instant now, Millis wait) { return now + std::clamp(wait, Millis(0), kHoldMax); }

Millis patience_for(const Request& request, Millis deadline) {
  const auto* pull = std::get_if<Pull>(&request);
  return pull == nullptr ? deadline : deadline + std::clamp(pull->wait, Millis(0), kWaitMax);
}

}  // namespace

HubClientMind::HubClientMind(Options options)
    : options_(std::move(options)), random_(options_.seed) {}

void HubClientMind::connect(Instant now) {
  wanted_ = true;
  start(now);
}

void HubClientMind::start(Instant now) {
  if (state_ == State::resting && now < wake_) return;
  if (state_ != State::idle && state_ != State::resting) return;
  state_ = State::connecting;
  effects_.connect = true;
}

uint64_t HubClientMind::call(const Request& request, Millis deadline, Instant now) {
  const uint64_t id = ++last_id_;
  const auto fail = [&](Code code, std::string what) {
    effects_.answers.push_back({id, Error{code, std::move(what)}});
    return id;
  };
  if (refusal_) return fail(refusal_->code, refusal_->what);
  if (pending_.size() >= options_.pending_max) {
    return fail(Code::full,
                fmt::format("{} requests to {} are still unanswered: collect some answers first",
                            pending_.size(), options_.peer));
  }
  Pending pending{.frame = {}, .deadline = {}, .patience = patience_for(request, deadline)};
  pending.deadline = after(now, pending.patience);
  codec_.encode_request(id, request, pending.frame);
  const size_t size = pending.frame.size();
  if (size - kFrameHeaderSize > kFrameMax) {
    return fail(Code::invalid, fmt::format("a request of {} bytes, at most {} are allowed: send "
                                           "less in one call",
                                           size - kFrameHeaderSize, kFrameMax));
  }
  if (pending_bytes_ + size > options_.pending_bytes_max) {
    return fail(
        Code::full,
        fmt::format("{} bytes of requests to {} are still unanswered: collect some answers first",
                    pending_bytes_, options_.peer));
  }
  if (state_ == State::welcomed) effects_.send += pending.frame;
  pending_bytes_ += size;
  deadlines_.emplace(pending.deadline, id);
  pending_.emplace_hint(pending_.end(), id, std::move(pending));
  start(now);
  return id;
}

void HubClientMind::connected(Instant now) {
  CHECK(state_ == State::connecting);
  state_ = State::greeting;
  wake_ = now + kGreetingWait;
  reader_ = FrameReader(FrameReader::From::hub);
  effects_.send.clear();
  append_preface(effects_.send);
  codec_.encode_hello(options_.hello, effects_.send);
}

void HubClientMind::disconnected(Instant now, Error why) {
  if (state_ == State::greeting) {
    why.what += " before a greeting came: is it a dunlin hub, and does it want dunlin+tls://?";
  }
  rest(now, std::move(why));
}

void HubClientMind::rest(Instant now, Error why) {
  if (state_ == State::refused || state_ == State::idle || state_ == State::resting) return;
  effects_.send.clear();
  // What was a hub before is one that has a bad moment.
  const bool final = why.code == Code::denied || (why.code == Code::invalid && !ever_welcomed_);
  if (final) return refuse(std::move(why));
  state_ = State::resting;
  trouble_ = std::move(why.what);
  // Half of it by chance, so that a fleet does not come back as one.
  const uint64_t half = static_cast<uint64_t>(backoff_.count()) / 2;
  wake_ = now + Millis(half + random_.below(half + 1));
  backoff_ = std::min(backoff_ * 2, kBackoffMax);
}

void HubClientMind::refuse(Error error) {
  state_ = State::refused;
  refusal_ = std::move(error);
  while (!pending_.empty()) answer(pending_.begin(), *refusal_);
}

void HubClientMind::drop(Instant now, Code code, std::string why) {
  effects_.disconnect = true;
  rest(now, Error{code, std::move(why)});
}

void HubClientMind::received(std::string_view bytes, Instant now) {
  if (state_ != State::greeting && state_ != State::welcomed) return;
  reader_.feed(bytes);
  while (state_ == State::greeting || state_ == State::welcomed) {
    auto next = reader_.next();
    if (!next.ok()) {
      return drop(now, Code::invalid,
                  fmt::format("{} does not answer like a dunlin hub ({}): check the address and "
                              "the port, and whether it wants dunlin+tls://",
                              options_.peer, next.error().what));
    }
    if (!next.value()) return;
    if (state_ == State::greeting) {
      greet(*next.value(), now);
    } else {
      settle(*next.value(), now);
    }
  }
}

void HubClientMind::greet(std::string_view frame, Instant now) {
  const auto greeting = codec_.decode_greeting(frame);
  if (!greeting.ok()) {
    return drop(now, Code::invalid,
                fmt::format("{} sent {}", options_.peer, greeting.error().what));
  }
  const auto* refused = std::get_if<Refused>(&greeting.value());
  if (refused == nullptr) return welcome();
  const bool passing = refused->code == Code::full || refused->code == Code::unavailable;
  drop(now, passing ? Code::unavailable : Code::denied,
       fmt::format("{} refused us: {}", options_.peer, refused->what));
}

void HubClientMind::welcome() {
  state_ = State::welcomed;
  ever_welcomed_ = true;
  wanted_ = false;
  backoff_ = kBackoffMin;
  trouble_.clear();
  reader_.set_limit(kFrameMax);
  for (const auto& [id, pending] : pending_) effects_.send += pending.frame;
}

void HubClientMind::settle(std::string_view frame, Instant now) {
  auto numbered = codec_.decode_answer(frame);
  if (!numbered.ok()) {
    return drop(now, Code::invalid,
                fmt::format("{} sent {}", options_.peer, numbered.error().what));
  }
  // One that is not pending was answered before, or was too late.
  const auto pending = pending_.find(numbered.value().id);
  if (pending != pending_.end()) answer(pending, std::move(numbered).value().answer);
}

void HubClientMind::answer(PendingMap::iterator pending, Answer answer) {
  const uint64_t id = pending->first;
  deadlines_.erase({pending->second.deadline, id});
  pending_bytes_ -= pending->second.frame.size();
  pending_.erase(pending);
  effects_.answers.push_back({id, std::move(answer)});
}

void HubClientMind::tick(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto pending = pending_.find(deadlines_.begin()->second);
    answer(pending, Error{Code::unavailable, no_answer(pending->second.patience)});
  }
  if (state_ == State::greeting && wake_ <= now) {
    drop(now, Code::unavailable,
         fmt::format("{} accepted the connection but said nothing for {} s", options_.peer,
                     kGreetingWait.count() / 1000));
  }
  if (state_ == State::resting && (wanted_ || !pending_.empty())) start(now);
}

std::string HubClientMind::no_answer(Millis patience) const {
  return fmt::format("no answer from {} within {} s: is the hub running there?{}", options_.peer,
                     static_cast<double>(patience.count()) / 1000,
                     trouble_.empty() ? "" : fmt::format(" ({})", trouble_));
}

HubClientMind::Effects HubClientMind::take() { return std::exchange(effects_, {}); }

std::optional<Instant> HubClientMind::next_wake() const {
  std::optional<Instant> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  const bool waiting =
      state_ == State::greeting || (state_ == State::resting && (wanted_ || !pending_.empty()));
  if (waiting && (!next || wake_ < *next)) next = wake_;
  return next;
}

}  // namespace dunlin
