// Records of the engine's log made of fuzz input, whole and plausible or not at all.
#pragma once

#include <string>

#include "stores/engine/record.h"
#include "tests/fuzz/target.h"

namespace dunlin {

inline constexpr size_t kRecordKinds = 9;

// The payload of a record: a kind of record with fields from the input.
inline std::string make_payload(Input& input) {
  const size_t kind = input.below(kRecordKinds);
  const std::string_view where = input.sized();
  const std::string_view name = input.sized();
  const uint64_t first = input.number();
  const uint64_t second = input.number();
  std::vector<uint64_t> numbers{first};
  std::string out;
  switch (kind) {
    case 0:
      engine::encode(engine::BatchRecord{.number = first, .stamp = second}, out);
      break;
    case 1:
      engine::encode(engine::PutRecord{.table = where,
                                       .key = name,
                                       .version = first,
                                       .nonce = second,
                                       .value = input.sized()},
                     out);
      break;
    case 2:
      engine::encode(engine::EraseRecord{.table = where, .key = name}, out);
      break;
    case 3:
      engine::encode(engine::PushRecord{.queue = where,
                                        .id = name,
                                        .number = first,
                                        .attempts = second,
                                        .token = input.number(),
                                        .hold_ms = input.number(),
                                        .body = input.sized()},
                     out);
      break;
    case 4:
      engine::encode(
          engine::LeaseRecord{.queue = where, .token = second, .hold_ms = input.number()}, numbers,
          out);
      break;
    case 5:
      engine::encode(engine::RenewRecord{.queue = where, .hold_ms = second}, numbers, out);
      break;
    case 6:
      engine::encode(engine::FinishRecord{.queue = where}, numbers, out);
      break;
    case 7:
      engine::encode(engine::BlobRecord{.name = name, .file = first, .size = second}, out);
      break;
    default:
      engine::encode(engine::BlobEraseRecord{.name = name}, out);
      break;
  }
  return out;
}

// Appends a record to a log. REQUIRES: the payload is not empty nor longer than kRecordMax
inline void append_record(std::string& log, std::string_view payload, uint32_t place = 0) {
  const size_t start = log.size();
  log.resize(start + engine::kRecordHead);
  log += payload;
  engine::seal_frame(log, start, place);
}

inline std::string ending_group(std::string payload) {
  payload[0] = static_cast<char>(static_cast<uint8_t>(payload[0]) | engine::kGroupEnd);
  return payload;
}

}  // namespace dunlin
