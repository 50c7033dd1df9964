#include "stores/postgres/link.h"

#include <gtest/gtest.h>

namespace dunlin::postgres {
namespace {

TEST(PgHosts, TheFirstIsAskedFirstAndTheOthersInTheirOrder) {
  const std::string url = "postgres://u:p@a:1,b:2,c:3/db?sslmode=disable";
  EXPECT_EQ(hosts_of(url, {"c", "3"}), (PgHosts{"c,a,b", "3,1,2"}));
  EXPECT_EQ(hosts_of(url, {"a", "1"}), (PgHosts{"a,b,c", "1,2,3"}));
  EXPECT_EQ(hosts_of("postgres://u@a,b/db?port=7", {"b", "7"}), (PgHosts{"b,a", "7,7"}));
}

TEST(PgHosts, OneThatTheUrlDoesNotNameChangesNothing) {
  EXPECT_EQ(hosts_of("postgres://u@a:1,b:2/db", {"b", "1"}), PgHosts());
  EXPECT_EQ(hosts_of("postgres://u@a:1,b:2/db", {}), PgHosts());
  EXPECT_EQ(hosts_of("postgres://u@a:1,b:2/db?hostaddr=10.0.0.1,10.0.0.2", {"b", "2"}), PgHosts());
  EXPECT_EQ(hosts_of("postgres://u@a,b/db", {"b", "5432"}), PgHosts());  // No ports: as it says.
  EXPECT_EQ(hosts_of("postgres:///db", {"/run/postgresql", "5432"}), PgHosts());
  EXPECT_EQ(hosts_of("no url", {"a", "1"}), PgHosts());
}

}  // namespace
}  // namespace dunlin::postgres
