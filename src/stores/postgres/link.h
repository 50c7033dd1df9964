// One connection to a PostgreSQL server: statements by text, prepared when first used, with a
// deadline; and the bells (NOTIFY) that others ring. Blocks; one thread.
//
// After `unavailable` the connection is gone and the statement may have been carried out; the next
// call connects again, to whichever of the URL's hosts takes writes by then.
#pragma once

#include <cstdint>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "stores/postgres/values.h"

namespace dunlin::postgres {

struct PgAddress {
  std::string url;     // As libpq takes it.
  std::string schema;  // "dunlin", or what stands after '#'.
};
// Of postgres://… or postgresql://…, with an optional #SCHEMA. `invalid` says what is wrong.
Result<PgAddress> parse_postgres_url(std::string_view url);

// One host, or several with commas between them, as libpq takes them.
struct PgHosts {
  std::string names;
  std::string ports;
  bool operator==(const PgHosts&) const = default;
};
// Those of a URL, in its order but for one that is asked first. None if the URL does not name it.
PgHosts hosts_of(const std::string& url, const PgHosts& first);

class PgLink {
 public:
  PgLink(PgAddress address, const Clock& clock) : address_(std::move(address)), clock_(clock) {}

  Result<void> connect();
  bool connected() const { return connection_ != nullptr; }

  // `conflict` if the statement raised it; `full` if it had to give way to others: try again.
  Result<PgRows> run(const char* statement, const PgParams& params, Instant deadline);

  // Several statements of one text, without parameters, in one transaction.
  Result<void> run_script(const std::string& script, Instant deadline);

  Result<void> listen(const std::string& channel, Instant deadline);
  bool listens(const std::string& channel) const { return channels_.contains(channel); }
  // What was rung since, if anything; waits for nothing.
  Result<std::set<std::string>> take_bells();
  int descriptor() const;  // Can be read when a bell may have been rung; -1: not connected.

  const PgAddress& address() const { return address_; }

 private:
  Result<PGresult*> collect(Instant deadline);
  Result<void> prepare(const char* statement, Instant deadline);
  Error failure(const PGresult* result);
  Error lost(std::string_view why);
  PGconn* dial(const PgHosts& hosts) const;
  Result<void> simple(const std::string& text, Instant deadline);

  PgAddress address_;
  const Clock& clock_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
  std::map<const char*, std::string> prepared_;  // Names by text.
  std::set<std::string> channels_;
};

}  // namespace dunlin::postgres
