#include "doors/aws/call/later.h"

#include <charconv>
#include <fmt/format.h>

#include "aws_protocol/json.h"
#include "doors/aws/call/door_host.h"
#include "doors/aws/call/keys.h"

namespace dunlin::aws {
namespace {

constexpr size_t kPage = 100;
constexpr int64_t kRetryMs = 1000;

int64_t due_of(std::string_view key) {
  int64_t due_ms = 0;
  std::from_chars(key.data(), key.data() + key.find(kPartEnd), due_ms);
  return due_ms;
}

int64_t millis(WallTime wall) { return wall.time_since_epoch().count(); }

Commit move_of(const Row& row) {
  const json value = parse_object(row.value).value_or(json::object());
  Commit commit{0, {Erase{std::string(kLaterTable), row.key, row.version}}};
  Message message = {row.key.substr(row.key.find(kPartEnd) + 1), text_or(value, "body", "")};
  const std::string queue = text_or(value, "queue", "");
  if (!queue.empty()) commit.writes.emplace_back(Push{queue, {std::move(message)}});
  return commit;
}

}  // namespace

std::string queue_of_later(const Row& row) {
  return text_or(parse_object(row.value).value_or(json::object()), "queue", "");
}

Put put_later(std::string_view queue, const Message& message, int64_t due_ms) {
  const json value = {{"queue", queue}, {"body", message.body}};
  return {std::string(kLaterTable), fmt::format("{:015}{}{}", due_ms, kPartEnd, message.id),
          dump(value), 0};
}

std::optional<Instant> Later::turn(DoorHost& host, uint64_t session, Instant now, WallTime wall) {
  if (!due_ms_ || looking_) return std::nullopt;
  const int64_t left = *due_ms_ - millis(wall);
  if (left > 0) return now + Millis(left);
  due_ms_.reset();
  looking_ = true;
  host.ask(session, kLookId, Scan{std::string(kLaterTable), "", "", kPage}, now);
  return std::nullopt;
}

void Later::answered(DoorHost& host, uint64_t session, uint64_t id, const Answer& answer,
                     Instant now, WallTime wall) {
  if (id == kLookId) looking_ = false;
  if (std::holds_alternative<Error>(answer)) return note(millis(wall) + kRetryMs);
  const auto* rows = std::get_if<Rows>(&answer);
  if (!rows) return;
  for (const Row& row : rows->rows) {
    const int64_t due_ms = due_of(row.key);
    if (due_ms > millis(wall)) return note(due_ms);
    host.ask(session, kMoveId, move_of(row), now);
  }
  if (rows->rows.size() == kPage) note(0);
}

}  // namespace dunlin::aws
