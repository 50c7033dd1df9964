// A hub among clients that say what they like: sessions and mind, without sockets.
//
//   byte    0: over the memory core, else over the engine
//   steps   until the end, see Step
//
// Whatever some clients do, the others get exactly one answer to each of their requests.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "hub/access/token.h"
#include "hub/sessions.h"
#include "sim/memory_disk.h"
#include "store/memory.h"
#include "stores/engine/engine.h"
#include "testing/clock.h"
#include "tests/fuzz/asker.h"

namespace dunlin {
namespace {

constexpr std::string_view kAdmin =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
constexpr size_t kStepsMax = 300;
constexpr size_t kPeersMax = 4;
constexpr size_t kCloggedAt = 2000;

// So small that a few requests reach them.
constexpr hub::HubLimits kLimits = {
    .waiting_max = 2, .unanswered_max = 4, .staged_max = 500, .staged_all_max = 1000};

enum Step : uint8_t {
  connect,
  greet,
  ask,
  say_frame,
  say_bytes,
  next_iterations,
  leave,
  read_answers,
  kSteps
};

// One client and what the network holds for and from it.
struct Client {
  Client() { reader.set_limit(kFrameMax); }
  bool is_heard() const { return gone || finishing || !honest || to_hub.empty(); }

  Asker asker;
  bool honest = true;  // Said only what a client should.
  bool said_hello = false;
  bool welcomed = false;
  bool gone = false;
  bool finishing = false;
  bool paused = false;
  std::string to_hub;
  std::string from_hub;
  uint64_t last_id = 0;
  std::set<uint64_t> unanswered;
  FrameReader reader{FrameReader::From::hub};
};

class World final : public net::Peers {
 public:
  explicit World(bool durable) {
    if (durable) {
      core_ = engine::Engine::open(*disk_, "hub", clock_.now()).value();
    } else {
      core_ = memory_core();
    }
    sessions_.emplace(*this, *core_, clock_, std::string(kAdmin), kLimits);
  }

  void step(Input& input) {
    const size_t kind = input.below(kSteps);
    const net::PeerId peer = input.below(clients_.size());
    if (kind == connect || clients_.empty()) return open(input.byte() % 8 == 7);
    if (kind == next_iterations) {
      turn(Millis(input.byte()) * input.byte());
      return;
    }
    Client& client = clients_[peer];
    if (client.gone) return;
    switch (kind) {
      case greet:
        say_hello(client, input);
        break;
      case ask: {
        if (!client.said_hello) client.honest = false;
        codec_.encode_request(++client.last_id, client.asker.next(input), client.to_hub);
        client.unanswered.insert(client.last_id);
        break;
      }
      case say_frame: {
        client.honest = false;
        const size_t start = begin_frame(client.to_hub);
        client.to_hub += input.sized();
        finish_frame(client.to_hub, start);
        break;
      }
      case say_bytes:
        client.honest = false;
        client.to_hub += input.sized();
        break;
      case leave:
        close(peer);
        return;
      default:
        read(peer);
        return;
    }
    deliver(peer, input.number());
  }

  // Lets everyone say the rest, then stops the hub as its loop does. No honest client may be left
  // unheard or without an answer.
  void end() {
    for (size_t turns = 0; turns < kStepsMax; ++turns) {
      for (net::PeerId peer = 0; peer < clients_.size(); ++peer) {
        read(peer);
        deliver(peer, SIZE_MAX);
      }
      if (!turn(Millis(0)) && std::ranges::all_of(clients_, &Client::is_heard)) break;
    }
    CHECK(std::ranges::all_of(clients_, &Client::is_heard));
    sessions_->stopping();
    for (size_t turns = 0; turn(Millis(0)); ++turns) {
      CHECK(turns < kStepsMax);
      for (net::PeerId peer = 0; peer < clients_.size(); ++peer) read(peer);
    }
    for (net::PeerId peer = 0; peer < clients_.size(); ++peer) {
      read(peer);
      const Client& client = clients_[peer];
      CHECK(client.gone || !client.honest || !client.welcomed || client.unanswered.empty());
      if (!client.gone) close(peer);
    }
  }

  std::string* outgoing(net::PeerId peer) override {
    return clients_[peer].gone ? nullptr : &clients_[peer].from_hub;
  }
  void greeted(net::PeerId peer) override { CHECK(!clients_[peer].gone); }
  void pause(net::PeerId peer, bool paused) override { clients_[peer].paused = paused; }
  bool clogged(net::PeerId peer) const override {
    return clients_[peer].from_hub.size() > kCloggedAt;
  }
  void finish(net::PeerId peer) override { clients_[peer].finishing = true; }
  std::string name_of(net::PeerId peer) const override { return std::to_string(peer); }

