// Progress as it happens, as server-sent events. Each stream looks at the store by itself: there is
// nothing to subscribe to, and any service can carry on where another one stopped.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/server/problem.h"
#include "model/jobs/submit.h"
#include "model/rows.h"
#include "model/views/json.h"
#include "model/views/list_jobs.h"
#include "wire/token_text.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

constexpr Millis kLookFirst = Millis(50);
constexpr Millis kLookLast = Millis(1000);
constexpr Millis kHeartbeat = std::chrono::seconds(15);
constexpr int64_t kSecondsDefault = 3600;
constexpr size_t kJobsMax = 1000;                         // In the stream of all.
constexpr Millis kNewFor = std::chrono::minutes(1);       // Jobs that others submit may come late.
constexpr Millis kRemembered = std::chrono::minutes(10);  // Jobs whose end was told.

// What has changed if this has.
std::string mark_of(const Standing& standing, const Counts& counts) {
  return fmt::format("{}-{}-{}", state_word(standing.state), counts.ok, counts.failed);
}

// Tokens of one owner are one.
std::string whose(const Call& call) {
  std::string token = call.bearer().value_or("");
  const std::string owner = owner_in_token(token);
  return owner.empty() ? token : "owner " + owner;
}

// One stream: begins it, paces it, and says when it is over.
class Stream {
 public:
  explicit Stream(Call& call)
      : call_(call),
        place_(call.setting().streams->take(whose(call))),
        until_(call.setting().clock.now() +
               std::chrono::seconds(call.number("seconds", kSecondsDefault))) {}

  // False: there are too many, which was the reply.
  Result<bool> begin() {
    if (!place_) {
      TRY(call_.reply(problem(429, "full", "there are too many streams: try again later")));
      return false;
    }
    TRY(call_.begin(200, {{"content-type", "text/event-stream"},
                          {"cache-control", "no-store"},
                          {"x-accel-buffering", "no"}}));
    TRY(call_.send("retry: 2000\n\n"));
    spoke_ = call_.setting().clock.now();
    return true;
  }

  Result<void> send(std::string_view event, std::string_view id, const ordered_json& data) {
    spoke_ = call_.setting().clock.now();
    pause_ = kLookFirst;
    return call_.send(fmt::format("event: {}\nid: {}\ndata: {}\n\n", event, id, json_text(data)));
  }

  // Waits until it is time to look again; false if nobody wants to know.
  Result<bool> wait() {
    const Instant now = call_.setting().clock.now();
    if (now - spoke_ >= kHeartbeat) {
      TRY(call_.send(": still here\n\n"));
      spoke_ = now;
    }
    if (now >= until_ || call_.should_end()) return false;
    call_.pause(std::min(pause_, std::chrono::duration_cast<Millis>(until_ - now) + Millis(1)));
    pause_ = std::min(pause_ * 3 / 2, kLookLast);
    return !call_.should_end();
  }

 private:
  Call& call_;
  const std::optional<StreamLimit::Place> place_;
  const Instant until_;
  Instant spoke_;
  Millis pause_ = kLookFirst;
};

Result<void> job_events(Call& call, Store& store) {
  const std::string& id = call.path("id");
  Progress progress = TRY(read_progress(store, id, call.now()));
  std::string told = call.head().header_or("last-event-id", "");
  if (has_ended(progress.standing.state) && mark_of(progress.standing, progress.counts) == told) {
    return {};  // 204: clients do not ask again.
  }
  Stream stream(call);
  if (!TRY(stream.begin())) return {};
  while (true) {
    const bool ended = has_ended(progress.standing.state);
    const std::string mark = mark_of(progress.standing, progress.counts);
    if (mark != told) {
      TRY(stream.send(ended ? "end" : "progress", mark, progress_json(progress)));
      told = mark;
    }
    if (ended || !TRY(stream.wait())) return call.end();
    progress = TRY(read_progress(store, id, call.now()));
  }
}

