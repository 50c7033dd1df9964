#include "stores/postgres/link.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <mutex>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/wait.h"

namespace dunlin::postgres {
namespace {

constexpr const char* kConnectSeconds = "3";  // For each host.
constexpr Millis kSetUpMax = std::chrono::seconds(10);
constexpr std::string_view kEncode =
    "write '%' as %25, '@' as %40, ':' as %3A, '/' as %2F and '?' as %3F in user and password";
constexpr std::string_view kConflict = "DU001";  // Raised by our own functions.

std::string first_line(std::string_view text) {
  const size_t end = text.find('\n');
  return std::string(text.substr(0, end));
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// libpq gives no code for these, only words.
Error connect_error(std::string_view message, const std::string& where) {
  const std::string line = first_line(message);
  if (has(message, "authentication failed") || has(message, "no password supplied") ||
      has(message, "no pg_hba.conf entry") || (has(message, "role") && has(message, "not exist"))) {
    return {
        Code::denied,
        fmt::format("{} refused the user: {}; check user and password in the URL, or PGPASSWORD",
                    where, line)};
  }
  if (has(message, "database") && has(message, "does not exist")) {
    return {Code::invalid, fmt::format("{}: {}; `createdb` makes it, or name another one after the "
                                       "last '/' of the URL",
                                       where, line)};
  }
  if (has(message, "invalid ") || has(message, "missing ")) {
    return {Code::invalid, fmt::format("{}: {}", where, line)};
  }
  return {Code::unavailable, fmt::format("cannot reach {}: {}", where, line)};
}

// libpq's own words may hold a piece of the password that the URL has.
std::string parse_trouble(const std::string& url, const char* why) {
  if (why == nullptr) return "out of memory";
  if (printable_url(url) == url) return first_line(why);
  return std::string(kEncode);
}

// Where the URL lacks '@' and a host, the port is its password, which libpq would show.
bool has_strange_port(const PQconninfoOption* option) {
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) != "port" || option->val == nullptr) continue;
    const std::string_view ports = option->val;
    return ports.find_first_not_of("0123456789,") != std::string_view::npos;
  }
  return false;
}

// libpq ends the user at the first '@', so that the rest of a password may stand in these.
bool has_strange_at(const PQconninfoOption* option) {
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const bool place = keyword == "host" || keyword == "port" || keyword == "dbname";
    if (place && option->val != nullptr && has(option->val, "@")) return true;
  }
  return false;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Which of a URL's hosts took writes last. A new connection asks it first: one that is cut off
// costs seconds, and a command makes several connections.
class LastHosts {
 public:
  PgHosts find(const std::string& url) {
    const std::lock_guard lock(mutex_);
    return by_url_[url];
  }
  void keep(const std::string& url, PgHosts host) {
    const std::lock_guard lock(mutex_);
    by_url_[url] = std::move(host);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, PgHosts> by_url_;
};

LastHosts& last_hosts() {
  static LastHosts hosts;
  return hosts;
}

}  // namespace

PgHosts hosts_of(const std::string& url, const PgHosts& first) {
  std::vector<std::string> names;
  std::vector<std::string> ports;
  PQconninfoOption* const parsed = PQconninfoParse(url.c_str(), nullptr);
  for (const PQconninfoOption* option = parsed; option != nullptr && option->keyword != nullptr;
       ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "hostaddr") {
      names.clear();
      break;
    }
    if (keyword == "host") names = split(option->val);
    if (keyword == "port") ports = split(option->val);
  }
  PQconninfoFree(parsed);
  if (ports.size() == 1) ports.resize(names.size(), ports.front());
  PgHosts hosts = first;
  bool found = false;
  for (size_t i = 0; i < names.size() && names.size() == ports.size(); ++i) {
    if (!found && PgHosts{names[i], ports[i]} == first) {
      found = true;
      continue;
    }
    hosts.names += "," + names[i];
    hosts.ports += "," + ports[i];
  }
  return found ? hosts : PgHosts();
}

