#include "sim/witness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "hub/hub.h"

namespace dunlin {
namespace {

constexpr Millis kRetryMax = Millis(100);  // Until a hub whose core failed looks again.

template <typename Kind, size_t I = 0>
constexpr size_t kind() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Request>, Kind>) {
    return I;
  } else {
    return kind<Kind, I + 1>();
  }
}

}  // namespace

bool fits(size_t request_kind, const Answer& answer) {
  if (std::holds_alternative<Error>(answer)) return true;
  switch (request_kind) {
    case kind<Commit>():
      return std::holds_alternative<Committed>(answer);
    case kind<Pull>():
      return std::holds_alternative<Deliveries>(answer);
    case kind<Renew>():
      return std::holds_alternative<Lost>(answer);
    case kind<AskDepth>():
      return std::holds_alternative<Depth>(answer);
    case kind<Get>():
    case kind<Scan>():
      return std::holds_alternative<Rows>(answer);
    case kind<BlobGet>():
      return std::holds_alternative<Bytes>(answer);
    case kind<BlobList>():
      return std::holds_alternative<BlobNames>(answer);
    case kind<AskInfo>():
      return std::holds_alternative<Info>(answer);
    case kind<EraseAll>():
      return std::holds_alternative<Erased>(answer);
  }
  return std::holds_alternative<Done>(answer);  // The others have nothing else to say.
}

void Witness::closed(LinkId link) {
  links_.erase(link);
  asked_.erase(asked_.lower_bound({link, 0}), asked_.lower_bound({link + 1, 0}));
}

void Witness::hub_down() {
  links_.clear();
  asked_.clear();
  served_.clear();
  handed_now_.clear();
  draining_ = false;
}

void Witness::received(LinkId link, std::string_view bytes, Instant now) {
  LinkState& state = links_.at(link);
  state.turn = turn_;
  state.asks.feed(bytes);
  while (true) {
    const auto frame = state.asks.next();
    if (!frame.ok()) {
      ADD_FAILURE() << "link " << link << " carries no frames: " << frame.error().what;
      return;
    }
    if (!frame.value()) return;
    if (!std::exchange(state.hello_seen, true)) {
      state.asks.set_limit(kFrameMax);
      continue;
    }
    auto decoded = codec_.decode_request(*frame.value());
    if (!decoded.ok()) {
      ADD_FAILURE() << "link " << link << ": " << decoded.error().what;
      return;
    }
    NumberedRequest asked = std::move(decoded).value();
    if (const auto* renew = std::get_if<Renew>(&asked.request)) {
      for (const Lease& lease : renew->leases) {
        Instant& until = handed_[lease.id].until;
        until = std::min(until, now + renew->hold);
      }
      if (renew->leases.empty()) end_waits(link, renew->queue);
    }
    const bool fresh = asked_
                           .emplace(Key(link, asked.id), Asked{.request = std::move(asked.request),
                                                               .received = now,
                                                               .order = ++order_,
                                                               .turn = turn_})
                           .second;
    EXPECT_TRUE(fresh) << "request " << asked.id << " was sent twice on link " << link;
  }
}

void Witness::put_off(LinkId link) {
  for (auto each = asked_.lower_bound({link, 0}); each != asked_.end() && each->first.first == link;
       ++each) {
    if (each->second.turn == turn_) each->second.put_off = true;
  }
}

void Witness::sent(LinkId link, std::string_view bytes, Instant now) {
  LinkState& state = links_.at(link);
  state.answers.feed(bytes);
  while (true) {
    const auto frame = state.answers.next();
    ASSERT_TRUE(frame.ok()) << "link " << link << ": " << frame.error().what;
    if (!frame.value()) return;
    if (!std::exchange(state.welcome_seen, true)) {
      state.answers.set_limit(kFrameMax);
      continue;
    }
    const auto answer = codec_.decode_answer(*frame.value());
    ASSERT_TRUE(answer.ok()) << "link " << link << ": " << answer.error().what;
    const auto asked = asked_.extract({link, answer.value().id});
    ASSERT_FALSE(asked.empty()) << "link " << link << ": request " << answer.value().id
                                << " is answered twice, or was never asked";
    answered(asked.mapped(), answer.value().answer, now);
  }
}

