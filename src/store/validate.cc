// What every engine refuses before it looks at a request: names that are not allowed, and more than
// one call may carry.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/names.h"
#include "store/request.h"

namespace dunlin {
namespace {

template <typename... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::invalid, fmt::format(format, std::forward<Args>(args)...)};
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (is_name(name)) return {};
  return invalid("{} name {} ({} bytes) is not 1 to {} characters of A-Z a-z 0-9 . _ -", what,
                 quote(name), name.size(), kNameMax);
}

Result<void> check_visible(std::string_view what, std::string_view text, size_t max) {
  if (is_visible(text, max)) return {};
  return invalid("{} {} ({} bytes) is not 1 to {} visible ASCII characters without spaces", what,
                 quote(text), text.size(), max);
}

// A prefix, or the place to go on from: nothing means from the start.
Result<void> check_place(std::string_view what, std::string_view text) {
  if (text.empty()) return {};
  return check_visible(what, text, kKeyMax);
}

Result<void> check_max(std::string_view what, uint64_t max, uint64_t limit) {
  if (max >= 1 && max <= limit) return {};
  return invalid("{} of at most {} is out of bounds: ask for 1 to {}", what, max, limit);
}

Result<void> check_time(std::string_view what, Millis time, Millis least, Millis most) {
  if (time >= least && time <= most) return {};
  return invalid("{} of {} ms is not {} to {} ms", what, time.count(), least.count(), most.count());
}

// How much one call carries.
struct Load {
  size_t items = 0;
  size_t bytes = 0;
};

Result<void> check_load(std::string_view what, Load load) {
  if (load.items > kBatchMax) {
    return invalid("{} of {} items is too large: the limit is {} per call", what, load.items,
                   kBatchMax);
  }
  if (load.bytes > kBatchBytesMax) {
    return invalid("{} of {} bytes is too large: the limit is {} per call", what, load.bytes,
                   kBatchBytesMax);
  }
  return {};
}

Result<void> check_leases(std::string_view queue, const std::vector<Lease>& leases, Load& load) {
  TRY(check_name("queue", queue));
  for (const Lease& lease : leases) {
    TRY(check_visible("message id", lease.id, kIdMax));
    load.bytes += lease.id.size();
  }
  load.items += leases.size();
  load.bytes += queue.size();
  return {};
}

Result<void> check_row(std::string_view table, std::string_view key, Load& load) {
  TRY(check_name("table", table));
  TRY(check_visible("key", key, kKeyMax));
  load.items += 1;
  load.bytes += table.size() + key.size();
  return {};
}

Result<void> check_write(const Put& put, Load& load) {
  TRY(check_row(put.table, put.key, load));
  if (put.value.size() > kValueMax) {
    return invalid(
        "the value of key {} in table {} has {} bytes: the limit is {}, put it in a blob",
        quote(put.key), put.table, put.value.size(), kValueMax);
  }
  load.bytes += put.value.size();
  return {};
}

Result<void> check_write(const Erase& erase, Load& load) {
  return check_row(erase.table, erase.key, load);
}

Result<void> check_write(const Push& push, Load& load) {
  TRY(check_name("queue", push.queue));
  for (const Message& message : push.messages) {
    TRY(check_visible("message id", message.id, kIdMax));
    if (message.body.size() > kValueMax) {
      return invalid("the body of message {} has {} bytes: the limit is {}, put it in a blob",
                     quote(message.id), message.body.size(), kValueMax);
    }
    load.bytes += message.id.size() + message.body.size();
  }
  load.items += push.messages.size();
  load.bytes += push.queue.size();
  return {};
}

Result<void> check_write(const Finish& finish, Load& load) {
  return check_leases(finish.queue, finish.leases, load);
}

Result<void> check_write(const Keep& keep, Load& load) {
  TRY(check_name("queue", keep.queue));
  TRY(check_visible("message id", keep.lease.id, kIdMax));
  if (keep.note.size() > kNoteMax) {
    return invalid("the note on message {} has {} bytes: the limit is {}", quote(keep.lease.id),
                   keep.note.size(), kNoteMax);
  }
  load.items += 1;
  load.bytes += keep.queue.size() + keep.lease.id.size() + keep.note.size();
  return check_time("the hold of a message that is kept", keep.hold, Millis(0), kHoldMax);
}

