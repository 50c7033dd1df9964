#include "stores/engine/engine.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "sim/disk.h"
#include "sim/dump.h"
#include "store/uploads.h"
#include "stores/engine/check.h"

namespace dunlin::engine {
namespace {

constexpr Instant kStart = Instant(Millis(1000));

class EngineTest : public testing::Test {
 protected:
  void open(Instant now = kStart) {
    engine.reset();
    auto opened = Engine::open(disk, "/s", now, options);
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    engine = std::move(opened).value();
  }

  Answer ask(Request request, Instant now = kStart) {
    EXPECT_TRUE(validate(request).ok());
    Answer answer = engine->handle(std::move(request), now);
    const auto committed = engine->commit(now);
    if (!committed.ok()) return committed.error();
    return answer;
  }

  void push(const std::string& id, size_t size = 10) {
    EXPECT_TRUE(std::holds_alternative<Committed>(
        ask(Commit{0, {Push{"q", {{id, std::string(size, 'b')}}}}})));
  }

  std::vector<Delivery> pull(uint64_t max, Instant now = kStart) {
    return std::get<Deliveries>(ask(Pull{"q", max, Millis(1000)}, now)).deliveries;
  }

  void fill() {
    for (int i = 0; i < 20; ++i) {
      push("m" + std::to_string(i), 500);
      ask(Commit{0, {Put{"t", "k" + std::to_string(i), std::string(500, 'v'), 0}}});
    }
    ask(BlobPart{1, 0, std::string(100'000, 'z')});
    ask(BlobEnd{1, "blob", 100'000});
  }

  SimDisk disk{1};
  LogOptions options{.segment_bytes = 8192};
  std::unique_ptr<Engine> engine;
};

}  // namespace

TEST_F(EngineTest, ALeaseOutlivesARestartAndLastsItsWholeHoldAgain) {
  open();
  push("a");
  const Lease lease = pull(1).at(0).lease;
  open(kStart + Millis(500));
  EXPECT_TRUE(pull(1, kStart + Millis(1400)).empty());
  EXPECT_TRUE(
      std::get<Lost>(ask(Renew{"q", {lease}, Millis(1)}, kStart + Millis(1400))).leases.empty());
  const auto again = pull(1, kStart + Millis(2000));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].attempt, 2U);
  EXPECT_NE(again[0].lease.token, lease.token);
}

TEST_F(EngineTest, VersionsAndTokensAreNeverUsedAgainAfterARestart) {
  open();
  const auto put = [&](uint64_t version) {
    return std::get<Committed>(ask(Commit{0, {Put{"t", "k", "v", version}}})).version;
  };
  const uint64_t first = put(0);
  ask(Commit{0, {Erase{"t", "k", first}}});
  for (int i = 0; i < 100; ++i) {
    push("m", 400);
    ask(Commit{0, {Finish{"q", {pull(1).at(0).lease}}}});
  }
  open();
  EXPECT_GT(put(0), first + 200);
}

TEST_F(EngineTest, AnEmptyQueueLeavesNearlyNothingOnDisk) {
  open();
  for (int i = 0; i < 2000; ++i) {
    push("m" + std::to_string(i), 400);
    ask(Commit{0, {Finish{"q", {pull(1).at(0).lease}}}});
  }
  EXPECT_EQ(engine->index().live_bytes(), 0U);
  EXPECT_LE(engine->disk_bytes(), 3 * options.segment_bytes);
}

TEST_F(EngineTest, OldRowsAreMovedOutOfTheWayOfChurn) {
  open();
  ask(Commit{0, {Put{"t", "old", std::string(1000, 'o'), 0}}});
  push("old");
  const Lease held = pull(1).at(0).lease;
  for (int i = 0; i < 2000; ++i) {
    ask(Commit{0, {Put{"t", "hot", std::string(400, 'h'), kAnyVersion}}});
  }
  EXPECT_LE(engine->disk_bytes(), 3 * engine->index().live_bytes() + 3 * options.segment_bytes);
  open();
  EXPECT_EQ(std::get<Rows>(ask(Get{"t", {"old"}})).rows[0].value, std::string(1000, 'o'));
  EXPECT_TRUE(std::get<Lost>(ask(Renew{"q", {held}, Millis(10)})).leases.empty());
}

TEST_F(EngineTest, EveryFlippedBitIsFoundAndNamedOrHarmless) {
  open();
  fill();
  engine.reset();
  const auto before = disk.copy();
  const std::string expected = dump(*Engine::open(*before, "/s", kStart, options).value(), kStart);
  Random random(7);
  log::set_level(log::Level::off);
  for (int i = 0; i < 400; ++i) {
    const auto hurt = disk.copy();
    const auto paths = hurt->paths();
    const std::string& path = paths[random.below(paths.size())];
    std::string& bytes = hurt->bytes(path);
    const size_t at = random.below(bytes.size());
    SCOPED_TRACE(path + " at " + std::to_string(at));
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));

    const auto report = check_store(*hurt, "/s");
    ASSERT_TRUE(report.ok());
    const bool in_gap_of_mark = path == "/s/mark" && at >= 48 && at < 512;
    if (!in_gap_of_mark) {
      ASSERT_FALSE(report.value().damages.empty());
      EXPECT_EQ(report.value().damages[0].file, path);
    }
    const auto opened = Engine::open(*hurt, "/s", kStart, options);
    if (path.starts_with("/s/log/")) {
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().code, Code::corrupt);
      EXPECT_NE(opened.error().what.find(path), std::string::npos) << opened.error().what;
    } else if (path == "/s/mark") {
      ASSERT_TRUE(opened.ok());
      EXPECT_EQ(dump(*opened.value(), kStart), expected);
    } else {
      const Answer blob = opened.value()->handle(BlobGet{"blob", 0, 100'000}, kStart);
      EXPECT_EQ(std::get<Error>(blob).code, Code::corrupt);
    }
  }
  log::set_level(log::Level::info);
}

TEST_F(EngineTest, AZeroedBlockIsFoundWhereverItIs) {
  open();
  fill();
  engine.reset();
  for (const std::string& path : disk.paths()) {
    const size_t size = disk.bytes(path).size();
    for (size_t at = 0; at < size; at += 512) {
      const auto hurt = disk.copy();
      std::string& bytes = hurt->bytes(path);
      bytes.replace(at, std::min<size_t>(512, size - at), std::min<size_t>(512, size - at), '\0');
      if (bytes == disk.bytes(path)) continue;
      SCOPED_TRACE(path + " at " + std::to_string(at));
      const auto report = check_store(*hurt, "/s");
      ASSERT_TRUE(report.ok());
      ASSERT_FALSE(report.value().damages.empty());
      EXPECT_EQ(report.value().damages[0].file, path);
    }
  }
}

// As a disk leaves it that wrote to the wrong place, or a restore that mixed files up.
TEST_F(EngineTest, BlobFilesThatChangedPlacesAreFound) {
  open();
  for (const std::string name : {"one", "two"}) {
    ask(BlobPart{1, 0, std::string(200'000, name[0])});
    ask(BlobEnd{1, name, 200'000});
  }
  engine.reset();
  const std::vector<std::string> files = disk.list("/s/blobs").value();
  ASSERT_EQ(files.size(), 2U);
  std::swap(disk.bytes("/s/blobs/" + files[0]), disk.bytes("/s/blobs/" + files[1]));
  EXPECT_EQ(check_store(disk, "/s").value().damages.size(), 2U);
  open();
  for (const char* name : {"one", "two"}) {
    EXPECT_EQ(std::get<Error>(ask(BlobGet{name, 0, 10})).code, Code::corrupt);
  }
}

TEST_F(EngineTest, BlocksOfABlobThatChangedPlacesAreFound) {
  constexpr size_t kBlock = (64 << 10) + 4;
  open();
  std::string blob(200'000, 'a');
  std::fill(blob.begin() + 70'000, blob.end(), 'b');
  ask(BlobPart{1, 0, blob});
  ask(BlobEnd{1, "blob", blob.size()});
  std::string& bytes = disk.bytes("/s/blobs/" + disk.list("/s/blobs").value().at(0));
  std::swap_ranges(bytes.begin(), bytes.begin() + kBlock, bytes.begin() + kBlock);
  EXPECT_EQ(std::get<Error>(ask(BlobGet{"blob", 0, 10})).code, Code::corrupt);
  engine.reset();
  EXPECT_EQ(check_store(disk, "/s").value().damages.size(), 1U);
}

TEST_F(EngineTest, RecordsOfTheLogThatChangedPlacesAreFound) {
  open();
  Commit two{0, {Put{"t", "a", "1", kAnyVersion}, Put{"t", "b", "2", kAnyVersion}}};
  ask(Request(two));
  engine.reset();
  std::string& bytes = disk.bytes("/s/log/00000001.seg");
  const size_t batch = kSegmentHead;
  const size_t first = batch + read_frame(bytes.substr(batch), place(1, batch))->size;
  const size_t size = read_frame(bytes.substr(first), place(1, first))->size;
  const auto at = [&](size_t offset) { return bytes.begin() + static_cast<ptrdiff_t>(offset); };
  ASSERT_EQ(read_frame(bytes.substr(first + size), place(1, first + size))->size, size);
  const std::string before = bytes;
  std::swap_ranges(at(first), at(first + size), at(first + size));
  EXPECT_EQ(check_store(disk, "/s").value().damages.size(), 1U);
  EXPECT_FALSE(Engine::open(disk, "/s", kStart, options).ok());
  // A block that landed in the next segment, at the same offset.
  bytes = before;
  EXPECT_TRUE(read_frame(bytes.substr(first), place(1, first)));
  EXPECT_FALSE(read_frame(bytes.substr(first), place(2, first)));
}

// As a mixed-up restore leaves it, after a power loss that took the newest marks. The copy looks
// like nothing but a segment that was never begun: its batches know that they are elsewhere.
TEST_F(EngineTest, ACopyOfAnotherSegmentIsFoundWhereTheNewestShouldBe) {
  open();
  push("first", 9000);  // The next segment is made.
  const std::string mark = disk.bytes("/s/mark");
  push("second", 5000);
  engine.reset();
  const std::string newest = "/s/log/00000002.seg";
  ASSERT_EQ(disk.list("/s/log").value().size(), 2U);
  disk.bytes("/s/mark") = mark;
  ASSERT_EQ(read_mark(*disk.open("/s/mark").value()).value().mark.segment, 1U);
  std::string wrong_header = disk.bytes("/s/log/00000001.seg");
  wrong_header[20] ^= 1;
  const std::string zeros(disk.bytes(newest).size(), '\0');
  for (const std::string& found : {disk.bytes("/s/log/00000001.seg"), wrong_header, zeros}) {
    const auto hurt = disk.copy();
    hurt->bytes(newest) = found;
    const auto report = check_store(*hurt, "/s").value();
    ASSERT_EQ(report.damages.size(), 1U);
    EXPECT_EQ(report.damages[0].file, newest);
    const auto opened = Engine::open(*hurt, "/s", kStart, options);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::corrupt);
    EXPECT_EQ(hurt->bytes(newest), found) << "who looks for what was there needs it";
  }
  open();
  EXPECT_EQ(pull(10).size(), 2U);
}

TEST_F(EngineTest, AStoreThatIsRefusedKeepsItsHalfMadeSegment) {
  open();
  fill();
  engine.reset();
  const auto segments = disk.list("/s/log").value();
  const auto number = static_cast<uint32_t>(segments.size() + 1);
  const std::string half_made = segment_path("/s", number);
  ASSERT_TRUE(disk.create(half_made).ok());
  disk.bytes(half_made) = "DUNLINLG";
  for (const std::string& path : {"/s/log/" + segments[0], std::string("/s/mark")}) {
    const auto hurt = disk.copy();
    std::string& bytes = hurt->bytes(path);
    bytes.replace(kSegmentHead, bytes.size() - kSegmentHead, bytes.size() - kSegmentHead, '\0');
    if (path == "/s/mark") bytes.assign(bytes.size(), '\0');
    const auto opened = Engine::open(*hurt, "/s", kStart, options);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::corrupt);
    EXPECT_TRUE(hurt->open(half_made).ok()) << "with damage in " << path;
  }
  open();
  EXPECT_FALSE(disk.open(half_made).ok());
}

TEST_F(EngineTest, ABlankMarkHidesNoLostSegments) {
  open();
  fill();
  engine.reset();
  const auto segments = disk.list("/s/log").value();
  ASSERT_GT(segments.size(), 2U);
  disk.bytes("/s/mark").assign(disk.bytes("/s/mark").size(), '\0');
  for (const std::string& lost : {std::string(), segments.front(), segments.back()}) {
    const auto hurt = disk.copy();
    if (!lost.empty()) {
      ASSERT_TRUE(hurt->remove("/s/log/" + lost).ok());
    }
    const auto report = check_store(*hurt, "/s");
    ASSERT_FALSE(report.value().damages.empty());
    EXPECT_EQ(report.value().damages.back().file, "/s/mark");
    const auto opened = Engine::open(*hurt, "/s", kStart, options);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::corrupt);
    EXPECT_NE(opened.error().what.find("/s/mark"), std::string::npos) << opened.error().what;
  }
  ASSERT_TRUE(disk.remove("/s/mark").ok());  // Its advice.
  // Who follows it may be killed at once.
  log::set_level(log::Level::off);
  bool was_empty = false;
  for (uint64_t calls = 0; calls < 20; ++calls) {
    ASSERT_TRUE(disk.remove("/s/mark").ok());
    disk.die_after(calls);
    static_cast<void>(Engine::open(disk, "/s", kStart, options).ok());
    disk.die();
    disk.revive(false);
    if (disk.open("/s/mark").ok() && disk.bytes("/s/mark").empty()) {
      was_empty = true;
      const auto report = check_store(disk, "/s").value();
      ASSERT_EQ(report.damages.size(), 1U);
      EXPECT_EQ(report.damages[0].file, "/s/mark");
    }
    open();
  }
  log::set_level(log::Level::info);
  EXPECT_TRUE(was_empty);
  EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
}

TEST_F(EngineTest, ABlankMarkIsNoDamageBeforeTheFirstBatch) {
  open();
  for (const size_t size : {size_t{0}, disk.bytes("/s/mark").size()}) {
    engine.reset();
    disk.bytes("/s/mark").assign(size, '\0');
    EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
    open();
  }
}

TEST_F(EngineTest, DamageThatComesLaterIsNotServedAndDoesNotStopTheRest) {
  open();
  push("good", 300);
  push("bad", 300);
  push("fine", 300);
  std::string& bytes = disk.bytes("/s/log/00000001.seg");
  bytes[bytes.find("bad") + 100] ^= 1;
  log::set_level(log::Level::off);
  const auto deliveries = pull(10);
  log::set_level(log::Level::info);
  ASSERT_EQ(deliveries.size(), 2U);
  EXPECT_EQ(deliveries[0].lease.id, "good");
  EXPECT_EQ(deliveries[1].lease.id, "fine");
  log::set_level(log::Level::off);
  const Answer later = ask(Pull{"q", 1, Millis(1000)}, kStart + Millis(900));
  log::set_level(log::Level::info);
  EXPECT_TRUE(std::get<Deliveries>(later).deliveries.empty());  // Held back for a while.
}

TEST_F(EngineTest, ACutOffWriteIsCutAndIsNoDamage) {
  open();
  push("kept");
  engine->handle(Commit{0, {Push{"q", {{"torn", std::string(5000, 'x')}}}}}, kStart);
  disk.die_after(0);  // In the middle of the next write.
  EXPECT_FALSE(engine->commit(kStart).ok());
  engine.reset();
  disk.revive(false);
  disk.bytes("/s/log/00000001.seg") += "garbage of a write that never ended";
  const auto report = check_store(disk, "/s").value();
  EXPECT_TRUE(report.damages.empty());
  EXPECT_GT(report.torn_bytes, 0U);
  EXPECT_EQ(report.messages, 1U);
  open();
  EXPECT_EQ(pull(10).size(), 1U);
}

// A sync that failed leaves bytes which everyone can read and nobody will write.
TEST_F(EngineTest, WhatARestartReadBackIsDurableEvenIfItsSyncHadFailed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk own_disk(seed);
    auto own = Engine::open(own_disk, "/s", kStart).value();
    EXPECT_TRUE(std::holds_alternative<Committed>(
        own->handle(Commit{0, {Put{"t", "k", std::string(2'000, 'v'), 0}}}, kStart)));
    own_disk.faults.sync_fails = 100;
    const auto committed = own->commit(kStart);
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, Code::unavailable);
    own_disk.faults = {};
    const auto die_and_open = [&](bool power_was_lost) {
      own_disk.die();
      own.reset();
      own_disk.revive(power_was_lost);
      auto opened = Engine::open(own_disk, "/s", kStart);
      ASSERT_TRUE(opened.ok()) << opened.error().what;
      own = std::move(opened).value();
    };
    const auto version = [&] {
      return std::get<Rows>(own->handle(Get{"t", {"k"}}, kStart)).rows.at(0).version;
    };
    die_and_open(false);
    ASSERT_TRUE(own);
    ASSERT_NE(version(), 0U) << "it may have happened, and a process that is killed loses nothing";
    own->handle(Commit{0, {Put{"t", "other", "v", 0}}}, kStart);
    ASSERT_TRUE(own->commit(kStart).ok());
    die_and_open(true);
    ASSERT_TRUE(own);
    EXPECT_NE(version(), 0U);
  }
}

// Killed anywhere, then without power while it starts again.
TEST_F(EngineTest, APowerLossWhileAKilledStoreStartsAgainLosesNothing) {
  log::set_level(log::Level::off);
  const LogOptions tiny{.segment_bytes = 512};
  const auto put_until_dead = [&](SimDisk& own_disk) {
    auto own = Engine::open(own_disk, "/s", kStart, tiny);
    for (int i = 0; i < 40 && !own_disk.dead() && own.ok(); ++i) {
      own.value()->handle(Commit{0, {Put{"t", "k", std::string(100, 'v'), kAnyVersion}}}, kStart);
      static_cast<void>(own.value()->commit(kStart).ok());
    }
    own_disk.die();
  };
  for (uint64_t killed_after = 30; killed_after < 230; ++killed_after) {
    for (uint64_t dark_after = 0; dark_after < 15; ++dark_after) {
      SimDisk own_disk(killed_after * 15 + dark_after);
      own_disk.die_after(killed_after);
      put_until_dead(own_disk);
      own_disk.revive(false);
      own_disk.die_after(dark_after);
      put_until_dead(own_disk);
      own_disk.revive(true);
      const auto opened = Engine::open(own_disk, "/s", kStart, tiny);
      ASSERT_TRUE(opened.ok()) << opened.error().what << " after " << killed_after << " calls and "
                               << dark_after << " more";
    }
  }
  log::set_level(log::Level::info);
}

TEST_F(EngineTest, APowerLossMayTakeBothMarksAndBringBackADroppedSegment) {
  const LogOptions small{.segment_bytes = 2048};
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SimDisk own_disk(seed);
    auto own = Engine::open(own_disk, "/s", kStart, small).value();
    const auto commit = [&](const Write& write) {
      own->handle(Commit{0, {write}}, kStart);
      ASSERT_TRUE(own->commit(kStart).ok());
    };
    for (int i = 0; i < 30; ++i) {
      commit(Put{"t", "k" + std::to_string(i), std::string(300, 'v'), 0});
    }
    for (int i = 0; i < 20; ++i) commit(Erase{"t", "k" + std::to_string(i), kAnyVersion});
    own_disk.die();
    own.reset();
    own_disk.revive(true);
    const auto opened = Engine::open(own_disk, "/s", kStart, small);
    ASSERT_TRUE(opened.ok()) << opened.error().what << " with seed " << seed;
    EXPECT_EQ(opened.value()->index().table("t")->size(), 10U) << "with seed " << seed;
  }
}

TEST_F(EngineTest, OpeningReadsTheLogOnce) {
  open();
  fill();
  engine.reset();
  const std::vector<std::string> segments = disk.list("/s/log").value();
  ASSERT_GT(segments.size(), 1U);
  uint64_t log_bytes = 0;
  for (const std::string& name : segments) log_bytes += disk.bytes("/s/log/" + name).size();
  const uint64_t before = disk.bytes_read;
  open();
  // Each header a second time, and the two marks.
  EXPECT_LE(disk.bytes_read - before, log_bytes + segments.size() * kSegmentHead + 100);
}

TEST_F(EngineTest, AFailedCommitIsUndoneWithoutALookAtTheDisk) {
  open();
  fill();
  const Lease held = pull(1).at(0).lease;
  const auto stage = [&](const Request& request) {
    EXPECT_FALSE(std::holds_alternative<Error>(engine->handle(Request(request), kStart)));
  };
  for (const auto& [faults, code] :
       {std::pair(SimDisk::Faults{.sync_fails = 100}, Code::unavailable),
        std::pair(SimDisk::Faults{.capacity = 0}, Code::full)}) {
    open();
    const std::string before = describe(engine->index());
    stage(Commit{0, {Put{"t", "k1", "v", kAnyVersion}, Erase{"t", "k2", kAnyVersion}}});
    stage(Commit{0, {Finish{"q", {held}}, Push{"new", {{"n", "b"}}}}});
    stage(Pull{"q", 3, Millis(1000)});
    disk.faults = faults;
    const uint64_t read = disk.bytes_read;
    const auto committed = engine->commit(kStart);
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, code);
    EXPECT_EQ(disk.bytes_read, read);
    EXPECT_EQ(describe(engine->index()), before);
    disk.faults = {};
  }
}

TEST_F(EngineTest, AfterAFailedCommitNothingIsWrittenForAWhile) {
  open();
  push("a");
  disk.faults.capacity = 0;
  EXPECT_EQ(std::get<Error>(ask(Commit{0, {Put{"t", "k", "v", 0}}})).code, Code::full);
  disk.faults = {};
  EXPECT_EQ(std::get<Error>(ask(Commit{0, {Put{"t", "k", "v", 0}}}, kStart + Millis(199))).code,
            Code::full);
  EXPECT_EQ(std::get<Depth>(ask(AskDepth{"q"})).ready, 1U);  // Reading goes on.
  EXPECT_TRUE(std::holds_alternative<Committed>(
      ask(Commit{0, {Put{"t", "k", "v", 0}}}, kStart + Millis(200))));
}

TEST_F(EngineTest, AFullDiskWithAStoreOfFormat1IsReadAndGoesOnWhenThereIsRoom) {
  ASSERT_TRUE(disk.make_folder("/s/log").ok());
  std::string bytes =
      encode(SegmentHeader{.number = 1, .first_batch = 1, .previous_end = 0, .placed = false});
  const auto add = [&bytes](const auto& record) {
    const size_t start = bytes.size();
    bytes.resize(start + kRecordHead);
    encode(record, bytes);
    bytes[start + kRecordHead] |= static_cast<char>(kGroupEnd);
    seal_frame(bytes, start);
  };
  add(BatchRecord{.number = 1, .stamp = 1});
  add(PutRecord{.table = "t", .key = "old", .version = 1, .nonce = 1, .value = "v"});
  ASSERT_TRUE(disk.create("/s/log/00000001.seg").value()->write(0, bytes).ok());
  const auto mark_file = disk.create("/s/mark").value();
  const Mark mark{.batch = 1, .oldest = 1, .segment = 1, .end = bytes.size()};
  ASSERT_TRUE(write_both_marks(*mark_file, mark).ok());

  log::set_level(log::Level::off);
  const uint64_t used = bytes.size() + disk.bytes("/s/mark").size();
  Instant now = kStart;
  for (const auto& faults :
       {SimDisk::Faults{.create_fails = 100}, SimDisk::Faults{.capacity = used}}) {
    disk.faults = faults;
    open(now);
    ASSERT_TRUE(engine);
    EXPECT_EQ(std::get<Rows>(ask(Get{"t", {"old"}}, now)).rows[0].value, "v");
    for (int i = 0; i < 3; ++i) {
      now += Millis(1000);
      EXPECT_EQ(std::get<Error>(ask(Commit{0, {Put{"t", "new", "v", 0}}}, now)).code, Code::full);
    }
    EXPECT_EQ(disk.list("/s/log").value().size(), 1U);
    EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
  }
  disk.faults = {};
  now += Millis(1000);
  EXPECT_TRUE(std::holds_alternative<Committed>(ask(Commit{0, {Put{"t", "new", "v", 0}}}, now)));
  log::set_level(log::Level::info);
  EXPECT_TRUE(decode_header(disk.bytes("/s/log/00000002.seg")).value().placed);
  open(now);
  for (const char* key : {"old", "new"}) {
    EXPECT_EQ(std::get<Rows>(ask(Get{"t", {key}}, now)).rows[0].value, "v");
  }
  engine.reset();
  EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
}

TEST_F(EngineTest, ADiskThatFailsForHoursGetsOneSegmentMoreAtMost) {
  open();
  fill();
  const size_t segments = disk.list("/s/log").value().size();
  log::set_level(log::Level::off);
  Instant now = kStart;
  const auto try_often = [&] {
    for (int i = 0; i < 50; ++i) {
      now += Millis(1000);
      EXPECT_TRUE(std::holds_alternative<Error>(
          ask(Commit{0, {Put{"t", "k", std::string(100, 'x'), kAnyVersion}}}, now)));
    }
  };
  disk.faults.capacity = 0;
  try_often();
  EXPECT_EQ(disk.list("/s/log").value().size(), segments);
  disk.faults = {};
  // Each header gets to the disk, each batch after it does not.
  uint64_t syncs = 0;
  disk.on_sync = [&] { disk.faults.sync_fails = syncs++ % 2 == 0 ? 100 : 0; };
  try_often();
  EXPECT_LE(disk.list("/s/log").value().size(), segments + 1);
  disk.on_sync = {};
  disk.faults = {};
  log::set_level(log::Level::info);
  now += Millis(1000);
  EXPECT_TRUE(std::holds_alternative<Committed>(ask(Commit{0, {Put{"t", "after", "v", 0}}}, now)));
  open(now);
  EXPECT_EQ(std::get<Rows>(ask(Get{"t", {"after"}}, now)).rows[0].value, "v");
  EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
}

// A newest segment without a batch may be made anew only if no mark says that it is there.
TEST_F(EngineTest, ASegmentThatAMarkNamesIsNeverMissing) {
  log::set_level(log::Level::off);
  const Commit large{0, {Put{"t", "k", std::string(9000, 'x'), kAnyVersion}}};
  for (uint64_t calls = 0; calls < 12; ++calls) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SimDisk own_disk(calls * 10 + seed);
      Instant now = kStart;
      const auto put = [&](Engine& own) {
        own.handle(Request(large), now);
        return own.commit(now);
      };
      auto own = Engine::open(own_disk, "/s", now, options).value();
      ASSERT_TRUE(put(*own).ok());  // The next segment is made.
      own.reset();
      own = Engine::open(own_disk, "/s", now, options).value();  // The marks name it.
      own_disk.faults.sync_fails = 100;
      ASSERT_FALSE(put(*own).ok());
      own_disk.faults = {};
      own_disk.die_after(calls);
      now += Millis(1000);
      static_cast<void>(put(*own).ok());
      own_disk.die();
      own.reset();
      own_disk.revive(true);
      const auto opened = Engine::open(own_disk, "/s", now, options);
      ASSERT_TRUE(opened.ok()) << opened.error().what << " after " << calls << " calls";
    }
  }
  log::set_level(log::Level::info);
}

TEST_F(EngineTest, ABlobWhoseNamingFailedLeavesNoFile) {
  open();
  for (const bool in_doubt : {false, true}) {
    const Instant now = kStart + Millis(in_doubt ? 10'000 : 0);
    ask(BlobPart{1, 0, "bytes"}, now);
    engine->handle(BlobEnd{1, "blob", 5}, now);
    disk.faults = in_doubt ? SimDisk::Faults{.sync_fails = 100} : SimDisk::Faults{.capacity = 0};
    EXPECT_FALSE(engine->commit(now).ok());
    disk.faults = {};
    EXPECT_EQ(disk.list("/s/blobs").value().size(), 1U);  // A restart may find the name.
    ask(Commit{0, {Put{"t", "k", "v", kAnyVersion}}}, now + Millis(1000));
    EXPECT_EQ(disk.list("/s/blobs").value().size(), 0U);
  }
}

TEST_F(EngineTest, ABlobWhoseSyncFailedIsSentAgainFromTheStart) {
  open();
  ask(BlobPart{1, 0, "bytes"});
  disk.faults.sync_fails = 100;
  EXPECT_EQ(std::get<Error>(ask(BlobEnd{1, "blob", 5})).code, Code::unavailable);
  disk.faults = {};
  EXPECT_EQ(std::get<Error>(ask(BlobEnd{1, "blob", 5})).code, Code::not_found);
  ask(BlobPart{1, 0, "bytes"});
  EXPECT_TRUE(std::holds_alternative<Done>(ask(BlobEnd{1, "blob", 5})));
}

TEST_F(EngineTest, AnUploadThatGoesOnIsNotForgottenForAnother) {
  open();
  const auto code = [&](const Request& request, Instant now) {
    const Answer answer = ask(request, now);
    const auto* error = std::get_if<Error>(&answer);
    return error == nullptr ? std::optional<Code>() : error->code;
  };
  for (uint64_t upload = 1; upload <= kUploadsMax; ++upload) {
    ASSERT_EQ(code(BlobPart{upload, 0, "x"}, kStart), std::nullopt);
  }
  const uint64_t more = kUploadsMax + 1;
  const Instant later = kStart + kUploadIdle;
  EXPECT_EQ(code(BlobPart{more, 0, "x"}, later - Millis(1)), Code::full);
  EXPECT_EQ(disk.list("/s/blobs").value().size(), kUploadsMax);
  EXPECT_EQ(code(BlobPart{1, 0, "x"}, later - Millis(1)), std::nullopt);
  EXPECT_EQ(code(BlobPart{more, 0, "x"}, later), std::nullopt);
  EXPECT_EQ(code(BlobEnd{1, "b1", 1}, later), std::nullopt);
  EXPECT_EQ(code(BlobEnd{more, "new", 1}, later), std::nullopt);
  EXPECT_EQ(code(BlobPart{3, 0, ""}, later), std::nullopt);
  EXPECT_EQ(code(BlobEnd{3, "b3", 1}, later), Code::not_found);
  EXPECT_EQ(disk.list("/s/blobs").value().size(), kUploadsMax - 1);
}

TEST_F(EngineTest, ADiskThatRefusesAFileIsNoRefusalOfTheCaller) {
  open();
  disk.faults.create_fails = 100;
  EXPECT_EQ(std::get<Error>(ask(BlobPart{1, 0, "bytes"})).code, Code::full);
}

TEST_F(EngineTest, AMissingSegmentIsNamed) {
  open();
  fill();
  engine.reset();
  ASSERT_TRUE(disk.remove("/s/log/00000002.seg").ok());
  const auto opened = Engine::open(disk, "/s", kStart, options);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().what.find("00000002.seg"), std::string::npos) << opened.error().what;
  EXPECT_EQ(check_store(disk, "/s").value().damages.at(0).file, "/s/log/00000002.seg");
}

TEST_F(EngineTest, AFarSegmentIsNamedOnce) {
  open();
  fill();
  engine.reset();
  const auto far = disk.create("/s/log/900000000.seg").value();
  ASSERT_TRUE(far->write(0, encode(SegmentHeader{.number = 900'000'000, .first_batch = 1})).ok());
  const auto opened = Engine::open(disk, "/s", kStart, options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::corrupt);
  const auto report = check_store(disk, "/s");
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().damages.size(), 1U);
  EXPECT_NE(report.value().damages[0].what.find("segments are missing"), std::string::npos);
}

TEST_F(EngineTest, ACheckFindsEveryHeaderThatWouldKeepTheStoreFromOpening) {
  open();
  fill();
  engine.reset();
  const auto segments = disk.list("/s/log").value();
  ASSERT_GE(segments.size(), 2U);
  const std::string last = "/s/log/" + segments.back();
  const SegmentHeader right = decode_header(disk.bytes(last)).value();
  SegmentHeader gap = right;
  ++gap.first_batch;
  SegmentHeader early = right;
  early.previous_end = 0;
  SegmentHeader other = right;
  ++other.number;
  for (const SegmentHeader& wrong : {gap, early, other}) {
    disk.bytes(last).replace(0, kSegmentHead, encode(wrong));
    EXPECT_FALSE(check_store(disk, "/s").value().damages.empty());
    EXPECT_FALSE(Engine::open(disk, "/s", kStart, options).ok());
  }
  disk.bytes(last).replace(0, kSegmentHead, encode(right));
  EXPECT_TRUE(check_store(disk, "/s").value().damages.empty());
  open();
}

TEST_F(EngineTest, AnEmptyFolderIsNoStoreToCheck) {
  const auto report = check_store(disk, "/nothing");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::not_found);
}

TEST_F(EngineTest, BlobFilesThatNobodyNamesAreRemoved) {
  open();
  ask(BlobPart{1, 0, "left behind"});
  fill();
  EXPECT_EQ(disk.list("/s/blobs").value().size(), 1U);  // The upload began again under its number.
  ask(BlobPart{2, 0, "left behind"});
  EXPECT_EQ(disk.list("/s/blobs").value().size(), 2U);
  open();
  EXPECT_EQ(disk.list("/s/blobs").value().size(), 1U);
  ask(BlobErase{"blob"});
  EXPECT_EQ(disk.list("/s/blobs").value().size(), 0U);
}

}  // namespace dunlin::engine
