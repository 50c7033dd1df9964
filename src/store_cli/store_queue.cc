// The verbs of `dunlin store` about queues: push, pull, finish, renew, depth.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/names.h"
#include "base/text.h"
#include "sources/input.h"
#include "store_cli/store_verbs.h"

namespace dunlin::store_cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLinesPerPush = 1000;
constexpr size_t kBytesPerPush = kBatchBytesMax / 2;

std::string made_up_id() { return fmt::format("{:016x}", random_seed()); }

Result<std::string> body_of(const PushVerb& verb) {
  const int given = int{verb.body.has_value()} + int{!verb.body_file.empty()} + int{verb.lines};
  if (given != 1) {
    return Error{Code::invalid, "give one of --body TEXT, --body-file FILE and --lines"};
  }
  if (verb.body) return *verb.body;
  if (verb.lines) return std::string();
  return sources::read_input(verb.body_file, kValueMax);
}

Result<int> push_one(const PushVerb& verb, std::string body, const cli::StoreTarget& target) {
  std::vector<Message> messages(1);
  messages[0] = {.id = verb.id.empty() ? made_up_id() : verb.id, .body = std::move(body)};
  TRY(validate(Commit{.writes = {Push{verb.queue, messages}}}));
  const auto store = TRY(cli::open_target(target, cli::Missing::make));
  TRY(store->queue().push(verb.queue, messages));
  const std::string& id = messages[0].id;
  if (target.form() != cli::Form::json) {
    TRY(cli::print(id + '\n'));
    return kExitDone;
  }
  ordered_json object = json_object();
  object["id"] = id;
  TRY(cli::print(cli::json_line(object)));
  return kExitDone;
}

// Pushes lines in batches; counts those that are safe in the store.
class LinePusher {
 public:
  LinePusher(RequestStore& store, const PushVerb& verb)
      : store_(store), verb_(verb), id_(verb.id.empty() ? made_up_id() : verb.id) {}

  uint64_t pushed() const { return pushed_; }

  Result<void> run() {
    sources::LineReader reader(STDIN_FILENO, kValueMax);
    while (true) {
      std::vector<std::string> lines = TRY(reader.next(kLinesPerPush));
      if (lines.empty()) return {};
      for (std::string& line : lines) {
        if (bytes_ + line.size() > kBytesPerPush) TRY(push());
        bytes_ += line.size();
        batch_.push_back({fmt::format("{}.{}", id_, ++count_), std::move(line)});
      }
      TRY(push());
    }
  }

 private:
  Result<void> push() {
    if (batch_.empty()) return {};
    TRY(store_.queue().push(verb_.queue, batch_));
    pushed_ += batch_.size();
    batch_.clear();
    bytes_ = 0;
    return {};
  }

  RequestStore& store_;
  const PushVerb& verb_;
  const std::string id_;
  std::vector<Message> batch_;
  size_t bytes_ = 0;
  uint64_t count_ = 0;
  uint64_t pushed_ = 0;
};

Result<int> push_lines(const PushVerb& verb, const cli::StoreTarget& target) {
  const Message first{.id = verb.id.empty() ? "1" : verb.id + ".1", .body = {}};
  TRY(validate(Commit{.writes = {Push{verb.queue, {first}}}}));
  const auto store = TRY(cli::open_target(target, cli::Missing::make));
  LinePusher pusher(*store, verb);
  if (const Result<void> pushed = pusher.run(); !pushed.ok()) {
    return Error{pushed.error().code,
                 fmt::format("{} (the first {} are in queue {})", pushed.error().what,
                             count_of(pusher.pushed(), "line"), verb.queue)};
  }
  if (target.json) {
    ordered_json object = json_object();
    object["pushed"] = pusher.pushed();
    TRY(cli::print(cli::json_line(object)));
  } else if (target.quiet) {
    TRY(cli::print(fmt::format("{}\n", pusher.pushed())));
  } else {
    TRY(cli::print(
        fmt::format("pushed {} to {}\n", count_of(pusher.pushed(), "message"), verb.queue)));
  }
  return kExitDone;
}

std::string lease_text(const Lease& lease) { return fmt::format("{}:{}", lease.id, lease.token); }

}  // namespace

