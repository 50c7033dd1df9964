// A whole store of which some parts are not what they were.
//
//   edits      of a valid store (store_image.h), until one is "no more"
//   requests   of a client (asker.h), if the store opens
//
// The store must open or say why not; what it holds must be the same when it is opened again; and
// check_store must say the same as opening does.
#include <fmt/format.h>
#include <map>

#include "base/log.h"
#include "sim/dump.h"
#include "stores/engine/check.h"
#include "tests/fuzz/asker.h"
#include "tests/fuzz/store_image.h"

namespace dunlin {
namespace {

constexpr Instant kNow = Instant(Millis(1000));
constexpr Instant kMuchLater = kNow + 2 * kHoldMax;  // When no lease is held.
constexpr size_t kEditsMax = 20;
constexpr size_t kRequestsMax = 40;

// What the engine knows without its disk.
std::string keys(const engine::Engine& engine) {
  std::string text;
  for (const auto& [name, rows] : engine.index().tables()) {
    for (const auto& [key, row] : rows)
      text += fmt::format("row {} {} {}\n", name, key, row.version);
  }
  for (const auto& [name, queue] : engine.index().queues()) {
    std::map<uint64_t, const engine::Item*> items;
    for (const auto& item : queue->items) items.emplace(item->number, item.get());
    CHECK(items.size() == queue->items.size());
    for (const auto& [number, item] : items) {
      text += fmt::format("message {} {} {} {} {}\n", name, number, item->id, item->attempts,
                          item->token);
    }
  }
  for (const auto& [name, blob] : engine.index().blobs()) {
    text += fmt::format("blob {} {} {}\n", name, blob.file, blob.size);
  }
  return text;
}

// Everything that must survive. Changes the engine, but nothing that is on disk.
std::string contents(engine::Engine& engine) { return keys(engine) + dump(engine, kMuchLater); }

// Opens the store, if it can be opened.
std::unique_ptr<engine::Engine> open(Disk& disk) {
  auto opened = engine::Engine::open(disk, kStore, kNow, kSmallSegments);
  if (opened.ok()) return std::move(opened).value();
  CHECK(opened.error().code == Code::corrupt || opened.error().code == Code::unsupported);
  CHECK(!opened.error().what.empty());
  return nullptr;
}

bool is_of_the_log(const engine::Damage& damage) {
  return damage.file.starts_with(kStore + "/log/");
}

// A damaged mark or blob does not keep a store from opening; anything else that check_store finds
// does.
bool log_is_sound(Disk& disk) {
  const auto report = engine::check_store(disk, kStore);
  CHECK(report.ok());
  return std::ranges::none_of(report.value().damages, is_of_the_log);
}

void use(engine::Engine& engine, Input& input) {
  Asker asker;
  Instant now = kNow;
  for (size_t i = 0; i < kRequestsMax && !input.empty(); ++i) {
    Request request = asker.next(input);
    if (!validate(request).ok()) continue;
    asker.saw(engine.handle(std::move(request), now));
    if (input.byte() % 4 != 0) CHECK(engine.commit(now).ok());
    now += Millis(input.byte());
    engine.expire(now);
  }
  CHECK(engine.commit(now).ok());
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  Output requests;
  requests.number(StoreImage::no_more);
  for (size_t kind = 0; kind < Asker::kKinds; ++kind) {
    for (const size_t field : {0U, 1U, 2U, 3U})
      requests.number(kind).raw(std::string(8, static_cast<char>(field)));
  }
  all.push_back(requests.bytes());
  all.push_back(Output().number(StoreImage::no_more).bytes());

  const auto edit = [&](const Output& fields) {
    all.push_back(Output(fields).raw(requests.bytes()).bytes());
  };
  for (size_t kind = 0; kind < kRecordKinds; ++kind) {
    Output record;
    record.number(kind).sized("jobs").sized("a").number(3).number(9).number(7).number(60).sized(
        "v");
    edit(Output().number(StoreImage::replace_record).number(0).number(2).raw(record.bytes()));
    edit(Output().number(StoreImage::insert_record).raw(record.bytes()).number(1).number(3));
  }
  for (size_t i = 0; i < 6; ++i) {
    edit(Output().number(StoreImage::remove_record).number(i % 3).number(i));
    edit(Output().number(StoreImage::copy_record).number(0).number(i).number(1).number(i));
    edit(Output().number(StoreImage::change_payload).number(1).number(i).number(i).number(200));
    edit(Output().number(StoreImage::end_or_join_group).number(1).number(i));
    edit(Output().number(StoreImage::change_header).number(i % 3).byte(i / 2).number(i));
    edit(Output().number(StoreImage::overwrite_file).number(i).number(50).sized("abc"));
    edit(Output().number(StoreImage::cut_file).number(i).number(50).sized(""));
    edit(Output().number(StoreImage::extend_file).number(i).number(0).sized("torn"));
  }
  edit(Output().number(StoreImage::copy_segment).number(0).number(1));
  edit(Output().number(StoreImage::remove_segment).number(0));
  edit(Output().number(StoreImage::change_mark).number(0).number(1).number(0).number(0));
  edit(Output().number(StoreImage::add_file).sized("4294967295.seg").sized(""));
  edit(Output().number(StoreImage::add_file).sized("00000001.seg").sized("any bytes"));
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  log::set_level(log::Level::off);
  Input input(data, size);
  StoreImage image = StoreImage::valid();
  for (size_t i = 0; i < kEditsMax && image.edit(input); ++i) continue;
  const auto disk = image.disk();

  const bool sound = log_is_sound(*disk);
  std::string before;
  if (const auto engine = open(*disk)) {
    CHECK(sound);
    before = keys(*engine);
    contents(*engine);
  } else {
    CHECK(!sound);
    return 0;
  }
  std::string after;
  {
    const auto engine = open(*disk);
    CHECK(engine != nullptr && keys(*engine) == before);
    use(*engine, input);
    after = contents(*engine);
  }
  CHECK(log_is_sound(*disk));
  const auto engine = open(*disk);
  CHECK(engine != nullptr && contents(*engine) == after);
  return 0;
}
