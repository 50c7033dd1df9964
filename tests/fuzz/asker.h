// A client whose requests come from fuzz input. It remembers leases, versions and uploads, so that
// some of its requests make sense.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "store/request.h"
#include "tests/fuzz/target.h"

namespace dunlin {

class Asker {
 public:
  static constexpr size_t kKinds = 15;

  // May be invalid.
  Request next(Input& input) {
    switch (input.below(kKinds)) {
      case 0:
        return commit(input, {put(input)});
      case 1:
        return commit(input, {push(input)});
      case 2:
        return commit(input, {put(input), push(input), finish(input)});
      case 3:
        return commit(input,
                      {Erase{.table = table(input), .key = key(input), .version = version(input)}});
      case 4:
        return commit(input, {finish(input)});
      case 5:
        return Pull{.queue = queue(input),
                    .max = input.number(),
                    .hold = Millis(input.number()),
                    .wait = Millis(input.number())};
      case 6:
        return Renew{
            .queue = queue(input), .leases = leases(input), .hold = Millis(input.number())};
      case 7:
        return AskDepth{queue(input)};
      case 8:
        return Get{.table = table(input), .keys = {key(input), key(input)}};
      case 9:
        return Scan{
            .table = table(input), .prefix = "", .after = key(input), .max = input.number()};
      case 10:
        return BlobPart{
            .upload = input.byte(), .offset = input.number(), .bytes = std::string(input.sized())};
      case 11:
        return BlobEnd{.upload = input.byte(), .name = key(input), .size = input.number()};
      case 12:
        return BlobGet{.name = key(input), .offset = input.number(), .max = input.number()};
      case 13:
        return BlobErase{key(input)};
      default:
        return other(input);
    }
  }

  void saw(const Answer& answer) {
    if (const auto* deliveries = std::get_if<Deliveries>(&answer)) {
      for (const Delivery& each : deliveries->deliveries) leases_.push_back(each.lease);
    } else if (const auto* committed = std::get_if<Committed>(&answer)) {
      if (committed->version != 0) versions_.push_back(committed->version);
    }
  }

 private:
  static std::string queue(Input& input) { return input.byte() % 2 == 0 ? "jobs" : "reply.a"; }
  static std::string table(Input& input) { return input.byte() % 2 == 0 ? "t" : "u"; }

  // Short, so that it meets itself again; now and then any bytes.
  static std::string key(Input& input) {
    const size_t choice = input.number();
    if (choice == 200) return std::string(input.sized());
    return {static_cast<char>('a' + choice % 8)};
  }
  uint64_t version(Input& input) {
    const size_t choice = input.number();
    if (choice < versions_.size()) return versions_[versions_.size() - 1 - choice];
    return choice == 200 ? kAnyVersion : choice - versions_.size();
  }
  Put put(Input& input) {
    return {.table = table(input),
            .key = key(input),
            .value = std::string(input.sized()),
            .version = version(input)};
  }
  static Push push(Input& input) {
    Push push{.queue = queue(input), .messages = {}};
    for (size_t count = input.byte() % 4; count > 0; --count) {
      push.messages.push_back({.id = key(input), .body = std::string(input.sized())});
    }
    return push;
  }
  Finish finish(Input& input) { return {.queue = queue(input), .leases = leases(input)}; }
  std::vector<Lease> leases(Input& input) {
    std::vector<Lease> some;
    for (size_t count = input.byte() % 4; count > 0; --count) {
      const size_t choice = input.number();
      if (choice < leases_.size()) {
        some.push_back(leases_[leases_.size() - 1 - choice]);
      } else {
        some.push_back({.id = key(input), .token = choice - leases_.size()});
      }
    }
    return some;
  }
  Request other(Input& input) {
    switch (input.byte() % 4) {
      case 0:
        return BlobList{.prefix = "", .after = key(input), .max = input.number()};
      case 1:
        return AskInfo{};
      case 2:
        return EraseAll{.table = table(input), .prefix = key(input)};
      default: {
        const std::vector<Lease> some = leases(input);
        return commit(input, {push(input), Keep{.queue = queue(input),
                                                .lease = some.empty() ? Lease{} : some[0],
                                                .step = input.byte() % 4U,
                                                .note = std::string(input.sized()),
                                                .hold = Millis(input.number())}});
      }
    }
  }
  static Commit commit(Input& input, std::vector<Write> writes) {
    return {.nonce = input.byte(), .writes = std::move(writes)};
  }

  std::vector<Lease> leases_;
  std::vector<uint64_t> versions_;
};

}  // namespace dunlin
