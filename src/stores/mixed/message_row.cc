#include "stores/mixed/message_row.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <span>

#include "base/names.h"

namespace dunlin::mixed {
namespace {

constexpr char kForm = '+';  // The first byte of a row with step and note.
constexpr Millis kEarlierHold = std::chrono::minutes(1);

// The numbers at the start of a line, one space after each; what follows the line is left in
// `text`. False if it is anything else.
bool read_numbers(std::string_view& text, std::span<uint64_t> numbers) {
  for (uint64_t& number : numbers) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != ' ') return false;
    text.remove_prefix(static_cast<size_t>(read.ptr + 1 - text.data()));
  }
  return true;
}

}  // namespace

bool is_own_table(std::string_view table) { return table == kMessageRows || table == kBodyRows; }

Error own_table(std::string_view table) {
  return {Code::invalid, fmt::format("the table {} is the store's own: use another name", table)};
}

Error stale_lease(std::string_view key) {
  return {Code::conflict, fmt::format("the lease on message {} in queue {} is stale: another "
                                      "holder got the message, or this one has kept it since",
                                      id_of(key), queue_of(key))};
}

MessageRow new_message(const Message& message) {
  MessageRow row{.size = message.body.size(), .note = {}, .body = {}};
  if (!row.apart()) row.body = message.body;
  return row;
}

std::string encode(const MessageRow& row) {
  return fmt::format("{}{} {} {} {} {} {} ", kForm, row.token, row.attempt, row.hold.count(),
                     row.size, row.step, row.note.size()) +
         row.note + row.body;
}

std::optional<MessageRow> decode_message_row(std::string_view value) {
  std::array<uint64_t, 6> numbers{};
  // Rows of earlier releases have no note, and say until when they are held, by some clock.
  const bool has_note = value.starts_with(kForm);
  if (has_note) value.remove_prefix(1);
  if (!read_numbers(value, std::span(numbers).first(has_note ? 6 : 4)) || numbers[1] > UINT32_MAX ||
      numbers[5] > value.size()) {
    return std::nullopt;
  }
  if (!has_note && numbers[2] > 0) numbers[2] = static_cast<uint64_t>(kEarlierHold.count());
  if (numbers[2] > static_cast<uint64_t>(kHoldMax.count())) return std::nullopt;
  MessageRow row{.token = numbers[0],
                 .attempt = static_cast<uint32_t>(numbers[1]),
                 .hold = Millis(static_cast<Millis::rep>(numbers[2])),
                 .size = numbers[3],
                 .step = numbers[4],
                 .note = std::string(value.substr(0, numbers[5])),
                 .body = std::string(value.substr(numbers[5]))};
  if (row.body.size() != (row.apart() ? 0 : row.size)) return std::nullopt;
  return row;
}

std::string message_key(std::string_view queue, std::string_view id) {
  return fmt::format("{}/{}", queue, id);
}

std::string_view id_of(std::string_view key) { return key.substr(key.find('/') + 1); }
std::string_view queue_of(std::string_view key) { return key.substr(0, key.find('/')); }

std::string encode_hint(const HintText& hint, size_t bytes_max) {
  std::string bytes = fmt::format("{} {} {} {} {}\n{}", hint.version, hint.attempt, hint.size,
                                  hint.note.size(), hint.id, hint.note);
  if (hint.body && bytes.size() + hint.body->size() <= bytes_max) bytes += *hint.body;
  return bytes;
}

std::optional<HintText> decode_hint(std::string_view bytes) {
  std::array<uint64_t, 4> numbers{};
  if (!read_numbers(bytes, numbers) || numbers[1] > UINT32_MAX) return std::nullopt;
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  HintText hint{.id = std::string(bytes.substr(0, end)),
                .version = numbers[0],
                .attempt = static_cast<uint32_t>(numbers[1]),
                .size = numbers[2],
                .note = {},
                .body = {}};
  if (!is_visible(hint.id, kIdMax) || hint.version == 0) return std::nullopt;
  bytes.remove_prefix(end + 1);
  if (bytes.size() < numbers[3]) return std::nullopt;
  hint.note = bytes.substr(0, numbers[3]);
  bytes.remove_prefix(numbers[3]);
  if (bytes.size() == hint.size) hint.body = std::string(bytes);
  return hint;
}

}  // namespace dunlin::mixed
