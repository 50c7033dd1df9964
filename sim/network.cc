#include "sim/network.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/crc32c.h"

namespace dunlin {
namespace {

Network::Side other(Network::Side side) {
  return side == Network::Side::hub ? Network::Side::client : Network::Side::hub;
}

}  // namespace

Network::Link* Network::find(LinkId id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : &found->second;
}

Instant Network::healed(uint64_t machine) const {
  const auto found = cut_off_.find(machine);
  return found == cut_off_.end() ? events_.now() : std::max(found->second, events_.now());
}

Millis Network::timeout() {
  constexpr Millis kLeast = kUnnoticedMax / 2;
  return kLeast + Millis(random_.below(static_cast<uint64_t>(kLeast.count())));
}

LinkId Network::connect(uint64_t machine, Node& client) {
  const LinkId id = ++last_;
  Link& link = links_[id];
  link.machine = machine;
  link.to_client.to = &client;
  if (random_.percent(faults.no_link)) {
    tell(id, Side::client, Millis(random_.below(uint64_t{kConnectMax.count()})));
    return id;
  }
  const Instant give_up = events_.now() + kConnectMax;
  events_.after(Millis(random_.below(5)), [this, id, give_up] { knock(id, give_up); });
  return id;
}

void Network::knock(LinkId id, Instant give_up) {
  Link* link = find(id);
  if (link == nullptr || link->to_client.to == nullptr) return;
  const Instant when = healed(link->machine);
  if (when > give_up) return tell(id, Side::client, give_up - events_.now());
  if (when > events_.now()) return events_.at(when, [this, id, give_up] { knock(id, give_up); });
  if (hub_ == nullptr) return tell(id, Side::client, Millis(1));
  link->to_hub.to = hub_;
  events_.after(Millis(random_.below(5)), [this, id] {
    Link* made = find(id);
    if (made != nullptr && made->to_client.to != nullptr) made->to_client.to->linked(id);
  });
  hub_->linked(id);
}

// Where one write ends and the next begins is lost on the way.
void Network::send(LinkId id, Side from, std::string bytes) {
  if (bytes.size() > 1 && random_.percent(20)) {
    const size_t half = 1 + random_.below(bytes.size() - 1);
    put(id, other(from), {.bytes = bytes.substr(0, half), .last = false});
    bytes.erase(0, half);
  }
  put(id, other(from), {.bytes = std::move(bytes), .last = false});
}

void Network::put(LinkId id, Side to, Chunk chunk) {
  Link* link = find(id);
  if (link == nullptr) return;
  Direction& way = direction(*link, to);
  if (way.cut || way.closing) return;
  way.closing = chunk.last;
  way.chunks.push_back(std::move(chunk));
  const bool slow = random_.percent(faults.slow);
  events_.after(Millis(random_.below(slow ? 3'000 : 8)), [this, id, to] { deliver(id, to); });
}

// One event for each chunk, whichever is the next: so they arrive in order.
void Network::deliver(LinkId id, Side to) {
  Link* link = find(id);
  if (link == nullptr) return;
  Direction& way = direction(*link, to);
  if (way.cut || way.chunks.empty() || way.to == nullptr) return;
  const Instant when = std::max(healed(link->machine), way.not_before);
  if (when > events_.now()) return events_.at(when, [this, id, to] { deliver(id, to); });

  Chunk chunk = std::move(way.chunks.front());
  way.chunks.pop_front();
  if (chunk.last) return tell(id, to, Millis(0));
  const bool breaks =
      random_.percent(to == Side::hub ? faults.request_breaks : faults.answer_breaks);
  if (breaks && to == Side::hub && random_.percent(faults.late)) {
    way.chunks.push_front(std::move(chunk));
    events_.after(Millis(0), [this, id, to] { deliver(id, to); });
    return break_late(id);
  }
  Node* node = way.to;
  if (breaks) {
    if (random_.percent(70)) chunk.bytes.resize(random_.below(chunk.bytes.size() + 1));
    break_link(id, random_.percent(faults.half_open));
  }
  if (chunk.bytes.empty()) return;
  const auto now = static_cast<uint64_t>(events_.now().time_since_epoch().count());
  hash_ = crc32c(chunk.bytes, static_cast<uint32_t>(hash_ * 31 + now * 7 + id));
  node->arrived(id, chunk.bytes);
}

void Network::break_link(LinkId id, bool half_open) {
  Link& link = links_.at(id);
  for (Direction* way : {&link.to_hub, &link.to_client}) {
    way->cut = true;
    way->chunks.clear();
  }
  tell(id, Side::client, half_open ? timeout() : soon());
  tell(id, Side::hub, half_open ? timeout() : soon());
}

void Network::break_late(LinkId id) {
  Link& link = links_.at(id);
  link.to_client.cut = true;
  link.to_hub.not_before =
      events_.now() + Millis(random_.below(static_cast<uint64_t>(kLateMax.count())));
  tell(id, Side::client, soon());
  put(id, Side::hub, {.bytes = {}, .last = true});
}

void Network::tell(LinkId id, Side side, Millis delay) {
  events_.after(delay, [this, id, side] {
    Link* link = find(id);
    Node* node = link == nullptr ? nullptr : std::exchange(direction(*link, side).to, nullptr);
    if (node == nullptr) return;
    direction(*link, side).cut = true;
    if (direction(*link, other(side)).to == nullptr) links_.erase(id);
    node->parted(id);
  });
}

void Network::close(LinkId id, Side by) {
  Link* link = find(id);
  if (link == nullptr) return;
  direction(*link, by).to = nullptr;
  direction(*link, by).cut = true;
  if (direction(*link, other(by)).to == nullptr) {
    links_.erase(id);
  } else {
    put(id, other(by), {.bytes = {}, .last = true});
  }
}

void Network::crash(LinkId id, Side of) {
  Link* link = find(id);
  if (link == nullptr) return;
  const bool half_open = random_.percent(faults.half_open);
  if (half_open || random_.percent(50)) {
    break_link(id, half_open);
    direction(*link, of).to = nullptr;
    if (direction(*link, other(of)).to == nullptr) links_.erase(id);
  } else {
    close(id, of);
  }
}

void Network::hub_down(bool crashed) {
  hub_ = nullptr;
  std::vector<LinkId> ids;
  for (const auto& [id, link] : links_) {
    if (link.to_hub.to != nullptr) ids.push_back(id);
  }
  for (const LinkId id : ids) {
    if (crashed) {
      crash(id, Side::hub);
    } else {
      close(id, Side::hub);
    }
  }
}

void Network::cut_off(uint64_t machine, Millis time) { cut_off_[machine] = events_.now() + time; }

bool Network::hub_hears(LinkId id) const {
  const auto found = links_.find(id);
  return found != links_.end() && !found->second.to_hub.cut;
}

size_t Network::to_client_bytes(LinkId id) const {
  const auto found = links_.find(id);
  if (found == links_.end()) return 0;
  size_t bytes = 0;
  for (const Chunk& chunk : found->second.to_client.chunks) bytes += chunk.bytes.size();
  return bytes;
}

}  // namespace dunlin
