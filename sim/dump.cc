#include "sim/dump.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <map>

#include "base/crc32c.h"

namespace dunlin {
namespace {

struct Shape {
  std::string operator()(const Error& error) const {
    return fmt::format("error {}", static_cast<int>(error.code));
  }
  std::string operator()(const Done& /*done*/) const { return "done"; }
  std::string operator()(const Committed& committed) const {
    return committed.version == 0 ? "committed" : "committed with rows";
  }
  std::string operator()(const Deliveries& deliveries) const {
    std::string text = "deliveries";
    for (const Delivery& each : deliveries.deliveries) {
      text +=
          fmt::format(" {}#{}:{:x}:{}", each.lease.id, each.attempt, crc32c(each.body), each.note);
    }
    return text;
  }
  std::string operator()(const Lost& lost) const {
    std::string text = "lost";
    for (const Lease& lease : lost.leases) text += " " + lease.id;
    return text;
  }
  std::string operator()(const Depth& depth) const {
    return fmt::format("depth {} {}", depth.ready, depth.leased);
  }
  std::string operator()(const Rows& rows) const {
    std::string text = "rows";
    for (const Row& row : rows.rows) {
      text += fmt::format(" {}={:x}{}", row.key, crc32c(row.value), row.version == 0 ? "-" : "");
    }
    return text;
  }
  std::string operator()(const Erased& erased) const {
    return fmt::format("erased {}", erased.rows);
  }
  std::string operator()(const Bytes& bytes) const { return "bytes " + bytes.bytes; }
  std::string operator()(const BlobNames& names) const {
    std::string text = "blobs";
    for (const BlobInfo& blob : names.blobs) text += fmt::format(" {}:{}", blob.name, blob.size);
    return text;
  }
  std::string operator()(const Info& info) const {
    std::string text = "info";
    for (const auto& queue : info.queues) text += " " + queue.name;
    for (const auto& table : info.tables) text += fmt::format(" {}:{}", table.name, table.rows);
    return text;
  }
};

}  // namespace

std::string shape(const Answer& answer) { return std::visit(Shape(), answer); }

std::string dump(Core& core, Instant now) {
  const Answer asked = core.handle(AskInfo{}, now);
  const Info info = std::get<Info>(asked);
  std::string text = shape(asked) + "\n";
  for (const auto& table : info.tables) {
    const Scan all{.table = table.name, .prefix = {}, .after = {}, .max = kBatchMax};
    text += table.name + ": " + shape(core.handle(Request(all), now)) + "\n";
  }
  for (const auto& queue : info.queues) {
    const Pull all{.queue = queue.name, .max = kBatchMax, .hold = Millis(1000), .wait = Millis(0)};
    text += queue.name + ": " + shape(core.handle(Request(all), now)) + "\n";
  }
  const Answer blobs = core.handle(BlobList{.prefix = {}, .after = {}, .max = kBatchMax}, now);
  text += shape(blobs) + "\n";
  for (const BlobInfo& blob : std::get<BlobNames>(blobs).blobs) {
    text += shape(core.handle(BlobGet{.name = blob.name, .offset = 0, .max = 1000}, now)) + "\n";
  }
  return text;
}

static std::string describe(engine::Position at) {
  return fmt::format("{}:{}+{}", at.segment, at.offset, at.size);
}

std::string describe(const engine::Index& index, Leases leases) {
  std::string text = fmt::format("{} bytes\n", index.live_bytes());
  std::map<uint32_t, uint64_t> segments;
  for (const auto& [table, rows] : index.tables()) {
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      const auto& [key, state] = *row;
      text += fmt::format("{}/{} {} v{}\n", table, key, describe(state.at), state.version);
      segments[state.at.segment] += state.at.size;
    }
  }
  for (const auto& [name, blob] : index.blobs()) {
    text += fmt::format("blob {} {} {} {}\n", name, describe(blob.at), blob.file, blob.size);
    segments[blob.at.segment] += blob.at.size;
  }
  for (const auto& [name, queue] : index.queues()) {
    std::map<uint64_t, const engine::Item*> items;
    for (const auto& item : queue->items) items.emplace(item->number, item.get());
    for (const auto& [number, item] : items) {
      text += fmt::format("{} {} #{} {} {} t{}", name, item->id, number, describe(item->at),
                          item->attempts, item->token);
      EXPECT_NE(queue->ready.contains(number), item->leased) << item->id;
      if (item->leased && leases == Leases::shown) {
        text += fmt::format(" {} until {}", item->hold.count(),
                            item->hidden_until.time_since_epoch().count());
      }
      text += "\n";
      segments[item->at.segment] += item->at.size;
    }
  }
  for (const auto& [segment, bytes] : segments) {
    text += fmt::format("segment {}: {} {}\n", segment, bytes, index.live_bytes(segment));
  }
  const engine::Item* first = index.first_to_expire();
  if (first != nullptr && leases == Leases::shown) text += "first lease: " + first->id + "\n";
  return text;
}

}  // namespace dunlin