Result<std::vector<Lease>> parse_leases(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[1].find(':') == std::string::npos) {
    return std::vector<Lease>{{arguments[0], TRY(parse_number("the token", arguments[1]))}};
  }
  std::vector<Lease> leases;
  for (const std::string& argument : arguments) {
    const size_t colon = argument.rfind(':');
    if (colon == std::string::npos) {
      return Error{Code::invalid,
                   fmt::format("the lease {} has no token: write ID:TOKEN as `dunlin store pull` "
                               "gave it",
                               quote(argument))};
    }
    leases.push_back(
        {argument.substr(0, colon), TRY(parse_number("the token", argument.substr(colon + 1)))});
  }
  return leases;
}

Result<int> run(const PushVerb& verb, const cli::StoreTarget& target) {
  std::string body = TRY(body_of(verb));
  return verb.lines ? push_lines(verb, target) : push_one(verb, std::move(body), target);
}

Result<int> run(const PullVerb& verb, const cli::StoreTarget& target) {
  const Millis hold = TRY(parse_duration(verb.hold));
  const Millis wait = TRY(parse_duration(verb.wait));
  TRY(validate(Pull{verb.queue, verb.max, hold, wait}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  cli::Columns columns({{"ID"}, {"TOKEN", true}, {"ATTEMPT", true}, {"BODY"}});
  std::string out;
  for (const Delivery& one : TRY(store->queue().pull(verb.queue, verb.max, hold, wait))) {
    if (target.json) {
      ordered_json object = json_object();
      object["id"] = one.lease.id;
      object["token"] = one.lease.token;
      object["attempt"] = one.attempt;
      add_bytes(object, "body", one.body);
      out += cli::json_line(object);
    } else if (target.quiet) {
      out += fmt::format("{}\t{}\n", lease_text(one.lease), escape(one.body));
    } else {
      columns.add({one.lease.id, std::to_string(one.lease.token), std::to_string(one.attempt),
                   cli::cell(one.body)});
    }
  }
  TRY(cli::print(columns.empty() ? out : columns.text()));
  return kExitDone;
}

Result<int> run(const FinishVerb& verb, const cli::StoreTarget& target) {
  const std::vector<Lease> leases = TRY(parse_leases(verb.leases));
  TRY(validate(Commit{.writes = {Finish{verb.queue, leases}}}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  TRY(store->queue().finish(verb.queue, leases));
  if (target.json) {
    ordered_json object = json_object();
    object["finished"] = leases.size();
    TRY(cli::print(cli::json_line(object)));
  } else if (!target.quiet) {
    TRY(cli::print(
        fmt::format("finished {} of {}\n", count_of(leases.size(), "message"), verb.queue)));
  }
  return kExitDone;
}

Result<int> run(const RenewVerb& verb, const cli::StoreTarget& target) {
  const Millis hold = TRY(parse_duration(verb.hold));
  const std::vector<Lease> leases = TRY(parse_leases(verb.leases));
  TRY(validate(Renew{verb.queue, leases, hold}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const std::vector<Lease> lost = TRY(store->queue().renew(verb.queue, leases, hold));
  if (target.json) {
    ordered_json object = json_object();
    object["renewed"] = leases.size() - lost.size();
    object["lost"] = ordered_json::array();
    for (const Lease& lease : lost) {
      object["lost"].push_back(ordered_json{{"id", lease.id}, {"token", lease.token}});
    }
    TRY(cli::print(cli::json_line(object)));
  } else {
    std::string out;
    if (!target.quiet) {
      out += fmt::format("renewed {} of {}\n", count_of(leases.size() - lost.size(), "lease"),
                         verb.queue);
    }
    for (const Lease& lease : lost) {
      out += (target.quiet ? "" : "lost ") + lease_text(lease) + '\n';
    }
    TRY(cli::print(out));
  }
  if (lost.empty()) return kExitDone;
  return Error{Code::conflict,
               fmt::format("{} of queue {} went to other holders or are finished: stop that work",
                           count_of(lost.size(), "lease"), verb.queue)};
}

Result<int> run(const DepthVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(AskDepth{verb.queue}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const Depth depth = TRY(store->queue().depth(verb.queue));
  if (target.json) {
    TRY(cli::print(cli::json_line(depth_json(verb.queue, depth))));
  } else if (target.quiet) {
    TRY(cli::print(fmt::format("{}\n", depth.ready)));
  } else {
    cli::Columns columns({{"READY", true}, {"LEASED", true}});
    columns.add({std::to_string(depth.ready), std::to_string(depth.leased)});
    TRY(cli::print(columns.text()));
  }
  return kExitDone;
}

}  // namespace dunlin::store_cli
