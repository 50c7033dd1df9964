// Goal: whatever happens to the disk, the durable engine keeps what it acknowledged, whole and in
// order, and shows nothing else.
//
// Method: every request goes to the engine and to the reference engine, and the answers must agree.
// The disk loses power in the middle of any call, fills up, fails and is slow. After a crash the
// engine must hold what the reference holds after all acknowledged requests and some of those that
// were still in flight, in order. After a failed commit it must hold what it held before, at once,
// and now and then the index is compared with that of an engine that opens a copy of the disk. A
// failure is replayed with `SEED=n build/debug/sim_test`.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/crc32c.h"
#include "base/log.h"
#include "sim/disk.h"
#include "sim/dump.h"
#include "sim/seeds.h"
#include "store/memory.h"
#include "stores/engine/engine.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

constexpr Millis kLongerThanAnyHold = std::chrono::hours(1);
constexpr engine::LogOptions kSmallSegments = {.segment_bytes = 4096};

// One decision, said to both engines: they number versions and tokens each in their own way.
struct Twin {
  Request engine;
  Request model;
};

struct Entry {
  Request request;  // The model's.
  Instant now;
};

// May have happened, up to somewhere: it was staged when the commit failed or the power went.
struct Tail {
  size_t after = 0;  // How much of the journal was before it.
  std::vector<Entry> entries;
};

// What is told to the caller when the commit has succeeded.
struct Told {
  Request request;
  Answer engine;
  Answer model;
  Entry entry;
};

// Those that may have changed something: after the others the model is as it was before.
std::vector<Entry> changes(const std::vector<Told>& told) {
  std::vector<Entry> entries;
  for (const Told& each : told) {
    const bool reads = std::holds_alternative<Get>(each.request) ||
                       std::holds_alternative<Scan>(each.request) ||
                       std::holds_alternative<BlobGet>(each.request) ||
                       std::holds_alternative<AskDepth>(each.request);
    if (!reads && !std::holds_alternative<Error>(each.model)) entries.push_back(each.entry);
  }
  return entries;
}

class EngineWorld {
 public:
  explicit EngineWorld(uint64_t seed) : random_(seed), disk_(seed * 2 + 1), model_(memory_core()) {
    disk_.on_sync = [this] { clock_.advance(Millis(random_.below(slow_ ? 900 : 2))); };
    open();
  }

