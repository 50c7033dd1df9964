// Commits of a mixed store: pushes and finishes become changes of rows, in the same commit as the
// caller's own rows.

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "store/compare_and_set.h"
#include "stores/mixed/mixed_store.h"

namespace dunlin::mixed {
namespace {

constexpr size_t kRowBytes = 512;  // Of a message's row, beside its body and its note, at most.

// No row ever has it: who compares with it is refused, unless the commit was made before.
constexpr uint64_t kNever = kAnyVersion - 1;

struct MessageWrite {
  std::string key;
  const Message* push = nullptr;  // Else it finishes the lease,
  const Lease* finish = nullptr;
  const Keep* keep = nullptr;  // or keeps it.
  bool strict = false;
};

std::vector<MessageWrite> message_writes(const Commit& commit) {
  std::vector<MessageWrite> all;
  for (const Write& write : commit.writes) {
    if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) {
        all.push_back({message_key(push->queue, message.id), &message});
      }
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) {
        all.push_back(
            {message_key(finish->queue, lease.id), nullptr, &lease, nullptr, finish->strict});
      }
    } else if (const auto* keep = std::get_if<Keep>(&write)) {
      all.push_back({message_key(keep->queue, keep->lease.id), nullptr, nullptr, keep});
    }
  }
  return all;
}

// Whether its writes must be made together. Pushes and finishes may also be made one by one.
bool is_one(const Commit& commit) {
  return std::ranges::any_of(commit.writes, [](const Write& write) {
    const auto* finish = std::get_if<Finish>(&write);
    return !std::holds_alternative<Push>(write) && (finish == nullptr || finish->strict);
  });
}

}  // namespace

// A commit as the table sees it.
struct MixedStore::RowCommit {
  struct Change {
    SeenMessage before;  // As it is believed to be.
    bool there = false;  // After the writes so far.
    const Message* fresh = nullptr;
    const Keep* keep = nullptr;
    bool stale = false;
  };

  std::vector<Write> writes;
  std::map<std::string, Change> changes;  // By key.
  std::string stale;                      // A key whose lease is not the caller's.
  bool puts = false;                      // Rows of the caller.

  // What it takes for granted.
  std::vector<std::pair<std::string, uint64_t>> compared() const {
    std::vector<std::pair<std::string, uint64_t>> all;
    for (const auto& [key, change] : changes) all.emplace_back(key, change.before.version);
    return all;
  }
};

// `afresh`: what was believed of the messages turned out to be wrong, so they are read.
Result<MixedStore::RowCommit> MixedStore::rows_for(const Commit& commit, bool afresh) {
  const std::vector<MessageWrite> messages = message_writes(commit);
  std::vector<std::string> finished;
  std::vector<std::string> all;
  RowCommit plan;
  for (const MessageWrite& write : messages) {
    if (!plan.changes.try_emplace(write.key).second) continue;
    all.push_back(write.key);
  }
  for (const MessageWrite& write : messages) {
    if (write.push == nullptr) finished.push_back(write.key);
  }
  std::ranges::sort(finished);
  finished.erase(std::unique(finished.begin(), finished.end()), finished.end());
  // A message that is pushed is hardly ever there already.
  const std::vector<std::string>& known = afresh ? all : finished;
  std::vector<SeenMessage> seen = TRY(afresh ? read_messages(known) : recall(known));
  for (size_t i = 0; i < known.size(); ++i) {
    RowCommit::Change& change = plan.changes[known[i]];
    change.there = seen[i].version != 0;
    change.before = std::move(seen[i]);
  }
  for (const MessageWrite& write : messages) {
    RowCommit::Change& change = plan.changes[write.key];
    if (write.push != nullptr && !change.there) {
      change.there = true;
      change.fresh = write.push;
    } else if (write.finish != nullptr && (change.there || write.strict)) {
      const bool ours =
          change.there && change.fresh == nullptr && change.before.row.held_by(*write.finish);
      if (!ours) change.stale = true;
      change.there = false;
      change.fresh = nullptr;
    } else if (write.keep != nullptr) {
      const MessageRow& row = change.before.row;
      const bool ours =
          change.there && row.held_by(write.keep->lease) && row.step == write.keep->step;
      if (!ours) change.stale = true;
      change.keep = write.keep;
    }
    if (change.stale) plan.stale = write.key;
  }
  for (const Write& write : commit.writes) {
    const auto* put = std::get_if<Put>(&write);
    if (put != nullptr) plan.puts = true;
    if (put != nullptr || std::holds_alternative<Erase>(write)) plan.writes.push_back(write);
  }
  for (const auto& [key, change] : plan.changes) {
    const SeenMessage& before = change.before;
    const bool was = before.version != 0;
    if (change.stale) {
      plan.writes.emplace_back(Put{std::string(kMessageRows), key, "", kNever});
    } else if (change.fresh != nullptr) {
      const MessageRow row = new_message(*change.fresh);
      plan.writes.emplace_back(Put{std::string(kMessageRows), key, encode(row), before.version});
      if (row.apart()) {
        plan.writes.emplace_back(Put{std::string(kBodyRows), key, change.fresh->body, kAnyVersion});
      } else if (was && before.row.apart()) {
        plan.writes.emplace_back(Erase{std::string(kBodyRows), key, kAnyVersion});
      }
    } else if (change.keep != nullptr) {
      plan.writes.emplace_back(Put{std::string(kMessageRows), key,
                                   encode(kept(before.row, *change.keep)), before.version});
    } else if (was && !change.there) {
      plan.writes.emplace_back(Erase{std::string(kMessageRows), key, before.version});
      if (before.row.apart()) {
        plan.writes.emplace_back(Erase{std::string(kBodyRows), key, kAnyVersion});
      }
    }
  }
  return plan;
}

