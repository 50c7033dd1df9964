// What goes to a PostgreSQL server with a statement and what comes back, both in its binary format.
// No I/O: pure.
#pragma once

#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin::postgres {

class PgParams {
 public:
  PgParams& number(int64_t value);
  PgParams& text(std::string_view value);
  PgParams& numbers(const std::vector<int64_t>& values);
  PgParams& texts(const std::vector<std::string_view>& values);
  PgParams& bytes(const std::vector<std::string_view>& values);

  const std::vector<std::string>& values() const { return values_; }

 private:
  PgParams& array(uint32_t type, const std::vector<std::string_view>& values);

  std::vector<std::string> values_;
};

class PgRows {
 public:
  explicit PgRows(PGresult* result) : result_(result, &PQclear) {}

  int size() const { return PQntuples(result_.get()); }
  int64_t number(int row, int column) const;
  std::string_view text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  bool null(int row, int column) const { return PQgetisnull(result_.get(), row, column) == 1; }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

}  // namespace dunlin::postgres
