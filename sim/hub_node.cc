#include "sim/hub_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace dunlin {
namespace {

constexpr engine::LogOptions kSmallSegments = {.segment_bytes = 8192};

}  // namespace

HubNode::HubNode(Events& events, Network& network, Random& random, const HubNodeOptions& options)
    : events_(events),
      network_(network),
      random_(random),
      options_(options),
      disk_(random.next()),
      memory_(std::make_unique<FailingCore>(random.next())) {
  memory_->fails_percent = options.commit_fails;
  disk_.on_sync = [this] { synced_for_ += Millis(random_.below(options_.disk_is_slow ? 400 : 2)); };
}

// --- Its life ---

void HubNode::start() {
  CHECK(!up());
  if (!open_core()) return events_.after(Millis(200), [this] { start(); });
  sessions_ = std::make_unique<hub::Sessions>(*this, *core_, events_, kToken, options_.limits);
  ++life_;
  busy_until_ = events_.now();
  network_.hub_up(*this);
  wake_at(events_.now());
}

bool HubNode::open_core() {
  if (!options_.durable) {
    core_ = std::make_unique<WatchedCore>(*memory_);
    return true;
  }
  disk_.faults = {};
  auto opened = engine::Engine::open(disk_, "/s", events_.now(), kSmallSegments);
  if (!opened.ok()) {
    EXPECT_TRUE(disk_.dead()) << opened.error().what;
    disk_.revive(random_.percent(50));
    return false;
  }
  engine_ = std::move(opened).value();
  core_ = std::make_unique<WatchedCore>(*engine_);
  return true;
}

void HubNode::crash(Millis down) {
  if (up()) go_down(true, down);
}

void HubNode::crash_in_turn(Millis down) {
  crash_in_turn_ = down;
  if (options_.durable && random_.percent(70)) disk_.die_after(random_.below(12));
}

void HubNode::stop(Millis down) {
  if (!up()) return;
  if (events_.now() < busy_until_) return events_.at(busy_until_, [this, down] { stop(down); });
  sessions_->stopping();
  witness_.drains();
  std::optional<Instant> again = events_.now();
  for (int turns = 0; again && *again <= events_.now() && turns < 100; ++turns) {
    again = sessions_->turn(events_.now());
  }
  if (disk_.dead()) return go_down(true, down);
  speak();
  witness_.turned(*core_, core_->was_well(), {}, events_.now());
  EXPECT_EQ(sessions_->waiting(), 0U) << "somebody waits in a hub that has stopped";
  go_down(false, down);
}

void HubNode::go_down(bool crashed, Millis down) {
  network_.hub_down(crashed);
  witness_.hub_down();
  sessions_.reset();
  peers_.clear();
  dropped_.clear();
  wake_.reset();
  crash_in_turn_.reset();
  core_.reset();
  if (engine_) {
    if (crashed) disk_.die();
    engine_.reset();
    disk_.revive(crashed && random_.percent(60));
    if (random_.percent(10)) disk_.die_after(random_.below(12));  // While it starts again.
  }
  events_.after(down, [this] { start(); });
}

void HubNode::start_disk_faults() { disk_.faults = options_.disk_faults; }
void HubNode::end_disk_faults() { disk_.faults = {}; }

void HubNode::end_all_faults() {
  end_disk_faults();
  memory_->fails_percent = 0;
  crash_in_turn_.reset();
  disk_.die_after(UINT64_MAX);
}

// --- What arrives ---

void HubNode::linked(LinkId link) {
  peers_[link];
  witness_.opened(link);
  sessions_->opened(link, false);
  events_.after(kGreetMax, [this, link] {
    const auto peer = peers_.find(link);
    if (peer == peers_.end() || peer->second.greeted) return;
    network_.close(link, Network::Side::hub);
    parted(link);
  });
}

void HubNode::arrived(LinkId link, std::string_view bytes) {
  Peer& peer = peers_.at(link);
  if (peer.paused || clogged(link) || !peer.held.empty()) {
    peer.held += bytes;
  } else {
    receive(link, peer, bytes);
  }
  wake_at(events_.now() +
          Millis(random_.below(static_cast<uint64_t>(options_.gather_max.count()))));
}

void HubNode::receive(LinkId link, Peer& peer, std::string_view bytes) {
  witness_.received(link, bytes, events_.now());
  const Result<void> taken = sessions_->received(link, bytes, events_.now());
  EXPECT_TRUE(taken.ok()) << "an honest client is dropped: " << taken.error().what;
  if (peer.paused) witness_.put_off(link);
}

bool HubNode::read_held() {
  bool read = false;
  for (auto& [link, peer] : peers_) {
    if (peer.held.empty() || peer.paused || clogged(link)) continue;
    const std::string bytes = std::exchange(peer.held, {});
    receive(link, peer, bytes);
    read = true;
  }
  return read;
}

void HubNode::parted(LinkId link) {
  peers_.erase(link);
  witness_.closed(link);
  static_cast<void>(sessions_->closed(link).ok());  // In the middle of a frame is fine.
}

std::string* HubNode::outgoing(net::PeerId peer) {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second.out;
}

bool HubNode::clogged(net::PeerId peer) const {
  return network_.to_client_bytes(peer) > options_.unsent_max;
}

void HubNode::finish(net::PeerId peer) { ADD_FAILURE() << "an honest client is refused: " << peer; }

// Half a frame of a client that is gone may wait for longer than the system needs to say so.
void HubNode::drop(net::PeerId peer, std::string_view reason) {
  EXPECT_FALSE(network_.hub_hears(peer)) << "an honest client is dropped: " << reason;
  dropped_.push_back(peer);
}

// --- What it does ---

void HubNode::wake_at(Instant when) {
  when = std::max(when, busy_until_);
  if (wake_ && *wake_ <= when) return;
  wake_ = when;
  events_.at(when, [this, life = life_, when] {
    if (life == life_ && up() && wake_ == when) turn();
  });
}

void HubNode::turn() {
  wake_.reset();
  synced_for_ = Millis(0);
  const Instant now = events_.now();
  const std::optional<Instant> wake = sessions_->turn(now);
  if (disk_.dead() || crash_in_turn_) return go_down(true, crash_in_turn_.value_or(Millis(100)));
  busy_until_ = now + synced_for_;
  part_dropped();
  speak();
  const bool was_well = core_->was_well();
  witness_.turned(*core_, was_well, wake, now);
  if (read_held()) wake_at(now);
  if (wake) wake_at(*wake);
  const bool holds = std::ranges::any_of(
      peers_, [](const auto& each) { return !each.second.held.empty() || each.second.paused; });
  if (holds) wake_at(now + Millis(20));
}

// As a server does it: after the turn, without another word.
void HubNode::part_dropped() {
  for (const LinkId link : std::exchange(dropped_, {})) {
    network_.close(link, Network::Side::hub);
    parted(link);
  }
}

// The witness hears it at once, the network when the disk is done.
void HubNode::speak() {
  for (auto& [link, peer] : peers_) {
    if (peer.out.empty()) continue;
    witness_.sent(link, peer.out, events_.now());
    std::string bytes = std::exchange(peer.out, {});
    if (busy_until_ <= events_.now()) {
      network_.send(link, Network::Side::hub, std::move(bytes));
      continue;
    }
    events_.at(busy_until_, [this, life = life_, id = link, late = std::move(bytes)] {
      if (life == life_ && up()) network_.send(id, Network::Side::hub, late);
    });
  }
}

}  // namespace dunlin