// The jobs that are open, and those that come.
class Watch {
 public:
  // Jobs that ended after that moment are told of, too.
  explicit Watch(int64_t since_us) : since_us_(since_us) {}

  Result<void> look(Table& table, WallTime now, Stream& stream) {
    TRY(find_jobs(table, now));
    std::vector<std::string> ids;
    for (const auto& [id, watched] : watched_) ids.push_back(id);
    const auto standings = TRY(readable_standings(table, ids));
    const std::string event_id = std::to_string(now.time_since_epoch().count());
    for (size_t i = 0; i < ids.size(); ++i) {
      Watched& watched = watched_.at(ids[i]);
      if (!standings[i]) continue;  // Damaged.
      const Standing& standing = *standings[i];
      const auto counted = read_counts(table, watched.job, standing);
      if (!counted.ok() && is_passed_over(counted.error())) continue;
      const Counts counts = TRY(counted);
      const bool ended = has_ended(standing.state);
      if (std::string mark = mark_of(standing, counts); mark != watched.told) {
        TRY(stream.send(ended ? "end" : "progress", event_id,
                        job_json(watched.job, standing, counts)));
        watched.told = std::move(mark);
      }
      if (!ended) continue;
      ended_.insert(ids[i]);
      watched_.erase(ids[i]);
    }
    return {};
  }

 private:
  struct Watched {
    model::Job job;
    std::string told;
  };

  Result<void> find_jobs(Table& table, WallTime now) {
    const auto any = [](const Listed&) { return true; };
    std::vector<Listed> found =
        first_ ? TRY(newest_jobs(table, now, kJobsMax, any))
               : TRY(jobs_after(table, job_id_prefix(now - kNewFor), kJobsMax));
    first_ = false;
    ended_.erase(ended_.begin(), ended_.lower_bound(job_id_prefix(now - kRemembered)));
    for (Listed& one : found) {
      const std::string& id = one.job.id();
      const bool old = has_ended(one.standing.state) && one.standing.end.ended_us() <= since_us_;
      if (old || ended_.contains(id) || watched_.size() >= kJobsMax) continue;
      watched_.try_emplace(id, Watched{std::move(one.job), ""});
    }
    return {};
  }

  const int64_t since_us_;
  bool first_ = true;
  std::map<std::string, Watched> watched_;
  std::set<std::string> ended_;  // Those that were told of, lately.
};

Result<void> all_events(Call& call, Store& store) {
  const std::string last = call.head().header_or("last-event-id", "");
  int64_t since_ms = call.now().time_since_epoch().count();
  int64_t seen_ms = 0;
  const auto [end, failed] = std::from_chars(last.data(), last.data() + last.size(), seen_ms);
  if (failed == std::errc() && seen_ms > 0 && seen_ms < since_ms) since_ms = seen_ms;
  Watch watch(since_ms * 1000);
  Stream stream(call);
  if (!TRY(stream.begin())) return {};
  while (true) {
    TRY(watch.look(store.table(), call.now(), stream));
    if (!TRY(stream.wait())) return call.end();
  }
}

constexpr Parameter kLast{.name = "Last-Event-ID",
                          .in = In::header,
                          .most = 128,
                          .summary = "The id of the last event that was seen"};
constexpr Parameter kSeconds{.name = "seconds",
                             .type = Type::number,
                             .least = 1,
                             .most = 86'400,
                             .summary = "After which the stream ends (3600)"};

}  // namespace

void add_event_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{id}/events",
                    .summary = "Events `progress` of a job, and at last `end`",
                    .parameters = {kJobId, kSeconds, kLast},
                    .scope = "read",
                    .handler = job_events,
                    .reply_type = "text/event-stream",
                    .statuses = "200 204"});
  routes.push_back({.method = "GET",
                    .pattern = "/events",
                    .summary = "Events `progress` and `end` of all open and new jobs",
                    .parameters = {kSeconds, kLast},
                    .scope = "read",
                    .handler = all_events,
                    .reply_type = "text/event-stream"});
}

}  // namespace dunlin::rest