 private:
  void open(bool crowded) {
    if (clients_.size() == kPeersMax) return;
    clients_.emplace_back();
    sessions_->opened(clients_.size() - 1, crowded);
  }

  void say_hello(Client& client, Input& input) {
    std::string token(kAdmin);
    const uint8_t choice = input.byte();
    if (choice % 8 == 1) token = hub::make_token(kAdmin, hub::Scope::submit, 0).value();
    if (choice % 8 == 2)
      token = hub::make_token(kAdmin, hub::Scopes(hub::Scope::worker) | hub::Scope::read,
                              1 + input.byte())
                  .value();
    if (choice % 8 == 3) token = input.sized();
    if (client.said_hello) client.honest = false;
    client.said_hello = true;
    append_preface(client.to_hub);
    codec_.encode_hello({token, "fuzz"}, client.to_hub);
  }

  // As much as the loop would read.
  void deliver(net::PeerId peer, size_t max) {
    Client& client = clients_[peer];
    if (client.gone || client.finishing || client.paused || clogged(peer)) return;
    const std::string bytes = client.to_hub.substr(0, max);
    client.to_hub.erase(0, bytes.size());
    if (bytes.empty()) return;
    if (!sessions_->received(peer, bytes, clock_.now()).ok()) {
      CHECK(!client.honest);
      close(peer);
    }
  }

  // Whether another turn is wanted at once.
  bool turn(Millis later) {
    clock_.advance(later);
    const std::optional<Instant> wake = sessions_->turn(clock_.now());
    return wake && *wake <= clock_.now();
  }

  // What the hub says is well-formed, whoever it says it to.
  void read(net::PeerId peer) {
    Client& client = clients_[peer];
    const std::string bytes = std::exchange(client.from_hub, {});
    if (bytes.empty()) return;
    client.reader.feed(bytes);
    while (true) {
      const auto frame = client.reader.next();
      CHECK(frame.ok());
      if (!frame.value()) break;
      if (!client.welcomed) {
        const auto greeting = codec_.decode_greeting(*frame.value());
        CHECK(greeting.ok());
        client.welcomed = std::holds_alternative<Welcome>(greeting.value());
        CHECK(client.welcomed || client.finishing);
        continue;
      }
      const auto answer = codec_.decode_answer(*frame.value());
      CHECK(answer.ok());
      client.asker.saw(answer.value().answer);
      CHECK(client.unanswered.erase(answer.value().id) == 1 || !client.honest);
    }
    if (client.finishing && !client.gone) close(peer);
  }

  void close(net::PeerId peer) {
    clients_[peer].gone = true;
    (void)sessions_->closed(peer).ok();
  }

  SimClock clock_;
  std::unique_ptr<Disk> disk_ = memory_disk();
  std::unique_ptr<Core> core_;
  std::optional<hub::Sessions> sessions_;
  std::vector<Client> clients_;
  Codec codec_;
};

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const size_t core : {0U, 1U}) {
    Output start;
    start.byte(core).number(connect).number(0).byte(0).number(greet).number(0).byte(0).number(200);
    start.number(next_iterations).number(0).number(0);
    Output everything = start;
    for (size_t kind = 0; kind < Asker::kKinds; ++kind) {
      Output one = start;
      for (const size_t field : {1U, 2U, 3U}) {
        Output request;
        request.number(ask)
            .number(0)
            .number(kind)
            .raw(std::string(10, static_cast<char>(field)))
            .number(200);
        one.raw(request.bytes());
        everything.raw(request.bytes());
      }
      one.number(next_iterations).number(0).number(50).number(read_answers).number(0);
      all.push_back(one.bytes());
    }
    all.push_back(everything.bytes());
    all.push_back(Output(start).number(say_bytes).number(0).sized("noise").number(200).bytes());
    all.push_back(Output(start).number(say_frame).number(0).sized("noise").number(200).bytes());
    all.push_back(Output(start)
                      .number(connect)
                      .number(0)
                      .byte(7)
                      .number(greet)
                      .number(1)
                      .byte(0)
                      .number(200)
                      .bytes());
    for (const size_t token : {1U, 2U, 3U}) {
      all.push_back(Output()
                        .byte(core)
                        .number(connect)
                        .number(0)
                        .byte(0)
                        .number(greet)
                        .number(0)
                        .byte(token)
                        .sized("bad")
                        .number(200)
                        .bytes());
    }
  }
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  log::set_level(log::Level::off);
  Input input(data, size);
  World world(input.byte() % 2 != 0);
  for (size_t i = 0; i < kStepsMax && !input.empty(); ++i) world.step(input);
  world.end();
  return 0;
}
