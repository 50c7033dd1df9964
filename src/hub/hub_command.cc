#include "hub/hub_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <malloc.h>
#include <memory>
#include <optional>
#include <sys/stat.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/inspection.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/standard_files.h"
#include "base/text.h"
#include "doors/aws/door.h"
#include "hub/access/aws_keys.h"
#include "hub/access/token.h"
#include "hub/aws_host.h"
#include "hub/host_doubts.h"
#include "hub/http_host.h"
#include "hub/notify.h"
#include "hub/open_core.h"
#include "hub/sessions.h"
#include "net/address.h"
#include "net/listen.h"
#include "net/server.h"
#include "net/tls.h"
#include "retention/sweep_thread.h"
#include "store/request_store.h"
#include "stores/open.h"
#include "stores/own_hub.h"
#include "tascaas/retire.h"

namespace dunlin::hub {
namespace {

constexpr Millis kSweepAnswerMax = std::chrono::seconds(5);

Result<std::vector<net::Address>> listen_on(net::Server& server,
                                            const std::vector<net::Address>& addresses,
                                            net::Service* service = nullptr) {
  std::vector<net::Address> bound;
  bound.reserve(addresses.size());
  for (const net::Address& address : addresses)
    bound.push_back(TRY(server.listen(address, service)));
  return bound;
}

Result<void> make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return {};
  const bool denied = failed == std::errc::permission_denied ||
                      failed == std::errc::operation_not_permitted ||
                      failed == std::errc::read_only_file_system;
  return Error{denied ? Code::denied : Code::invalid,
               fmt::format("cannot make the folder {}: {}; choose another with --data", folder,
                           failed.message())};
}

// An address on this machine without TLS: for the parts of this process, and for the other commands
// of a user whose hub has TLS elsewhere.
Result<std::string> listen_for_own(net::Server& server) {
  const std::vector<net::Address> loopback = TRY(net::resolve("127.0.0.1:0"));
  return "dunlin://" + TRY(server.listen(loopback.front(), nullptr, true)).text();
}

// To the system as soon as they are free. Left to itself the library keeps more, the larger they
// have been.
void return_large_buffers() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

struct Said {
  std::optional<uint64_t> ms;
  std::optional<uint64_t> failed_ms;
};

Result<Said> check_keep(const ServeOptions& options) {
  Said keep;
  if (!options.keep.empty()) keep.ms = TRY(retention::parse_rule(options.keep));
  if (!options.keep_failed.empty())
    keep.failed_ms = TRY(retention::parse_rule(options.keep_failed));
  return keep;
}

// What was not said stays as it was.
Result<model::Retention> set_rule(Table& table, const Said& keep) {
  TRY(retention::write_rule(table, retention::default_rule(), true));
  model::Retention rule = TRY(retention::read_rule(table));
  if (keep.ms) rule.set_keep_ms(*keep.ms);
  if (keep.failed_ms) rule.set_keep_failed_ms(*keep.failed_ms);
  if (keep.ms || keep.failed_ms) TRY(retention::write_rule(table, rule, false));
  return rule;
}

std::string url_of(const net::Address& address, bool tls) {
  return fmt::format("{}://{}", tls ? "dunlin+tls" : "dunlin", address.text());
}

// A user without a home gives --at and --token-file.
void leave_note(stores::HubNotes& notes, const std::vector<net::Address>& addresses, bool tls,
                const std::string& own_url, const std::string& folder) {
  std::vector<std::string> urls;
  for (const net::Address& address : addresses) urls.push_back(url_of(address, tls));
  if (tls) urls.push_back(own_url);
  const Result<void> left = notes.leave(urls, token_path(folder), tls ? own_url : "");
  if (!left.ok())
    log::info("cannot leave a note for other commands, which now need --at and --token-file: {}",
              left.error().what);
}

// Scripts wait for these lines.
void announce(const std::vector<net::Address>& addresses, const std::vector<net::Address>& doors,
              const std::vector<net::Address>& https, const std::string& data, bool tls) {
  std::error_code failed;
  const std::string whole = std::filesystem::absolute(data, failed).lexically_normal().string();
  const std::string folder = failed ? data : whole;
  for (const net::Address& address : addresses) {
    fmt::print("listening on {}\n", url_of(address, tls));
  }
  fmt::print("token in {}\n", token_path(folder));
  for (const net::Address& door : doors) {
    fmt::print("aws endpoint on {}://{}\n", tls ? "https" : "http", door.text());
  }
  if (!doors.empty()) fmt::print("aws credentials in {}\n", aws_credentials_path(folder));
  for (const net::Address& http : https) {
    fmt::print("http on {}://{}\n", tls ? "https" : "http", http.text());
  }
  flush_or_drop();
}

}  // namespace

Result<std::string> default_data_folder() { return state_folder("hub"); }

