#include "sim/client.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <utility>

#include "sim/hub_node.h"
#include "sim/witness.h"

namespace dunlin {

Client::Client(ClientWorld world, uint64_t machine)
    : random(world.random),
      ledger(world.ledger),
      events_(world.events),
      network_(world.network),
      machine_(machine) {
  make_mind();
}

void Client::make_mind() {
  mind_ = std::make_unique<HubClientMind>(
      HubClientMind::Options{.peer = "hub:1",
                             .hello = {.token = HubNode::kToken, .program = "sim"},
                             .seed = random.next()});
}

void Client::crash() {
  if (link_) network_.crash(*std::exchange(link_, {}), Network::Side::client);
  make_mind();
  unanswered_.clear();
  wake_.reset();
  plans_ = 0;
  ++life_;
  later(some(10, 2'000), [this] { begin(); });
}

void Client::ask(const Request& request, Then then) {
  const Millis deadline = some(500, 40'000);
  const auto* pull = std::get_if<Pull>(&request);
  const Instant by = events_.now() + deadline + (pull == nullptr ? Millis(0) : pull->wait);
  const uint64_t id = mind_->call(request, deadline, events_.now());
  unanswered_[id] = {.kind = request.index(), .by = by, .then = std::move(then)};
  carry_out();
}

void Client::insist(const Request& request, Then then) {
  ask(request, [this, request, then = std::move(then)](const Answer& answer) {
    const auto* error = std::get_if<Error>(&answer);
    if (error == nullptr || (error->code != Code::unavailable && error->code != Code::full)) {
      return then(answer);
    }
    later(some(20, 500), [this, request, then] { insist(request, then); });
  });
}

void Client::later(Millis delay, std::function<void()> what) {
  ++plans_;
  events_.after(delay, [this, life = life_, what = std::move(what)] {
    if (life != life_) return;
    --plans_;
    what();
  });
}

Millis Client::some(uint64_t least_ms, uint64_t most_ms) {
  return Millis(least_ms + random.below(most_ms - least_ms + 1));
}

std::string Client::next_name() { return fmt::format("{}.{}", machine_, ++names_); }

// --- The hands of the HubClientMind ---

void Client::linked(LinkId link) {
  if (link != link_) return;
  mind_->connected(events_.now());
  carry_out();
}

void Client::arrived(LinkId link, std::string_view bytes) {
  if (link != link_) return;
  mind_->received(bytes, events_.now());
  carry_out();
}

void Client::parted(LinkId link) {
  if (link != link_) return;
  link_.reset();
  mind_->disconnected(events_.now(), {Code::unavailable, "the connection is lost"});
  carry_out();
}

// What is done with an answer may ask for more, so this goes on until there is nothing to do.
void Client::carry_out() {
  if (std::exchange(carrying_out_, true)) return;
  while (true) {
    HubClientMind::Effects effects = mind_->take();
    if (!effects.disconnect && !effects.connect && effects.send.empty() &&
        effects.answers.empty()) {
      break;
    }
    if (effects.disconnect && link_) {
      network_.close(*std::exchange(link_, {}), Network::Side::client);
    }
    if (effects.connect) {
      EXPECT_FALSE(link_) << "a second connection";
      link_ = network_.connect(machine_, *this);
    }
    if (!effects.send.empty() && link_) {
      network_.send(*link_, Network::Side::client, std::move(effects.send));
    }
    for (const NumberedAnswer& answer : effects.answers) {
      const auto asked = unanswered_.extract(answer.id);
      if (asked.empty()) {
        ADD_FAILURE() << "request " << answer.id << " is answered twice, or was never asked";
        continue;
      }
      EXPECT_TRUE(fits(asked.mapped().kind, answer.answer)) << "a wrong kind of answer";
      EXPECT_LE(events_.now(), asked.mapped().by) << "an answer after its deadline";
      if (const auto* error = std::get_if<Error>(&answer.answer)) {
        EXPECT_TRUE(error->code == Code::unavailable || error->code == Code::full ||
                    error->code == Code::conflict || error->code == Code::not_found)
            << "an honest client was told: " << error->what;
      }
      asked.mapped().then(answer.answer);
    }
  }
  carrying_out_ = false;
  EXPECT_EQ(mind_->pending(), unanswered_.size());
  plan_wake();
}

void Client::plan_wake() {
  const std::optional<Instant> next = mind_->next_wake();
  if (!next || (wake_ && *wake_ <= *next)) return;
  wake_ = next;
  events_.at(*next, [this, life = life_, when = *next] {
    if (life != life_ || wake_ != when) return;
    wake_.reset();
    mind_->tick(events_.now());
    carry_out();
  });
}

}  // namespace dunlin
