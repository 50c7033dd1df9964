// A small valid store, and a way to break it that keeps its checksums right: its segments as lists
// of records, which can be changed before they are sealed again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "sim/memory_disk.h"
#include "stores/engine/engine.h"
#include "stores/engine/segment.h"
#include "tests/fuzz/records.h"

namespace dunlin {

inline const std::string kStore = "store";
inline constexpr engine::LogOptions kSmallSegments = {.segment_bytes = 900};

class StoreImage {
 public:
  // Has rows, messages, leases and blobs, in several segments, the first of which are dropped.
  static const StoreImage& valid() {
    static const StoreImage image = make();
    return image;
  }

  enum Edit : uint8_t {
    no_more,
    replace_record,
    insert_record,
    remove_record,
    copy_record,
    change_payload,
    end_or_join_group,
    change_header,
    copy_segment,
    remove_segment,
    change_mark,
    add_file,
    overwrite_file,
    cut_file,
    extend_file,
    kEdits,
  };

  // One change, taken from the input. False: it wants no more.
  bool edit(Input& input) {
    const size_t kind = input.below(kEdits);
    switch (kind) {
      case no_more:
        return false;
      case replace_record:
        if (std::string* payload = pick(input)) *payload = make_payload(input);
        return true;
      case insert_record:
        insert(input, make_payload(input));
        return true;
      case copy_record:
        if (const std::string* payload = pick(input)) insert(input, std::string(*payload));
        return true;
      case remove_record:
        if (std::string* payload = pick(input)) payload->clear();
        return true;
      case change_payload:
        if (std::string* payload = pick(input)) {
          (*payload)[input.below(payload->size())] = static_cast<char>(input.byte());
        }
        return true;
      case end_or_join_group:
        if (std::string* payload = pick(input))
          (*payload)[0] ^= static_cast<char>(engine::kGroupEnd);
        return true;
      case change_header:
        change(input, segment(input));
        return true;
      case copy_segment: {
        const Segment copy = segment(input);
        segments_[static_cast<uint32_t>(std::max<uint64_t>(input.number(), 1))] = copy;
        return true;
      }
      case remove_segment:
        if (segments_.size() > 1) segments_.erase(place(input));
        return true;
      case change_mark:
        mark_ = engine::Mark{.batch = input.number(),
                             .oldest = static_cast<uint32_t>(input.number()),
                             .segment = static_cast<uint32_t>(input.number()),
                             .end = input.number()};
        return true;
      case add_file:
        others_["/log/" + std::string(input.sized())] = input.sized();
        return true;
      default:
        raw_edits_.push_back({.kind = kind,
                              .file = input.number(),
                              .offset = input.number(),
                              .bytes = std::string(input.sized())});
        return true;
    }
  }

  // A disk with this store in the folder kStore.
  std::unique_ptr<Disk> disk() const {
    auto disk = memory_disk();
    for (const char* folder : {"", "/log", "/blobs"})
      CHECK(disk->make_folder(kStore + folder).ok());
    for (const auto& [name, bytes] : files()) {
      CHECK(disk->create(kStore + name).value()->write(0, bytes).ok());
    }
    return disk;
  }

 private:
  struct Segment {
    engine::SegmentHeader header;
    bool end_is_given = false;          // Else header.previous_end is made right.
    std::vector<std::string> payloads;  // Empty ones are left out.
  };
  // A change of bytes, made when all others have been made.
  struct RawEdit {
    size_t kind = 0;
    size_t file = 0;
    size_t offset = 0;
    std::string bytes;
  };