Result<PgAddress> parse_postgres_url(std::string_view url) {
  PgAddress address{.url = std::string(url), .schema = "dunlin"};
  const size_t hash = url.find('#');
  if (hash != std::string_view::npos) {
    address.url = url.substr(0, hash);
    address.schema = url.substr(hash + 1);
    if (has(address.schema, "@")) {
      return Error{Code::invalid, fmt::format("the store URL {} cannot be used: write '#' as %23 "
                                              "in user and password",
                                              quote_url(url))};
    }
    if (!is_name(address.schema)) {
      return Error{Code::invalid,
                   fmt::format("the schema {} after '#' is not 1 to {} of A-Z a-z 0-9 . _ -",
                               quote(address.schema), size_t{64})};
    }
  }
  const auto unusable = [&](std::string_view why) {
    return Error{Code::invalid,
                 fmt::format("the store URL {} cannot be used: {}", quote_url(address.url), why)};
  };
  char* why = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(address.url.c_str(), &why);
  if (parsed == nullptr) {
    const std::string text = parse_trouble(address.url, why);
    PQfreemem(why);
    return unusable(text);
  }
  const bool strange = has_strange_at(parsed);
  const bool bad_port = has_strange_port(parsed);
  PQconninfoFree(parsed);
  if (bad_port) {
    return Error{Code::invalid,
                 "the PostgreSQL URL has a port that is not a number: write "
                 "postgres://USER:PASSWORD@HOST:PORT/DATABASE"};
  }
  if (strange) return unusable(kEncode);
  return address;
}

PGconn* PgLink::dial(const PgHosts& hosts) const {
  // What the URL says wins over what stands before it.
  std::array<const char*, 10> names = {
      "connect_timeout", "target_session_attrs", "tcp_user_timeout",
      "keepalives_idle", "application_name",     "client_encoding",
      "dbname"};
  std::array<const char*, 10> values = {
      kConnectSeconds, "read-write", "15000", "10", "dunlin", "UTF8", address_.url.c_str()};
  if (!hosts.names.empty()) {
    names[7] = "host";
    values[7] = hosts.names.c_str();
    names[8] = "port";
    values[8] = hosts.ports.c_str();
  }
  return PQconnectdbParams(names.data(), values.data(), 1);
}

Result<void> PgLink::connect() {
  if (connected()) return {};
  connection_.reset(dial(hosts_of(address_.url, last_hosts().find(address_.url))));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    const Error error =
        connect_error(PQerrorMessage(connection_.get()), printable_url(address_.url));
    connection_.reset();
    last_hosts().keep(address_.url, {});
    return error;
  }
  last_hosts().keep(address_.url, {PQhost(connection_.get()), PQport(connection_.get())});
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  const Instant deadline = clock_.now() + kSetUpMax;
  std::string set_up = fmt::format("set search_path to \"{}\";", address_.schema);
  set_up +=
      "set jit = off; set client_min_messages = warning;"
      // Acknowledged means durable, whatever the server's default says.
      "select set_config('synchronous_commit', 'on', false) "
      "where current_setting('synchronous_commit') = 'off';";
  for (const std::string& channel : channels_) set_up += fmt::format("listen \"{}\";", channel);
  return simple(set_up, deadline);
}

Error PgLink::lost(std::string_view why) {
  Error error{Code::unavailable,
              fmt::format("{}: {}", printable_url(address_.url), first_line(why))};
  last_hosts().keep(address_.url, {});
  connection_.reset();  // And with it what `why` may point to.
  prepared_.clear();
  return error;
}

Error PgLink::failure(const PGresult* result) {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string what = primary == nullptr ? PQresultErrorMessage(result) : primary;
  if (state == kConflict) return {Code::conflict, what};
  // It gave way to another one, and changed nothing.
  if (state == "40001" || state == "40P01") return {Code::unavailable, what};
  if (state.starts_with("53")) {
    return {Code::full, fmt::format("{} cannot write now: {}; make room on that server",
                                    printable_url(address_.url), what)};
  }
  if (state == "42501") {
    return {Code::denied, fmt::format("{}: {}; `grant` it, or use the role that made the schema {}",
                                      printable_url(address_.url), what, address_.schema)};
  }
  if (state == "42P01" || state == "3F000" || state == "42883" || state == "42703") {
    return {Code::invalid, fmt::format("{} has no store, or one of another version: `dunlin store "
                                       "init --at URL` makes or migrates it ({})",
                                       printable_url(address_.url), what)};
  }
  // Shutting down, starting up, or a standby by now.
  if (state.empty() || state.starts_with("57") || state.starts_with("08") || state == "25006") {
    return lost(what);
  }
  return {Code::invalid, fmt::format("{}: {} ({})", printable_url(address_.url), what, state)};
}

