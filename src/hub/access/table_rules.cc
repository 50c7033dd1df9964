#include "hub/access/table_rules.h"

#include <algorithm>
#include <array>

#include "model/iterations/ledgers.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/sound.h"
#include "stores/mixed/message_row.h"
#include "tascaas/keys.h"

namespace dunlin::hub {
namespace {

struct TableRule {
  std::string_view table;
  Scope put;
  Scope erase;
};

// What is not in the list is the users' own: whoever may submit writes it.
constexpr std::array kRules = {
    // Submitting, cancelling, retrying and removing write these.
    TableRule{kJobs, Scope::submit, Scope::admin},
    TableRule{kEnds, Scope::submit, Scope::submit},  // A retry opens the job again.
    TableRule{kWaits, Scope::submit, Scope::submit},
    TableRule{kAfter, Scope::submit, Scope::submit},
    TableRule{kKeys, Scope::submit, Scope::admin},
    TableRule{kRoutes, Scope::submit, Scope::admin},
    TableRule{kExpiry, Scope::submit, Scope::admin},
    TableRule{kHistory, Scope::submit, Scope::admin},
    TableRule{kPages, Scope::submit, Scope::submit},  // A retry takes what failed out of them.
    TableRule{kNodes, Scope::submit, Scope::submit},
    // What tasks leave comes from workers; a removal erases it.
    TableRule{kOutputs, Scope::worker, Scope::submit},
    TableRule{kLedgers, Scope::worker, Scope::submit},
    TableRule{kWorkers, Scope::worker, Scope::worker},
    // The hub's own.
    TableRule{kRetention, Scope::admin, Scope::admin},
    TableRule{kOwnedJobs, Scope::admin, Scope::admin},
};

const TableRule* find_rule(std::string_view table) {
  const auto* found = std::ranges::find(kRules, table, &TableRule::table);
  return found == kRules.end() ? nullptr : found;
}

bool is_of_door(std::string_view table) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"aws.", "s3.", "s3x.", "ddb.", "ddbx."};
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return table.starts_with(prefix); });
}

// The advice for Dunlin's own workers is theirs. The other rows hold secrets, or name what is as
// good as one: job files, infrastructures, the key that signs URLs.
bool is_of_workers(std::string_view key) { return key == tascaas::dispatch_row(""); }

}  // namespace

Scope to_read(std::string_view table, std::string_view key) {
  if (table != tascaas::kTable) return Scope::read;
  return is_of_workers(key) ? Scope::worker : Scope::admin;
}

Scope to_scan(std::string_view table, std::string_view /*prefix*/) {
  return table == tascaas::kTable ? Scope::admin : Scope::read;
}

Scope to_put(std::string_view table, std::string_view key, bool fresh, bool door) {
  if (table == tascaas::kTable) return is_of_workers(key) ? Scope::worker : Scope::admin;
  if (is_of_door(table)) return door ? Scope::submit : Scope::admin;
  // Messages as rows, of a mixed store that keeps them in this hub.
  if (table == mixed::kBodyRows) return to_push(mixed::queue_of(key));
  if (table == mixed::kMessageRows)
    return fresh ? to_push(mixed::queue_of(key)) : to_take(mixed::queue_of(key));
  // Workers ask in each queue that has a route.
  if (table == kRoutes && !is_work_queue(key)) return Scope::admin;
  const TableRule* rule = find_rule(table);
  return rule == nullptr ? Scope::submit : rule->put;
}

Scope to_erase(std::string_view table, std::string_view key, bool door) {
  if (table == tascaas::kTable) return Scope::admin;
  if (is_of_door(table)) return door ? Scope::submit : Scope::admin;
  if (mixed::is_own_table(table)) return to_take(mixed::queue_of(key));
  const TableRule* rule = find_rule(table);
  return rule == nullptr ? Scope::submit : rule->erase;
}

Scope to_erase_all(std::string_view table, std::string_view prefix, bool door) {
  // Short of a whole name the prefix covers several queues, perhaps the service's own.
  constexpr std::string_view kOwnQueues = "tascaas.";
  const bool covers_own = mixed::is_own_table(table) && kOwnQueues.starts_with(prefix);
  return covers_own ? Scope::admin : to_erase(table, prefix, door);
}

Scope to_read_blob(std::string_view name) {
  return name.starts_with(kPrivateBlobs) ? Scope::admin : Scope::read;
}

Scope to_put_blob(std::string_view name, bool door) {
  if (name.starts_with(kPrivateBlobs)) return Scope::admin;
  if (name.starts_with("aws.")) return door ? Scope::submit : Scope::admin;
  if (!name.starts_with("jobs/")) return Scope::submit;
  const std::string_view rest = name.substr(name.find('/') + 1);
  const size_t slash = rest.find('/');
  const bool input =
      slash != std::string_view::npos && rest.substr(slash + 1).starts_with("input/");
  return input ? Scope::submit : Scope::worker;
}

Scope to_erase_blob(std::string_view name, bool door) {
  if (name.starts_with(kPrivateBlobs)) return Scope::admin;
  if (name.starts_with("aws.") && !door) return Scope::admin;
  return Scope::worker;
}

Scope to_push(std::string_view queue) {
  return queue.starts_with("tascaas.") ? Scope::admin : Scope::submit;
}

Scope to_take(std::string_view queue) {
  if (queue.starts_with(kReplyPrefix)) return Scope::submit;
  return queue.starts_with("tascaas.") ? Scope::admin : Scope::worker;
}

}  // namespace dunlin::hub