// A message that is kept stands for its lease in the whole group.
Result<void> check_keeps_differ(const std::vector<Write>& writes) {
  std::vector<std::pair<std::string_view, std::string_view>> messages;
  for (const Write& write : writes) {
    if (const auto* keep = std::get_if<Keep>(&write)) {
      messages.emplace_back(keep->queue, keep->lease.id);
    }
  }
  if (messages.empty()) return {};
  const size_t kept = messages.size();
  for (const Write& write : writes) {
    const auto* finish = std::get_if<Finish>(&write);
    for (size_t i = 0; finish != nullptr && i < finish->leases.size(); ++i) {
      messages.emplace_back(finish->queue, finish->leases[i].id);
    }
    const auto* push = std::get_if<Push>(&write);
    for (size_t i = 0; push != nullptr && i < push->messages.size(); ++i) {
      messages.emplace_back(push->queue, push->messages[i].id);
    }
  }
  std::sort(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(kept));
  const auto end = messages.begin() + static_cast<std::ptrdiff_t>(kept);
  const auto twin = std::adjacent_find(messages.begin(), end);
  const auto other = std::find_if(end, messages.end(), [&](const auto& message) {
    return std::binary_search(messages.begin(), end, message);
  });
  if (twin == end && other == messages.end()) return {};
  return invalid("a commit keeps message {} and uses it a second time: use it once",
                 quote(twin != end ? twin->second : other->second));
}

Result<void> check_rows_differ(const std::vector<Write>& writes) {
  std::vector<std::pair<std::string_view, std::string_view>> rows;
  for (const Write& write : writes) {
    if (const auto* put = std::get_if<Put>(&write)) rows.emplace_back(put->table, put->key);
    if (const auto* erase = std::get_if<Erase>(&write)) rows.emplace_back(erase->table, erase->key);
  }
  std::ranges::sort(rows);
  const auto twin = std::ranges::adjacent_find(rows);
  if (twin == rows.end()) return {};
  return invalid("a commit writes the row {} of table {} twice: write it once", quote(twin->second),
                 twin->first);
}

Result<void> check(const Commit& commit) {
  TRY(check_load("a commit", {.items = commit.writes.size()}));
  Load load;
  for (const Write& write : commit.writes) {
    TRY(std::visit([&](const auto& kind) { return check_write(kind, load); }, write));
  }
  TRY(check_load("a commit", load));
  TRY(check_keeps_differ(commit.writes));
  return check_rows_differ(commit.writes);
}

Result<void> check(const Pull& pull) {
  TRY(check_name("queue", pull.queue));
  TRY(check_max("a pull", pull.max, kBatchMax));
  TRY(check_time("the hold of a pull", pull.hold, Millis(1), kHoldMax));
  return check_time("the wait of a pull", pull.wait, Millis(0), kWaitMax);
}

Result<void> check(const Renew& renew) {
  Load load;
  TRY(check_leases(renew.queue, renew.leases, load));
  TRY(check_load("a renewal", load));
  return check_time("the hold of a renewal", renew.hold, Millis(0), kHoldMax);
}

Result<void> check(const AskDepth& ask) { return check_name("queue", ask.queue); }

Result<void> check(const Get& get) {
  TRY(check_name("table", get.table));
  Load load = {.items = get.keys.size(), .bytes = get.table.size()};
  for (const std::string& key : get.keys) {
    TRY(check_visible("key", key, kKeyMax));
    load.bytes += key.size();
  }
  return check_load("a get", load);
}

Result<void> check(const Scan& scan) {
  TRY(check_name("table", scan.table));
  TRY(check_place("key prefix", scan.prefix));
  TRY(check_place("key to scan after", scan.after));
  return check_max("a scan", scan.max, kBatchMax);
}

// Nobody means a whole table.
Result<void> check(const EraseAll& erase) {
  TRY(check_name("table", erase.table));
  return check_visible("key prefix", erase.prefix, kKeyMax);
}

Result<void> check(const BlobPart& part) {
  if (part.offset % kBlobPart != 0 || part.offset >= kBlobMax) {
    return invalid("the part at offset {} of upload {} is not at a multiple of {} below {}",
                   part.offset, part.upload, kBlobPart, kBlobMax);
  }
  const bool gives_up = part.offset == 0 && part.bytes.empty();
  if ((part.bytes.empty() && !gives_up) || part.bytes.size() > kBlobPart) {
    return invalid("the part at offset {} of upload {} has {} bytes, not 1 to {}", part.offset,
                   part.upload, part.bytes.size(), kBlobPart);
  }
  return {};
}

Result<void> check(const BlobEnd& end) {
  TRY(check_visible("blob name", end.name, kKeyMax));
  if (end.size <= kBlobMax) return {};
  return invalid("blob {} has {} bytes: the limit is {}", quote(end.name), end.size, kBlobMax);
}

Result<void> check(const BlobGet& get) {
  TRY(check_visible("blob name", get.name, kKeyMax));
  return check_max("a read of bytes", get.max, kBatchBytesMax);
}

Result<void> check(const BlobErase& erase) {
  return check_visible("blob name", erase.name, kKeyMax);
}

Result<void> check(const BlobList& list) {
  TRY(check_place("blob name prefix", list.prefix));
  TRY(check_place("blob name to list after", list.after));
  return check_max("a list of blobs", list.max, kBatchMax);
}

Result<void> check(const AskInfo& /*ask*/) { return {}; }

}  // namespace

Result<void> validate(const Request& request) {
  return std::visit([](const auto& kind) { return check(kind); }, request);
}

}  // namespace dunlin