  static StoreImage make() {
    const auto disk = memory_disk();
    const auto engine = engine::Engine::open(*disk, kStore, Instant(), kSmallSegments).value();
    const auto ask = [&](Request&& request) {
      CHECK(validate(request).ok());
      const Answer answer = engine->handle(std::move(request), Instant());
      CHECK(!std::holds_alternative<Error>(answer) && engine->commit(Instant()).ok());
      return answer;
    };
    const std::string body(60, 'b');
    for (uint64_t i = 0; i < 24; ++i) {
      const std::string name(1, static_cast<char>('a' + i % 8));
      ask(Commit{.nonce = i + 1,
                 .writes = {Put{.table = "t", .key = name, .value = body, .version = kAnyVersion},
                            Push{.queue = "jobs", .messages = {{name, body}}},
                            Push{.queue = "reply.a", .messages = {{name, ""}}}}});
      const Answer pulled = ask(Pull{.queue = "jobs", .max = 2, .hold = Millis(1000)});
      const auto& taken = std::get<Deliveries>(pulled).deliveries;
      if (!taken.empty() && i < 20)
        ask(Commit{.writes = {Finish{.queue = "jobs", .leases = {taken[0].lease}}}});
      if (taken.size() > 1)
        ask(Renew{.queue = "jobs", .leases = {taken[1].lease}, .hold = Millis(i % 2)});
    }
    ask(Commit{.writes = {Put{.table = "u", .key = "a", .value = "v", .version = 0},
                          Erase{.table = "t", .key = "h", .version = kAnyVersion}}});
    for (const char* name : {"a", "b"}) {
      ask(BlobPart{.upload = 1, .offset = 0, .bytes = body});
      ask(BlobEnd{.upload = 1, .name = name, .size = body.size()});
    }
    ask(BlobEnd{.upload = 2, .name = "empty", .size = 0});
    ask(BlobErase{"b"});

    StoreImage image;
    const auto files = [&](const std::string& folder) {
      std::map<std::string, std::string> bytes;
      const std::vector<std::string> names = disk->list(kStore + folder).value();
      for (const std::string& name : names) {
        bytes[name] =
            engine::read_file(*disk->open_to_read(kStore + folder + "/" + name).value()).value();
      }
      return bytes;
    };
    for (const auto& [name, bytes] : files("/log")) {
      Segment& segment = image.segments_[engine::segment_number(name).value()];
      segment.header = engine::decode_header(bytes).value();
      size_t at = engine::kSegmentHead;
      const uint32_t number = segment.header.number;
      while (const auto framed = engine::read_frame(std::string_view(bytes).substr(at),
                                                    engine::place(number, at))) {
        segment.payloads.emplace_back(framed->payload);
        at += framed->size;
      }
    }
    for (const auto& [name, bytes] : files("/blobs")) image.others_["/blobs/" + name] = bytes;
    CHECK(image.segments_.size() > 2 && image.segments_.begin()->first > 1);
    return image;
  }

  std::map<uint32_t, Segment>::iterator place(Input& input) {
    return std::next(segments_.begin(), static_cast<ptrdiff_t>(input.below(segments_.size())));
  }
  Segment& segment(Input& input) { return place(input)->second; }

  std::string* pick(Input& input) {
    Segment& from = segment(input);
    const size_t i = input.below(from.payloads.size());
    return i < from.payloads.size() && !from.payloads[i].empty() ? &from.payloads[i] : nullptr;
  }
  void insert(Input& input, std::string payload) {
    Segment& to = segment(input);
    const size_t i = input.below(to.payloads.size() + 1);
    to.payloads.insert(to.payloads.begin() + static_cast<ptrdiff_t>(i), std::move(payload));
  }
  static void change(Input& input, Segment& segment) {
    switch (input.byte() % 3) {
      case 0:
        segment.header.number = static_cast<uint32_t>(input.number());
        break;
      case 1:
        segment.header.first_batch = input.number();
        break;
      default:
        segment.header.previous_end = input.number();
        segment.end_is_given = true;
    }
  }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all = others_;
    uint64_t end = 0;
    for (const auto& [number, segment] : segments_) {
      engine::SegmentHeader header = segment.header;
      if (!segment.end_is_given) header.previous_end = end;
      std::string bytes = engine::encode(header);
      for (const std::string& payload : segment.payloads) {
        if (!payload.empty()) append_record(bytes, payload, engine::place(number, bytes.size()));
      }
      end = bytes.size();
      all[engine::segment_path("", number)] = std::move(bytes);
    }
    all["/mark"] = mark(end);
    for (const RawEdit& edit : raw_edits_) {
      std::string& bytes =
          std::next(all.begin(), static_cast<ptrdiff_t>(edit.file % all.size()))->second;
      const size_t offset = edit.offset % (bytes.size() + 1);
      if (edit.kind == overwrite_file) bytes.replace(offset, edit.bytes.size(), edit.bytes);
      if (edit.kind == cut_file) bytes.resize(offset);
      if (edit.kind == extend_file) bytes += edit.bytes;
    }
    return all;
  }

  // Unless it was changed it says that the newest segment is durable up to `end`.
  std::string mark(uint64_t end) const {
    const engine::Mark right{.batch = 0,
                             .oldest = segments_.begin()->first,
                             .segment = segments_.rbegin()->first,
                             .end = end};
    const auto disk = memory_disk();
    const auto file = disk->create("mark").value();
    CHECK(engine::write_both_marks(*file, mark_.value_or(right)).ok());
    return engine::read_file(*file).value();
  }

  std::map<uint32_t, Segment> segments_;  // By the number in the file's name.
  std::optional<engine::Mark> mark_;
  std::map<std::string, std::string> others_;
  std::vector<RawEdit> raw_edits_;
};

}  // namespace dunlin
