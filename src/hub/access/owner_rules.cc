#include "hub/access/owner_rules.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "base/names.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/sound.h"

namespace dunlin::hub {
namespace {

constexpr std::array kTablesOfJobs = {kJobs,  kEnds,  kWaits,   kAfter,
                                      kPages, kNodes, kOutputs, kLedgers};

std::string_view before_slash(std::string_view text) { return text.substr(0, text.find('/')); }
// Empty if there is no slash.
std::string_view behind_slash(std::string_view text) {
  const size_t slash = text.find('/');
  return slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
}

// Readers of pages count on what follows from a key.
bool is_page_key(std::string_view key) {
  const Result<uint64_t> number = number_in_key(kPages, key);
  return number.ok() && number.value() <= page_of(kTasksMax) &&
         key == page_key(before_slash(key), number.value());
}

// Others might be made to look like what somebody else requires.
bool are_tags(const model::Requirements& needs) {
  return std::ranges::all_of(needs.tags(), is_tag) && is_in_order(needs.tags());
}

bool is_of_jobs(std::string_view table) {
  return std::ranges::find(kTablesOfJobs, table) != kTablesOfJobs.end();
}

class OwnerCheck {
 public:
  explicit OwnerCheck(const std::string& owner) : owner_(owner) {}

  Result<void> operator()(const Commit& commit) {
    for (const Write& write : commit.writes) {
      if (const auto* put = std::get_if<Put>(&write); put != nullptr && put->table == kJobs) {
        TRY(check_job(*put));
      }
    }
    for (const Write& write : commit.writes) TRY(std::visit(*this, write));
    return {};
  }
  Result<void> operator()(const Put& put) {
    if (put.table == kRoutes) return check_route(put);
    if (put.table == kKeys && !is_own_job(put.value)) return foreign("row", put.key);
    // Others read these of all owners.
    if (put.table == kEnds && !model::End().ParseFromString(put.value)) {
      return foreign("end", put.key);
    }
    if (put.table == kHistory && !model::History().ParseFromString(put.value)) {
      return foreign("history", put.key);
    }
    if (put.table == kPages && !is_page_key(put.key)) return foreign("page", put.key);
    return check_row(put.table, put.key);
  }
  Result<void> operator()(const Erase& erase) { return check_row(erase.table, erase.key); }
  Result<void> operator()(const Push& push) {
    for (const Message& message : push.messages) TRY(check_message(push.queue, message));
    return push.messages.empty() ? foreign("queue", push.queue) : Result<void>();
  }
  Result<void> operator()(const Finish& finish) { return check_replies(finish.queue); }
  Result<void> operator()(const Keep& keep) { return check_replies(keep.queue); }
  Result<void> operator()(const Pull& pull) { return check_replies(pull.queue); }
  Result<void> operator()(const Renew& renew) {
    // It only ends waits of the same session.
    return renew.leases.empty() ? Result<void>() : check_replies(renew.queue);
  }
  // That of a route is judged by its row: see owner_view.h.
  Result<void> operator()(const AskDepth& ask) {
    return ask.queue.starts_with("work.") ? Result<void>() : check_replies(ask.queue);
  }
  Result<void> operator()(const AskInfo& /*ask*/) { return too_much("queues"); }

  Result<void> operator()(const Get& get) {
    // Jobs and routes of others are as good as absent: see owner_view.h.
    if (get.table == kWorkers || get.table == kRoutes || get.table == kJobs) return {};
    for (const std::string& key : get.keys) TRY(check_row(get.table, key));
    return {};
  }
  Result<void> operator()(const Scan& scan) {
    // Of the first two it sees its own only: see owner_view.h.
    if (scan.table == kJobs || scan.table == kHistory || scan.table == kWorkers) return {};
    if (scan.table == kKeys) return check_row(kKeys, scan.prefix);
    return check_prefix(scan.table, scan.prefix);
  }
  Result<void> operator()(const EraseAll& erase) { return check_prefix(erase.table, erase.prefix); }

  // Nobody sees it before it has a name.
  Result<void> operator()(const BlobPart& /*part*/) { return {}; }
  Result<void> operator()(const BlobEnd& end) { return check_blob(end.name); }
  Result<void> operator()(const BlobGet& get) { return check_blob(get.name); }
  Result<void> operator()(const BlobErase& erase) { return check_blob(erase.name); }
  Result<void> operator()(const BlobList& list) {
    return list.prefix.empty() ? too_much("blobs") : check_blob(list.prefix);
  }

 private:
  Result<void> too_much(std::string_view what) const {
    return Error{
        Code::denied,
        fmt::format("the token is bound to the owner {}, and this asks for all {}", owner_, what)};
  }

  Result<void> foreign(std::string_view kind, std::string_view name) const {
    return Error{
        Code::denied,
        fmt::format("the token is bound to the owner {0}, and the {1} {2} does not belong to {0}",
                    owner_, kind, quote(name))};
  }