// The last result of what was sent.
Result<PGresult*> PgLink::collect(Instant deadline) {
  PGconn* const connection = connection_.get();
  PGresult* last = nullptr;
  while (true) {
    while (PQflush(connection) == 1 || PQisBusy(connection) == 1) {
      if (clock_.now() >= deadline) {
        PQclear(last);
        return lost("no answer in time");
      }
      wait_until(std::min(deadline, clock_.now() + Millis(1000)), clock_, -1, PQsocket(connection));
      if (PQconsumeInput(connection) == 0) {
        PQclear(last);
        return lost(PQerrorMessage(connection));
      }
    }
    PGresult* const next = PQgetResult(connection);
    if (next == nullptr) break;
    const bool had_failed = last != nullptr && PQresultStatus(last) == PGRES_FATAL_ERROR;
    PQclear(had_failed ? next : std::exchange(last, next));
    if (PQstatus(connection) == CONNECTION_BAD) {
      const std::string why = PQerrorMessage(connection);
      PQclear(last);
      return lost(why);
    }
  }
  if (last == nullptr) return lost("no answer");
  const ExecStatusType status = PQresultStatus(last);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return last;
  const Error error = failure(last);
  PQclear(last);
  return error;
}

Result<void> PgLink::simple(const std::string& text, Instant deadline) {
  if (PQsendQuery(connection_.get(), text.c_str()) == 0) {
    return lost(PQerrorMessage(connection_.get()));
  }
  PQclear(TRY(collect(deadline)));
  return {};
}

Result<void> PgLink::run_script(const std::string& script, Instant deadline) {
  TRY(connect());
  Result<void> done = simple(script, deadline);
  if (done.ok() || done.error().code != Code::full) return done;
  return Error{Code::unavailable, done.error().what};
}

Result<void> PgLink::prepare(const char* statement, Instant deadline) {
  const std::string name = fmt::format("s{}", prepared_.size());
  if (PQsendPrepare(connection_.get(), name.c_str(), statement, 0, nullptr) == 0) {
    return lost(PQerrorMessage(connection_.get()));
  }
  PQclear(TRY(collect(deadline)));
  prepared_.emplace(statement, name);
  return {};
}

Result<PgRows> PgLink::run(const char* statement, const PgParams& params, Instant deadline) {
  TRY(connect());
  if (!prepared_.contains(statement)) TRY(prepare(statement, deadline));
  const std::vector<std::string>& values = params.values();
  std::vector<const char*> starts;
  std::vector<int> sizes;
  for (const std::string& value : values) {
    starts.push_back(value.data());
    sizes.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), 1);
  if (PQsendQueryPrepared(connection_.get(), prepared_.at(statement).c_str(),
                          static_cast<int>(values.size()), starts.data(), sizes.data(),
                          formats.data(), 1) == 0) {
    return lost(PQerrorMessage(connection_.get()));
  }
  return PgRows(TRY(collect(deadline)));
}

Result<void> PgLink::listen(const std::string& channel, Instant deadline) {
  TRY(connect());
  if (channels_.contains(channel)) return {};
  TRY(simple(fmt::format("listen \"{}\"", channel), deadline));
  channels_.insert(channel);
  return {};
}

Result<std::set<std::string>> PgLink::take_bells() {
  std::set<std::string> bells;
  if (!connected()) return bells;
  if (PQconsumeInput(connection_.get()) == 0) return lost(PQerrorMessage(connection_.get()));
  while (PGnotify* const notify = PQnotifies(connection_.get())) {
    bells.insert(notify->relname);
    PQfreemem(notify);
  }
  return bells;
}

int PgLink::descriptor() const { return connected() ? PQsocket(connection_.get()) : -1; }

}  // namespace dunlin::postgres
