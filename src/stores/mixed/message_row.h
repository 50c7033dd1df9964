// A message of a mixed store as it stands in the Table: one row with who holds it and for how long,
// and, if its body is large, a second row with that. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "store/store.h"

namespace dunlin::mixed {

// Tables of the store's own; nobody else may use these names.
inline constexpr std::string_view kMessageRows = "_messages";
inline constexpr std::string_view kBodyRows = "_bodies";

bool is_own_table(std::string_view table);
Error own_table(std::string_view table);
Error stale_lease(std::string_view key);

// Looking through a queue reads all its rows, so they are kept small.
inline constexpr size_t kBodyInRowMax = 1024;

struct MessageRow {
  uint64_t token = 0;  // Of the lease; 0 before the first.
  uint32_t attempt = 0;
  Millis hold = Millis(0);  // Since the row was written; 0: not held.
  uint64_t size = 0;        // Of the body.
  uint64_t step = 0;        // Keeps under the lease.
  std::string note;         // Of the last of them.
  std::string body;         // Empty if it has a row of its own.

  bool apart() const { return size > kBodyInRowMax; }
  bool held_by(const Lease& lease) const { return token != 0 && token == lease.token; }
};

MessageRow new_message(const Message& message);
std::string encode(const MessageRow& row);
std::optional<MessageRow> decode_message_row(std::string_view value);

// The key of both rows. A queue's name has no slash.
std::string message_key(std::string_view queue, std::string_view id);
std::string_view id_of(std::string_view key);
std::string_view queue_of(std::string_view key);

// What a hint says: where the message is, which version its row had, its note, and the body if it
// fits.
struct HintText {
  std::string id;
  uint64_t version = 0;
  uint32_t attempt = 0;
  uint64_t size = 0;
  std::string note;
  std::optional<std::string> body;
};

std::string encode_hint(const HintText& hint, size_t bytes_max);
std::optional<HintText> decode_hint(std::string_view bytes);

}  // namespace dunlin::mixed