// The row of a message after a Keep.
MessageRow MixedStore::kept(MessageRow row, const Keep& keep) const {
  row.step += 1;
  row.note = keep.note;
  row.hold = keep.hold;
  return row;
}

Answer MixedStore::on(Commit&& commit) {
  for (const Write& write : commit.writes) {
    const auto* put = std::get_if<Put>(&write);
    const auto* erase = std::get_if<Erase>(&write);
    const std::string_view table = put != nullptr     ? std::string_view(put->table)
                                   : erase != nullptr ? std::string_view(erase->table)
                                                      : std::string_view();
    if (is_own_table(table)) return own_table(table);
  }
  size_t messages = 0;
  size_t bytes = 0;
  for (const MessageWrite& write : message_writes(commit)) {
    ++messages;
    bytes += kRowBytes + (write.push == nullptr ? 0 : write.push->body.size());
    bytes += write.keep == nullptr ? 0 : write.keep->note.size();
  }
  if (messages == 0) {
    std::erase_if(commit.writes, [](const Write& write) {
      return std::holds_alternative<Push>(write) || std::holds_alternative<Finish>(write);
    });
    if (commit.writes.empty()) return Committed{0};
    return parts_.table->ask(std::move(commit));
  }
  if (!is_one(commit) && messages > 1 &&
      (bytes > parts_.bytes_max || 2 * messages > parts_.writes_max)) {
    return commit_halves(std::move(commit));
  }
  std::optional<Error> refused;
  std::vector<std::pair<std::string, uint64_t>> compared;
  const auto committed = compare_and_set([&]() -> Round<Committed> {
    RowCommit plan = TRY(rows_for(commit, refused.has_value()));
    // Nothing has changed in the messages: it is a row of the caller's that did, or a lease.
    if (refused && plan.compared() == compared) return *refused;
    compared = plan.compared();
    if (plan.writes.empty()) return std::optional(Committed{0});
    if (plan.writes.size() > parts_.writes_max) {
      return Error{Code::unsupported,
                   fmt::format("a commit of {} rows: this store takes {} at once",
                               plan.writes.size(), parts_.writes_max)};
    }
    const std::string stale = plan.stale;
    const auto version = write_rows(std::move(plan.writes), commit.nonce);
    if (!version.ok() && version.error().code != Code::conflict) return version.error();
    if (!version.ok()) {
      refused = version.error();
      if (!stale.empty()) refused = stale_lease(stale);
      return std::optional<Committed>();
    }
    std::vector<HintSender::Posted> hints;
    for (const auto& [key, change] : plan.changes) {
      if (change.keep != nullptr && !change.stale) {
        SeenMessage seen{version.value(), kept(change.before.row, *change.keep)};
        if (change.keep->hold == Millis(0)) {
          hints.push_back(
              hint_at(change.keep->queue, change.keep->lease.id, seen, /*body=*/nullptr));
        }
        parts_.shared->saw(key, std::move(seen), clock_.now());
        continue;
      }
      parts_.shared->forget(key);
      if (change.fresh == nullptr) continue;
      hints.push_back(hint_at(std::string(queue_of(key)), change.fresh->id,
                              {version.value(), new_message(*change.fresh)}, &change.fresh->body));
    }
    parts_.shared->sender.post(std::move(hints));
    return std::optional(Committed{plan.puts ? version.value() : 0});
  });
  const auto made = TRY(committed);
  return made ? Answer(*made) : *refused;
}

// Messages alone may be written in parts: each push and finish stands for itself. (A finish and a
// push of the same message stay in their order.)
Answer MixedStore::commit_halves(Commit&& commit) {
  size_t messages = message_writes(commit).size() / 2;
  Commit first{commit.nonce, {}};
  Commit second{commit.nonce * 0x9e3779b97f4a7c15U + 1, {}};
  for (Write& write : commit.writes) {
    const auto divide = [&](auto& kind, auto member) {
      auto& list = kind.*member;
      const size_t count = std::min(messages, list.size());
      messages -= count;
      auto head = kind;
      (head.*member).resize(count);
      list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(count));
      if (count > 0) first.writes.emplace_back(std::move(head));
      if (!list.empty()) second.writes.emplace_back(std::move(kind));
    };
    if (auto* push = std::get_if<Push>(&write)) {
      divide(*push, &Push::messages);
    } else if (auto* finish = std::get_if<Finish>(&write)) {
      divide(*finish, &Finish::leases);
    }
  }
  Answer answer = on(std::move(first));
  if (std::holds_alternative<Error>(answer)) return answer;
  return on(std::move(second));
}

}  // namespace dunlin::mixed