// A renewal of nothing ends the pulls of its link that wait there, when the hub gets to it.
void Witness::end_waits(LinkId link, const std::string& queue) {
  for (auto one = asked_.lower_bound({link, 0}); one != asked_.end(); ++one) {
    if (one->first.first != link) return;
    const auto* pull = std::get_if<Pull>(&one->second.request);
    if (pull != nullptr && pull->queue == queue) one->second.ended = true;
  }
}

void Witness::answered(const Asked& asked, const Answer& answer, Instant now) {
  EXPECT_TRUE(fits(asked.request.index(), answer)) << "a wrong kind of answer";
  const auto* pull = std::get_if<Pull>(&asked.request);
  const auto* deliveries = std::get_if<Deliveries>(&answer);
  if (pull == nullptr || deliveries == nullptr) return;
  if (deliveries->deliveries.empty() && !asked.put_off && !asked.ended && !draining_) {
    EXPECT_GE(now, asked.received + pull->wait) << "a pull gave up before its time";
  }
  EXPECT_LE(deliveries->deliveries.size(), pull->max);
  served(asked, *deliveries, now);
}

void Witness::served(const Asked& asked, const Deliveries& deliveries, Instant now) {
  if (deliveries.deliveries.empty()) return;
  const auto& pull = std::get<Pull>(asked.request);
  const bool at_once = asked.turn == turn_ || asked.put_off;
  const Instant until = (at_once ? asked.received : now) + pull.hold;
  for (const Delivery& delivery : deliveries.deliveries) {
    if (delivery.lease.id.front() != kGuarded) continue;
    handed_now_.emplace(std::pair(delivery.lease.id, delivery.attempt), until);
  }
  if (asked.put_off) return;
  uint64_t& latest = served_[pull.queue];
  latest = std::max(latest, asked.order);
}

// A message may be handed out twice in one turn if the first lease ended before the second pull.
void Witness::check_handed(Instant now) {
  for (const auto& [message, until] : std::exchange(handed_now_, {})) {
    const auto& [id, attempt] = message;
    Handed& last = handed_[id];
    EXPECT_GT(attempt, last.attempt) << "message " << id << " with an old attempt";
    EXPECT_GE(now, last.until) << "message " << id << " is handed out while it is held";
    last = {.attempt = attempt, .until = until};
  }
}

void Witness::turned(Core& core, bool core_was_well, std::optional<Instant> wake, Instant now) {
  const bool tries_again = wake && *wake <= now + (core_was_well ? Millis(0) : kRetryMax);
  for (const auto& [key, asked] : asked_) {
    if (asked.put_off) continue;
    check_waiting(asked, now);
    const auto* pull = std::get_if<Pull>(&asked.request);
    if (pull != nullptr && !tries_again) check_served(pull->queue, core, now);
  }
  check_handed(now);
  served_.clear();
  ++turn_;
}

void Witness::check_waiting(const Asked& asked, Instant now) {
  const auto* pull = std::get_if<Pull>(&asked.request);
  const auto* part = std::get_if<BlobPart>(&asked.request);
  if (part != nullptr && part->offset == 0) {
    EXPECT_LT(now, asked.received + hub::HubMind::kPlaceWait) << "an upload waits beyond its time";
    return;
  }
  ASSERT_TRUE(pull != nullptr) << "a request of kind " << asked.request.index()
                               << " has no answer after its turn";
  EXPECT_FALSE(draining_) << "a pull waits in a hub that drains";
  EXPECT_LT(now, asked.received + pull->wait) << "a pull waits beyond its time";
  const auto latest = served_.find(pull->queue);
  if (latest == served_.end()) return;
  EXPECT_GT(asked.order, latest->second)
      << "a pull of " << pull->queue << " was served before an older one";
}

void Witness::check_served(const std::string& queue, Core& core, Instant now) {
  const Answer depth = core.handle(AskDepth{queue}, now);
  const auto* found = std::get_if<Depth>(&depth);
  EXPECT_TRUE(found == nullptr || found->ready == 0)
      << "a pull waits in " << queue << " while there are messages";
}

}  // namespace dunlin
