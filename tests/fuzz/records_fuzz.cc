// Hostile bytes where the log's records should be.
//
//   byte   0: the rest is a payload; 1: the rest makes payloads; else the rest makes a piece of log
#include "base/check.h"
#include "tests/fuzz/records.h"

namespace dunlin {
namespace {

std::vector<uint64_t> numbers_of(const engine::Numbers& numbers) {
  std::vector<uint64_t> all;
  CHECK(numbers.each([&](uint64_t number) { all.push_back(number); }));
  return all;
}

struct Encode {
  std::string& out;

  void operator()(const engine::LeaseRecord& record) {
    engine::encode(record, numbers_of(record.numbers), out);
  }
  void operator()(const engine::RenewRecord& record) {
    engine::encode(record, numbers_of(record.numbers), out);
  }
  void operator()(const engine::FinishRecord& record) {
    engine::encode(record, numbers_of(record.numbers), out);
  }
  void operator()(const auto& record) { engine::encode(record, out); }
};

std::string encoded(const engine::Record& record) {
  std::string out;
  std::visit(Encode{out}, record);
  return out;
}

void check_payload(const std::string& payload) {
  const auto record = engine::decode(payload);
  if (!record) return;
  const std::string once = encoded(*record);
  const auto again = engine::decode(once);
  CHECK(again && again->index() == record->index());
  CHECK(encoded(*again) == once);

  std::string log = "before";
  append_record(log, payload);
  const std::string framed = log.substr(6);
  const auto read = engine::read_frame(framed);
  CHECK(read && read->payload == payload && read->size == framed.size());
  CHECK(read->ends_group() == ((static_cast<uint8_t>(payload[0]) & engine::kGroupEnd) != 0));
  for (size_t size = 0; size < std::min<size_t>(framed.size(), 40); ++size) {
    CHECK(!engine::read_frame(std::string(framed, 0, size)));
  }
}

// What find_batch() promises, tried at every place.
std::optional<size_t> look_for_batch(std::string_view log, size_t from, uint64_t least) {
  for (size_t at = from; at < log.size(); ++at) {
    const auto framed = engine::read_frame(log.substr(at));
    if (!framed) continue;
    const auto record = engine::decode(framed->payload);
    const auto* batch = record ? std::get_if<engine::BatchRecord>(&*record) : nullptr;
    if (batch != nullptr && batch->number >= least) return at;
  }
  return {};
}

void check_log(Input& input) {
  const uint64_t least = input.number();
  const size_t from = input.number() % 1024;
  std::string log;
  while (!input.empty() && log.size() < 4096) {
    if (input.byte() % 2 == 0) {
      log += input.sized();
      continue;
    }
    const std::string payload = make_payload(input);
    check_payload(payload);
    append_record(log, payload);
    if (const size_t cut = input.below(32); cut < log.size()) log.resize(log.size() - cut);
  }
  CHECK(engine::find_batch(log, from, least) == look_for_batch(log, from, least));
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  Output log;
  log.byte(2).number(2).number(5).byte(0).sized("noise");
  for (size_t kind = 0; kind < kRecordKinds; ++kind) {
    Output fields;
    fields.number(kind).sized("jobs").sized("key").number(3).number(9).number(7).number(60).sized(
        "v");
    Input input(fields.bytes());
    const std::string payload = make_payload(input);
    all.push_back(Output().byte(0).raw(payload).bytes());
    all.push_back(Output().byte(0).raw(ending_group(payload)).bytes());
    all.push_back(Output().byte(1).raw(fields.bytes()).bytes());
    log.byte(1).raw(fields.bytes()).number(kind % 3);
  }
  all.push_back(log.bytes());
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  Input input(data, size);
  switch (input.byte()) {
    case 0:
      check_payload(std::string(input.rest()));
      break;
    case 1:
      while (!input.empty()) check_payload(make_payload(input));
      break;
    default:
      check_log(input);
  }
  return 0;
}
