// How the engine's log stays small: what is still needed is copied from its oldest segment to its
// newest, and a segment from which nothing is needed is dropped. Only the oldest is ever cleaned,
// so what a record undoes (erase, finish, lease) is always older and gone by then, and it needs no
// copy.
#include <algorithm>

#include "base/log.h"
#include "stores/engine/engine.h"

namespace dunlin::engine {
namespace {

// Disk use above kWaste times the live bytes and one segment and a half is cleaned up.
constexpr uint64_t kWaste = 2;

// Reading this many bytes of old log for each one written keeps up with any writer: at kWaste = 2
// at least half of what is read is garbage.
constexpr size_t kEffort = 4;
constexpr size_t kEffortMin = 64 << 10;

}  // namespace

void Engine::drop_dead_segments() {
  while (log_->oldest() != log_->newest() && index_->live_bytes(log_->oldest()) == 0) {
    const uint32_t oldest = log_->oldest();
    const auto dropped = log_->drop_oldest();
    if (!dropped.ok()) {
      log::warning("cannot drop segment {}, trying again later: {}", oldest, dropped.error().what);
      return;
    }
    index_->forget_segments_before(oldest + 1);
  }
}

void Engine::clean(size_t bytes_written) {
  const uint32_t oldest = log_->oldest();
  if (oldest == log_->newest()) return;
  const uint64_t allowed = kWaste * index_->live_bytes() + 3 * log_->segment_bytes() / 2;
  if (log_->disk_bytes() <= allowed) return;
  if (clean_segment_ != oldest) {
    clean_segment_ = oldest;
    clean_offset_ = kSegmentHead;
  }
  const size_t effort = std::max(kEffort * bytes_written, kEffortMin);
  const auto bytes = log_->read_segment(oldest, clean_offset_, effort + kRecordHead + kRecordMax);
  if (!bytes.ok()) {
    log::warning("cannot clean segment {}, trying again later: {}", oldest, bytes.error().what);
    return;
  }
  size_t at = 0;
  while (at < bytes.value().size() && at < effort) {
    const auto framed = read_frame(std::string_view(bytes.value()).substr(at),
                                   log_->place_of(oldest, clean_offset_ + at));
    const auto record = framed ? decode(framed->payload) : std::nullopt;
    if (!record) {
      log::warning("segment {} is damaged at offset {} and is kept as it is", oldest,
                   clean_offset_ + at);
      break;
    }
    move_live(*record, {.segment = oldest,
                        .offset = static_cast<uint32_t>(clean_offset_ + at),
                        .size = static_cast<uint32_t>(framed->size)});
    at += framed->size;
  }
  clean_offset_ += at;
  log_->end_group();
}

void Engine::move_live(const Record& record, Position at) {
  if (const auto* put = std::get_if<PutRecord>(&record)) {
    const std::optional<RowState> row = index_->row(put->table, put->key);
    if (!row || row->at != at) return;
    const uint64_t version = row->version;
    index_->put_row(put->table, put->key, {.at = log_->add(*put), .version = version});
  } else if (const auto* push = std::get_if<PushRecord>(&record)) {
    Item* item = index_->item(push->queue, push->id);
    if (item == nullptr || item->at != at) return;
    PushRecord moved = *push;
    moved.attempts = item->attempts;
    moved.token = item->token;
    moved.hold_ms = item->leased ? static_cast<uint64_t>(item->hold.count()) : 0;
    index_->move(*item, log_->add(moved));
    if (const ItemNote* note = index_->note(*item)) {
      log_->add(KeepRecord{.queue = push->queue,
                           .number = item->number,
                           .step = note->step,
                           .hold_ms = moved.hold_ms,
                           .version = note->version,
                           .nonce = note->nonce,
                           .note = note->text});
    }
  } else if (const auto* blob = std::get_if<BlobRecord>(&record)) {
    const BlobState* state = index_->blob(blob->name);
    if (state == nullptr || state->at != at) return;
    BlobState moved = *state;
    moved.at = log_->add(*blob);
    index_->put_blob(blob->name, moved);
  }
}

}  // namespace dunlin::engine