Result<void> run_hub(const ServeOptions& options) {
  const Clock& clock = posix_clock();
  const std::vector<net::Address> addresses =
      TRY(addresses_of(options.server, options.server.listen));
  const std::vector<net::Address> doors = TRY(addresses_of(options.server, options.aws));
  const std::vector<net::Address> https = TRY(addresses_of(options.server, options.http));
  const std::optional<net::TlsContext> tls =
      TRY(net::TlsContext::server_if(options.server.tls_cert, options.server.tls_key));
  const rest::ServiceOptions http_options = TRY(service_options(options.server, tls));
  const Said keep = TRY(check_keep(options));
  const std::string folder = options.data.empty() ? TRY(default_data_folder()) : options.data;
  if (const Result<std::string> token = read_admin_token(folder);
      !token.ok() && token.error().code != Code::not_found) {
    return token.error();
  }
  net::raise_file_limit();
  if (!options.server.debuggable) forbid_inspection();
  return_large_buffers();
  net::Server server(clock, tls ? &*tls : nullptr);
  AwsHost aws_host;
  aws::Door door(server, aws_host, clock, tls.has_value());
  const std::vector<net::Address> bound = TRY(listen_on(server, addresses));
  const std::vector<net::Address> bound_doors = TRY(listen_on(server, doors, &door));

  const std::string own_url = TRY(listen_for_own(server));
  HttpHost http(clock, own_url, http_options);
  const std::vector<net::Address> bound_https = TRY(http.listen(https));

  umask(077);  // What a hub keeps is its user's own.
  TRY(make_folder(folder));
  for (const std::string& doubt : doubts_about_host(folder)) log::warning("{}", doubt);
  const std::unique_ptr<Core> core =
      TRY(open_core({.folder = folder, .ephemeral = options.ephemeral}, clock.now()));
  const auto rule = set_rule(core_store(*core, clock, random_seed())->table(), keep);
  // A hub whose disk is full starts all the same: clients can read.
  if (!rule.ok() && rule.error().code != Code::full) return rule.error();
  const std::string token = TRY(read_or_make_admin_token(folder));
  const size_t share = memory_share(8, HubLimits().unread_all_max);
  Sessions sessions(server, *core, clock, token, {.unread_all_max = share});
  if (!doors.empty()) {
    aws_host.attach(sessions, door, clock, token);
    TRY(write_aws_credentials(folder, token));
  }
  if (https.empty()) server.stop_on({SIGTERM, SIGINT});
  http.start(server, token);

  const retention::SweepThread sweeper(
      [&own_url, &token] {
        return stores::open_store(own_url, {.token = token, .deadline = kSweepAnswerMax});
      },
      {.sole = true, .chores = {tascaas::retire}}, clock);
  stores::HubNotes notes;
  if (!options.no_note) leave_note(notes, bound, tls.has_value(), own_url, folder);
  announce(bound, bound_doors, bound_https, folder, tls.has_value());
  if (rule.ok()) {
    log::info("jobs are kept {} after their end, failed ones {}",
              retention::rule_text(rule.value().keep_ms()),
              retention::rule_text(rule.value().keep_failed_ms()));
  } else {
    log::warning("cannot store how long jobs are kept: {}", rule.error().what);
  }
  notify_manager("READY=1");
  server.run(sessions);
  log::info("stopped syncs={}", posix_syncs());
  return {};
}

void add_hub_command(CLI::App& app, ServeOptions& options, int& exit_code) {
  CLI::App* command = app.add_subcommand("hub", "Serve a durable store over the network");
  command->footer(
      "Example:\n"
      "  dunlin hub --data ~/hub --listen 127.0.0.1:7070\n"
      "  dunlin hub --listen 0.0.0.0:7070 --tls-cert hub.pem --tls-key hub.key\n"
      "  dunlin hub --aws 127.0.0.1:9324\n"
      "  dunlin hub --http 127.0.0.1:7071\n");
  command
      ->add_option("--data", options.data, "Data folder of the hub (default: in your state folder)")
      ->envname("DUNLIN_DATA");
  rest::add_listen_option(*command, options.server, "DUNLIN_LISTEN");
  command
      ->add_option("--aws", options.aws,
                   "Also serve SQS, DynamoDB and S3 for AWS's SDKs at this address")
      ->envname("DUNLIN_AWS")
      ->delimiter(',');
  command
      ->add_option("--http", options.http,
                   "Also serve the REST service at this address (docs/REST.md)")
      ->envname("DUNLIN_HTTP")
      ->delimiter(',');
  rest::add_service_options(*command, options.server);
  command
      ->add_option("--keep", options.keep,
                   "How long to keep jobs after their end: 12h, 30d, forever (default: the store's "
                   "rule; 30d in a new store)")
      ->envname("DUNLIN_KEEP");
  command
      ->add_option("--keep-failed", options.keep_failed,
                   "How long to keep jobs that failed, were cancelled or were skipped (default: "
                   "the store's rule; 90d in a new store)")
      ->envname("DUNLIN_KEEP_FAILED");
  command
      ->add_flag("--ephemeral", options.ephemeral,
                 "Keep everything in memory; only the token is on disk")
      ->envname("DUNLIN_EPHEMERAL");
  rest::add_tls_options(*command, options.server);
  rest::add_debuggable_flag(*command, options.server, "the hub");
  command->add_flag(
      "--no-note", options.no_note,
      "Do not leave the note by which your other commands find this hub and its token");
  command->callback([&options, &exit_code] {
    const Result<void> served = run_hub(options);
    exit_code = served.ok() ? kExitDone : report(served.error());
  });
}

}  // namespace dunlin::hub