  // Returns a number that depends on everything that happened: equal runs give equal numbers.
  uint64_t run() {
    const uint64_t style = random_.below(5);
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); ++step) {
      choose_faults(style);
      this->step();
    }
    if (testing::Test::HasFailure()) return 0;
    disk_.faults = {};
    crash();
    for (int step = 0; step < 10 && !testing::Test::HasFailure(); ++step) this->step();
    crash();
    return hash_ ^ random_.next();
  }

 private:
  void choose_faults(uint64_t style) {
    disk_.faults = {};
    slow_ = style == 3;
    if (style == 0 || random_.percent(70)) return;  // Power losses only, or a good spell.
    if (style == 1) disk_.faults.capacity = random_.percent(30) ? 0 : 30000;
    if (style == 2) disk_.faults = {.write_fails = 15, .sync_fails = 15, .create_fails = 20};
    if (style == 4) disk_.faults.read_fails = 10;
  }

  void open() {
    for (int attempt = 0;; ++attempt) {
      if (attempt < 3 && random_.percent(20)) disk_.die_after(random_.below(12));
      auto opened = engine::Engine::open(disk_, "/s", clock_.now(), kSmallSegments);
      if (opened.ok()) {
        engine_ = std::move(opened).value();
        return;
      }
      ASSERT_TRUE(disk_.dead()) << opened.error().what;
      disk_.revive(random_.percent(50));
    }
  }

  void step() {
    clock_.advance(Millis(random_.below(700)));
    if (random_.percent(4)) disk_.die_after(random_.below(8));
    const std::string oldest = oldest_segment();
    ask_some();
    commit_all();
    // More often when a segment was dropped, and while nobody knows what became of the last batch.
    const bool is_delicate = !tails_.empty() || oldest != oldest_segment();
    if (disk_.dead() || random_.percent(is_delicate ? 20 : 2)) crash();
    if (disk_.faults.capacity == 0) return;
    const uint64_t allowed = 3 * engine_->index().live_bytes() + 8 * kSmallSegments.segment_bytes;
    EXPECT_LE(engine_->disk_bytes(), allowed) << "the log is not cleaned";
  }

  std::string oldest_segment() const {
    const auto segments = disk_.list("/s/log");
    return segments.ok() && !segments.value().empty() ? segments.value().front() : "";
  }

  void ask_some() {
    for (Twin& twin : std::exchange(again_, {})) handle(std::move(twin));
    for (uint64_t i = random_.below(5) + 1; i > 0; --i) {
      for (Twin& twin : choose()) {
        if (!handle(std::move(twin))) break;
      }
    }
  }

  // Sometimes others are let in while the disk works, as a store for many threads does.
  void commit_all() {
    if (engine_->staged() && random_.percent(30)) {
      const engine::Log::Batch& batch = engine_->begin_commit();
      const std::vector<Told> flying = std::exchange(told_, {});
      ask_some();
      settle(engine_->end_commit(engine::Log::write(batch), clock_.now()), true, flying);
    }
    const bool writes = engine_->staged();
    const auto committed = engine_->commit(clock_.now());
    settle(committed, writes, std::exchange(told_, {}));
    // Before the next batch the disk may show a batch that failed.
    const bool is_certain = committed.ok() && tails_.empty() && !engine_->staged();
    if (is_certain && !disk_.dead() && random_.percent(50)) compare_with_replay();
  }

  void settle(const Result<void>& committed, bool writes, const std::vector<Told>& told) {
    const std::vector<Entry> entries = changes(told);
    if (committed.ok()) {
      journal_.insert(journal_.end(), entries.begin(), entries.end());
      if (writes) tails_.clear();  // A later batch is durable: what failed before it is void.
      for (const Told& each : told) learn(each);
      return;
    }
    if (committed.error().code == Code::unavailable) tails_.push_back({journal_.size(), entries});
    // Some callers come again at once, with the same bytes. But an upload that ended is not undone.
    for (size_t i = random_.below(told.size() + 1); i > 0; --i) {
      const Request& request = told[i - 1].request;
      if (std::holds_alternative<BlobEnd>(request)) continue;
      again_.insert(again_.begin(), {request, told[i - 1].entry.request});
    }
    told_.clear();  // What was let in is gone as well.
    model_ = model_after(journal_);
    EXPECT_EQ(engine_->index().changes(), 0U) << "what failed is not undone";
  }

  // What is on disk adds up to the index in memory, whatever failed and was undone, moved or
  // dropped before. Only leases last longer after a start.
  void compare_with_replay() {
    const auto copied = disk_.copy();
    auto opened = engine::Engine::open(*copied, "/s", clock_.now(), kSmallSegments);
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    const engine::Index& live = engine_->index();
    const engine::Index& replayed = opened.value()->index();
    EXPECT_EQ(describe(live, Leases::left_out), describe(replayed, Leases::left_out));
    for (const auto& [name, queue] : live.queues()) {
      for (const auto& item : queue->items) {
        const engine::Item* twin = replayed.item(name, item->id);
        if (twin == nullptr) continue;  // Said above.
        if (item->leased) {
          EXPECT_TRUE(twin->leased && twin->hold == item->hold) << "of the lease on " << item->id;
        } else if (twin->leased) {
          EXPECT_LE(item->hidden_until, clock_.now()) << item->id << " was given back too early";
        }
      }
    }
  }

  // False if the disk was in the way.
  bool handle(Twin twin) {
    const Instant now = clock_.now();
    const Request asked = twin.engine;
    const Answer answer = engine_->handle(std::move(twin.engine), now);
    if (const Error* error = std::get_if<Error>(&answer)) {
      if (error->code == Code::full || error->code == Code::unavailable ||
          error->code == Code::denied) {
        return false;  // Nothing may have changed.
      }
    }
    const Entry entry{twin.model, now};
    const Answer expected = model_->handle(std::move(twin.model), now);
    EXPECT_EQ(shape(answer), shape(expected));
    hash_ = crc32c(shape(answer), static_cast<uint32_t>(hash_));
    told_.push_back({asked, answer, expected, entry});
    return true;
  }

  // --- What to ask ---

  std::string queue_name() { return "q" + std::to_string(random_.below(3)); }
  std::string table_name() { return "t" + std::to_string(random_.below(2)); }
  std::string key() { return "k" + std::to_string(random_.below(8)); }
  // Some last over many steps, and so over the cleaning of their segment.
  Millis hold() { return Millis(1 + random_.below(random_.percent(30) ? 60'000 : 3'000)); }
  std::string body() { return std::string(random_.below(300), static_cast<char>(random_.next())); }

  std::vector<Twin> choose() {
    switch (random_.below(11)) {
      case 0:
      case 1:
      case 2:
        return commit();
      case 3:
      case 4: {
        const Pull pull{
            .queue = queue_name(), .max = 1 + random_.below(6), .hold = hold(), .wait = Millis(0)};
        return {{pull, pull}};
      }
      case 5:
        return renew();
      case 6: {
        const Get get{.table = table_name(), .keys = {key(), key()}};
        return {{get, get}};
      }
      case 7: {
        const Scan scan{.table = table_name(), .prefix = "k", .after = key(), .max = 3};
        return {{scan, scan}};
      }
      case 8:
        return blob();
      case 9: {
        if (random_.percent(50)) return {};
        const EraseAll erase{.table = table_name(), .prefix = random_.percent(30) ? "k" : key()};
        return {{erase, erase}};
      }
      default: {
        const AskDepth depth{.queue = queue_name()};
        return {{depth, depth}};
      }
    }
  }

  std::vector<Twin> commit() {
    Commit engine{.nonce = random_.next(), .writes = {}};
    Commit model{.nonce = engine.nonce, .writes = {}};
    std::set<std::string> rows;
    for (uint64_t i = 1 + random_.below(4); i > 0; --i) {
      const uint64_t kind = random_.below(5);
      if (kind == 4) {
        if (add_keep(engine, model)) break;  // It may not be named a second time.
      } else if (kind == 0) {
        Push push{.queue = queue_name(), .messages = {}};
        for (uint64_t n = random_.below(5); n > 0; --n) {
          push.messages.push_back({"m" + std::to_string(random_.below(40)), body()});
        }
        engine.writes.emplace_back(push);
        model.writes.emplace_back(push);
      } else if (kind == 1) {
        add_finish(engine, model);
      } else {
        Put put{.table = table_name(), .key = key(), .value = body(), .version = 0};
        if (!rows.insert(put.table + put.key).second) continue;
        const auto [at_engine, at_model] = versions_[put.table + "/" + put.key];
        const Erase erase{.table = put.table, .key = put.key, .version = 0};
        add(engine, kind == 2, put, erase, at_engine);
        add(model, kind == 2, put, erase, at_model);
      }
    }
    std::vector<Twin> twins{{engine, model}};
    if (random_.percent(15)) twins.push_back(twins.front());  // The answer was lost: once more.
    return twins;
  }

  static void add(Commit& to, bool puts, Put put, Erase erase, uint64_t version) {
    put.version = version;
    erase.version = version;
    if (puts) {
      to.writes.emplace_back(put);
    } else {
      to.writes.emplace_back(erase);
    }
  }

  void add_finish(Commit& engine, Commit& model) {
    if (held_.empty()) return;
    const size_t pick = random_.below(held_.size());
    const Held held = held_[pick];
    const bool strict = random_.percent(30);
    engine.writes.emplace_back(
        Finish{.queue = held.queue, .leases = {held.engine}, .strict = strict});
    model.writes.emplace_back(
        Finish{.queue = held.queue, .leases = {held.model}, .strict = strict});
    if (random_.percent(80)) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(pick));
  }

  bool add_keep(Commit& engine, Commit& model) {
    if (held_.empty()) return false;
    Held& held = held_[random_.below(held_.size())];
    const auto names = [&](const Write& write) {
      const auto* push = std::get_if<Push>(&write);
      return std::holds_alternative<Finish>(write) ||
             (push != nullptr && push->queue == held.queue);
    };
    if (std::ranges::any_of(engine.writes, names)) return false;
    // No note that was there before: after a crash it tells whether this one happened.
    Keep keep{.queue = held.queue,
              .lease = held.engine,
              .step = held.step,
              .note = std::to_string(random_.next()),
              .hold = Millis(random_.percent(20) ? 0 : 1 + random_.below(3000))};
    if (random_.percent(90)) ++held.step;
    engine.writes.emplace_back(keep);
    keep.lease = held.model;
    model.writes.emplace_back(keep);
    return true;
  }

  std::vector<Twin> renew() {
    if (held_.empty()) return {};
    const Held& held = held_[random_.below(held_.size())];
    Renew engine{.queue = held.queue, .leases = {held.engine}, .hold = Millis(0)};
    if (random_.percent(70)) engine.hold = hold();
    Renew model = engine;
    model.leases = {held.model};
    return {{engine, model}};
  }

  std::vector<Twin> blob() {
    const std::string name = "b" + std::to_string(random_.below(4));
    const uint64_t kind = random_.below(4);
    if (kind == 0) return {{BlobErase{name}, BlobErase{name}}};
    if (kind == 1) {
      const BlobGet get{.name = name, .offset = random_.below(50), .max = 100};
      return {{get, get}};
    }
    const uint64_t upload = random_.next();
    const BlobPart part{.upload = upload, .offset = 0, .bytes = name + std::string(kind, 'x')};
    const BlobEnd end{.upload = upload, .name = name, .size = part.bytes.size()};
    return {{part, part}, {end, end}};
  }

  // --- What was learnt ---

  struct Held {
    std::string queue;
    Lease engine;
    Lease model;
    uint64_t step = 0;  // As far as we know.
  };

  void learn(const Told& told) {
    if (const auto* pull = std::get_if<Pull>(&told.request)) {
      const auto* engine = std::get_if<Deliveries>(&told.engine);
      const auto* model = std::get_if<Deliveries>(&told.model);
      if (engine == nullptr || model == nullptr) return;
      for (size_t i = 0; i < engine->deliveries.size(); ++i) {
        held_.push_back({pull->queue, engine->deliveries[i].lease, model->deliveries[i].lease});
      }
    }
    if (const auto* get = std::get_if<Get>(&told.request)) {
      const auto* engine = std::get_if<Rows>(&told.engine);
      const auto* model = std::get_if<Rows>(&told.model);
      if (engine == nullptr || model == nullptr) return;
      for (size_t i = 0; i < engine->rows.size(); ++i) {
        versions_[get->table + "/" + get->keys[i]] = {engine->rows[i].version,
                                                      model->rows[i].version};
      }
    }
  }

  // --- Crashes ---

  static std::unique_ptr<Core> model_after(const std::vector<Entry>& entries) {
    auto model = memory_core();
    for (const Entry& entry : entries) model->handle(Request(entry.request), entry.now);
    return model;
  }

  void crash() {
    if (!told_.empty()) tails_.push_back({journal_.size(), changes(std::exchange(told_, {}))});
    disk_.die();
    engine_.reset();
    disk_.revive(random_.percent(60));
    disk_.faults = {};
    open();
    if (testing::Test::HasFatalFailure()) return;
    clock_.advance(kLongerThanAnyHold);
    const auto copied = disk_.copy();
    auto twin = engine::Engine::open(*copied, "/s", clock_.now(), kSmallSegments);
    ASSERT_TRUE(twin.ok()) << twin.error().what;
    clock_.advance(kLongerThanAnyHold);
    const std::string found = dump(*twin.value(), clock_.now());
    hash_ = crc32c(found, static_cast<uint32_t>(hash_));
    ASSERT_TRUE(find_in_history(found)) << "after a crash the engine holds\n"
                                        << found << "\nand should hold\n"
                                        << dump(*model_after(journal_), clock_.now());
  }

  bool find_in_history(const std::string& found) {
    tails_.push_back({journal_.size(), {}});
    for (const Tail& tail : std::exchange(tails_, {})) {
      // After its failure there were only reads.
      std::vector<Entry> history(journal_.begin(),
                                 journal_.begin() + static_cast<std::ptrdiff_t>(tail.after));
      for (size_t extra = 0; extra <= tail.entries.size(); ++extra) {
        if (extra > 0) history.push_back(tail.entries[extra - 1]);
        if (dump(*model_after(history), clock_.now()) != found) continue;
        journal_ = history;
        model_ = model_after(journal_);
        return true;
      }
    }
    return false;
  }

  Random random_;
  SimClock clock_;
  SimDisk disk_;
  bool slow_ = false;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Core> model_;
  std::vector<Entry> journal_;  // Acknowledged.
  std::vector<Tail> tails_;
  std::vector<Told> told_;   // Handled, not committed.
  std::vector<Twin> again_;  // To be asked first in the next step.
  std::vector<Held> held_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> versions_;
  uint64_t hash_ = 0;
};

TEST(EngineSim, WhatWasAcknowledgedSurvivesAnyDisk) {
  log::set_level(log::Level::off);
  const uint64_t errors = log::errors();
  for (const uint64_t seed : seeds(1000)) {
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    const uint64_t first = EngineWorld(seed).run();
    if (runs_twice(seed)) {
      EXPECT_EQ(first, EngineWorld(seed).run()) << "something escaped the seed";
    }
    EXPECT_EQ(log::errors(), errors) << "an error was logged";
    if (HasFailure()) break;
  }
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace dunlin
