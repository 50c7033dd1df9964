#include "store_cli/store_verbs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/text.h"
#include "cli/output.h"
#include "stores/engine/check.h"
#include "stores/open.h"

namespace dunlin::store_cli {
namespace {

using nlohmann::ordered_json;

std::string info_json(const Info& info, const std::vector<stores::Made>& made) {
  ordered_json object = json_object();
  object["queues"] = ordered_json::array();
  for (const Info::QueueInfo& queue : info.queues) {
    object["queues"].push_back(ordered_json{
        {"name", queue.name}, {"ready", queue.depth.ready}, {"leased", queue.depth.leased}});
  }
  object["tables"] = ordered_json::array();
  for (const Info::TableInfo& table : info.tables) {
    object["tables"].push_back(ordered_json{{"name", table.name}, {"rows", table.rows}});
  }
  object["blobs"] = info.blobs;
  object["blob_bytes"] = info.blob_bytes;
  object["live_bytes"] = info.live_bytes;
  object["disk_bytes"] = info.disk_bytes;
  object["made"] = ordered_json::array();
  for (const stores::Made& one : made) {
    object["made"].push_back(ordered_json{{"service", one.service}, {"name", one.name}});
  }
  return cli::json_line(object);
}

std::string info_text(const Info& info, const std::vector<stores::Made>& made) {
  cli::Columns queues({{"QUEUE"}, {"READY", true}, {"LEASED", true}});
  for (const Info::QueueInfo& queue : info.queues) {
    queues.add({queue.name, std::to_string(queue.depth.ready), std::to_string(queue.depth.leased)});
  }
  cli::Columns tables({{"TABLE"}, {"ROWS", true}});
  for (const Info::TableInfo& table : info.tables) {
    tables.add({table.name, std::to_string(table.rows)});
  }
  std::string out;
  if (!queues.empty()) out += queues.text() + '\n';
  if (!tables.empty()) out += tables.text() + '\n';
  cli::Columns services({{"SERVICE"}, {"MADE"}});
  for (const stores::Made& one : made) services.add({one.service, one.name});
  if (!services.empty()) out += services.text() + '\n';
  out += fmt::format("{}, {}, {} ({})\n", count_of(info.queues.size(), "queue"),
                     count_of(info.tables.size(), "table"), count_of(info.blobs, "blob"),
                     human_size(info.blob_bytes));
  if (info.live_bytes == 0 && info.disk_bytes == 0) return out;  // Not every engine can say it.
  return out + fmt::format("{} live, {} on disk\n", human_size(info.live_bytes),
                           human_size(info.disk_bytes));
}

std::string check_json(const engine::CheckReport& report) {
  ordered_json object = json_object();
  object["whole"] = report.damages.empty();
  object["segments"] = report.segments;
  object["batches"] = report.batches;
  object["records"] = report.records;
  object["log_bytes"] = report.log_bytes;
  object["live_bytes"] = report.live_bytes;
  object["queues"] = report.queues;
  object["messages"] = report.messages;
  object["tables"] = report.tables;
  object["rows"] = report.rows;
  object["blobs"] = report.blobs;
  object["blob_bytes"] = report.blob_bytes;
  object["torn_bytes"] = report.torn_bytes;
  object["locked"] = report.locked;
  object["damages"] = ordered_json::array();
  for (const engine::Damage& damage : report.damages) {
    object["damages"].push_back(
        ordered_json{{"file", damage.file}, {"offset", damage.offset}, {"what", damage.what}});
  }
  return cli::json_line(object);
}

std::string check_text(const engine::CheckReport& report) {
  std::string out =
      fmt::format("read {} of log in {}: {}, {}\n", human_size(report.log_bytes),
                  count_of(report.segments, "segment"),
                  fmt::format("{} batch{}", report.batches, report.batches == 1 ? "" : "es"),
                  count_of(report.records, "record"));
  out += fmt::format("found {} in {}, {} in {}, {} of {}\n", count_of(report.messages, "message"),
                     count_of(report.queues, "queue"), count_of(report.rows, "row"),
                     count_of(report.tables, "table"), count_of(report.blobs, "blob"),
                     human_size(report.blob_bytes));
  if (!report.locked) {
    out +=
        "the store was read without a lock, because its folder cannot be written: if a hub is "
        "using it, stop the hub and check again\n";
  }
  if (report.torn_bytes > 0) {
    out += fmt::format(
        "the last {} belong to a write that was interrupted and never acknowledged: that is not "
        "damage\n",
        count_of(report.torn_bytes, "byte"));
  }
  return out;
}

std::string damage_text(const engine::CheckReport& report) {
  std::string out;
  for (const engine::Damage& damage : report.damages) {
    out += fmt::format("{}: damaged at offset {}: {}\n", damage.file, damage.offset, damage.what);
  }
  return out;
}

}  // namespace

Result<int> run(const InfoVerb& /*verb*/, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const Info info = TRY(store->info());
  std::vector<stores::Made> made;
  if (auto listed = stores::list_made(target.at, cli::open_options(target)); listed.ok()) {
    made = std::move(listed).value();
  } else if (listed.error().code ==
             Code::denied) {  // A user of a store need not be allowed to list an account.
    cli::complain("cannot list what was made: " + listed.error().what);
  } else {
    return listed.error();
  }
  if (target.json) {
    TRY(cli::print(info_json(info, made)));
  } else if (target.quiet) {
    TRY(cli::print(fmt::format("{}\n", info.live_bytes)));
  } else {
    TRY(cli::print(info_text(info, made)));
  }
  return kExitDone;
}

Result<int> run(const CheckVerb& verb, const cli::StoreTarget& target) {
  const engine::CheckReport report = TRY(engine::check_store(posix_disk(), verb.folder));
  const bool whole = report.damages.empty();
  if (target.json) {
    TRY(cli::print(check_json(report)));
  } else if (target.quiet) {
    TRY(cli::print(damage_text(report)));
  } else {
    const std::string verdict =
        whole ? fmt::format("{} is whole\n", verb.folder)
              : fmt::format("{} is damaged in {}: keep a copy and restore a backup\n", verb.folder,
                            count_of(report.damages.size(), "place"));
    TRY(cli::print(check_text(report) + damage_text(report) + verdict));
  }
  return whole ? kExitDone : kExitFailed;
}

}  // namespace dunlin::store_cli
