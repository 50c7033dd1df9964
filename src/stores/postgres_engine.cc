#include "stores/postgres_engine.h"

#include <utility>

#include "base/env_posix.h"
#include "stores/pg_async_store.h"
#include "stores/postgres/pg_store.h"
#include "stores/postgres/schema.h"

namespace dunlin::stores {
namespace {

constexpr Millis kSetUpMax = std::chrono::minutes(1);

}  // namespace

Result<std::unique_ptr<RequestStore>> open_postgres_engine(const std::string& url,
                                                           const OpenOptions& options) {
  const postgres::PgOptions pg{.deadline = options.deadline, .connect_wait = options.connect_wait};
  std::unique_ptr<RequestStore> store = TRY(postgres::open_postgres(url, pg, posix_clock()));
  return store;
}

Result<StoreAccess> access_postgres_engine(const std::string& url, const OpenOptions& options) {
  TRY(open_postgres_engine(url, options));  // It is there, and has a schema.
  StoreAccess access;
  access.async_store = async_pg_store(TRY(postgres::parse_postgres_url(url)), posix_clock());
  access.connect = [url, options] { return open_postgres_engine(url, options); };
  return access;
}

Result<bool> init_postgres_engine(const std::string& url, const OpenOptions& /*options*/) {
  postgres::PgLink link(TRY(postgres::parse_postgres_url(url)), posix_clock());
  return postgres::init_schema(link, posix_clock().now() + kSetUpMax);
}

Result<void> destroy_postgres_engine(const std::string& url, const OpenOptions& /*options*/) {
  postgres::PgLink link(TRY(postgres::parse_postgres_url(url)), posix_clock());
  return postgres::destroy_schema(link, posix_clock().now() + kSetUpMax);
}

}  // namespace dunlin::stores