  bool is_own_job(std::string_view id) const { return is_job_of(owner_, id); }
  bool is_own_blob(std::string_view name) const {
    if (name.starts_with(kJobBlobs)) {
      name.remove_prefix(kJobBlobs.size());
    } else if (name.starts_with(kOwnerBlobs)) {
      name.remove_prefix(kOwnerBlobs.size());
      return name.size() > owner_.size() && before_slash(name) == owner_;
    } else {
      return false;
    }
    const std::string_view job = before_slash(name);
    return job.size() < name.size() && is_own_job(job);
  }
  bool is_own_row(std::string_view table, std::string_view key) const {
    if (table == kAfter) {
      const std::string_view second = behind_slash(key);
      return is_own_job(before_slash(key)) && (second.empty() || is_own_job(second));
    }
    if (is_of_jobs(table)) return is_own_job(before_slash(key));
    if (table == kKeys) return key.size() > owner_.size() && before_slash(key) == owner_;
    if (table == kExpiry) return is_own_job(behind_slash(key));
    return table == kHistory && behind_slash(key) == owner_;
  }

  Result<void> check_row(std::string_view table, std::string_view key) const {
    if (is_own_row(table, key)) return {};
    return foreign("row", fmt::format("{} {}", table, key));
  }
  Result<void> check_prefix(std::string_view table, std::string_view prefix) const {
    const std::string_view job = before_slash(prefix);
    if (is_of_jobs(table) && job.size() < prefix.size() && is_own_job(job)) return {};
    return foreign("rows", fmt::format("{} {}", table, prefix));
  }
  Result<void> check_blob(std::string_view name) const {
    return is_own_blob(name) ? Result<void>() : foreign("blob", name);
  }
  Result<void> check_replies(std::string_view queue) const {
    return is_reply_queue_of(owner_, queue) ? Result<void>() : foreign("queue", queue);
  }

  // The route's row is what lets workers find the queue.
  Result<void> check_route(const Put& put) const {
    model::Route route;
    if (route.ParseFromString(put.value) && route.owner() == owner_ && queue_of(route) == put.key &&
        route.priority() <= kPriorityMax && are_tags(route.requires_())) {
      return {};
    }
    return foreign("route", put.key);
  }

  // What workers and sweepers do for a job they do with their own rights, so its row must not name
  // anything of others.
  Result<void> check_job(const Put& put) {
    model::Job job;
    if (!job.ParseFromString(put.value) || job.id() != put.key || !is_own_job(put.key)) {
      return foreign("job", put.key);
    }
    const model::Spec& spec = job.spec();
    if (spec.owner() != owner_) return foreign("owner", spec.owner());
    if (!spec.reply().empty()) TRY(check_replies(spec.reply()));
    for (const std::string& other : spec.after()) {
      if (!is_own_job(other)) return foreign("job", other);
    }
    if (!is_after(spec.after())) return foreign("job", put.key);
    const std::string blobs = fmt::format("{}{}/", kJobBlobs, job.id());
    for (const model::Source& source : spec.inputs().sources()) {
      if (!source.blob().empty() && !source.blob().starts_with(blobs)) {
        return foreign("blob", source.blob());
      }
    }
    if (!spec.stdin_blob().empty() && !spec.stdin_blob().starts_with(blobs)) {
      return foreign("blob", spec.stdin_blob());
    }
    if (!job.key().empty()) {
      TRY(check_row(kKeys, job.key()));
      if (!is_visible(job.key(), kKeyMax)) return foreign("key", job.key());
    }
    if (!is_time_us(job.gone_us())) return foreign("job", put.key);
    // A stone has no requirements any more, and nothing is pushed for it.
    if (job.gone_us() != 0) return {};
    if (job.queue() != queue_of(route_of(spec)) || !are_tags(spec.requires_())) {
      return foreign("queue", job.queue());
    }
    if (const Result<void> good = validate_spec(spec); !good.ok()) {
      return Error{Code::denied,
                   fmt::format("job {} is malformed: {}", put.key, good.error().what)};
    }
    jobs_.insert_or_assign(put.key, Written{job.queue(), spec.SerializeAsString(), spec.tasks(),
                                            spec.iterations().partitions()});
    return {};
  }

  // A message is pushed only together with the row of its job.
  Result<void> check_message(const std::string& queue, const Message& message) const {
    model::Range range;
    if (!range.ParseFromString(message.body)) return foreign("message", message.id);
    const auto job = jobs_.find(range.job());
    if (job == jobs_.end() || job->second.queue != queue) return foreign("queue", queue);
    const Written& written = job->second;
    const bool good =
        range.first() < range.last() && range.last() <= written.tasks &&
        (!range.reserve() || (written.partitions > 0 && range.first() == written.partitions));
    if (!good || message.id != range_id(range)) return foreign("message", message.id);
    if (range.has_spec() && range.spec().SerializeAsString() != written.spec) {
      return foreign("message", message.id);
    }
    return {};
  }

  struct Written {
    std::string queue;
    std::string spec;  // Its bytes: there may be many messages to compare with them.
    uint64_t tasks = 0;
    uint64_t partitions = 0;  // That begin; the others are in reserve. 0: it has none.
  };

  const std::string& owner_;
  std::map<std::string, Written> jobs_;  // Whose rows this commit writes.
};

}  // namespace

Result<void> check_owner(const std::string& owner, const Request& request) {
  OwnerCheck check(owner);
  return std::visit([&](const auto& each) -> Result<void> { return check(each); }, request);
}

}  // namespace dunlin::hub
