#include "wire/convert.h"

#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/enum_table.h"

namespace dunlin {

Result<void> check_count(int count, const char* what) {
  if (static_cast<size_t>(count) <= kBatchMax) return {};
  return Error{Code::invalid,
               fmt::format("{} {} in one call, at most {} are allowed", count, what, kBatchMax)};
}

void put_leases(const std::vector<Lease>& leases, WireLeases& to) {
  to.Reserve(static_cast<int>(leases.size()));
  for (const Lease& lease : leases) {
    wire::Lease& one = *to.Add();
    one.set_id(lease.id);
    one.set_token(lease.token);
  }
}

Lease lease_from(wire::Lease& from) {
  return {.id = std::move(*from.mutable_id()), .token = from.token()};
}

Result<std::vector<Lease>> leases_from(WireLeases& from) {
  TRY(check_count(from.size(), "leases"));
  return take_all(from, lease_from);
}

wire::Status status_of(Code code) {
  switch (code) {
    case Code::invalid:
      return wire::STATUS_INVALID;
    case Code::not_found:
      return wire::STATUS_NOT_FOUND;
    case Code::conflict:
      return wire::STATUS_CONFLICT;
    case Code::denied:
      return wire::STATUS_DENIED;
    case Code::full:
      return wire::STATUS_FULL;
    case Code::unavailable:
      return wire::STATUS_UNAVAILABLE;
    case Code::corrupt:
      return wire::STATUS_CORRUPT;
    case Code::unsupported:
      return wire::STATUS_UNSUPPORTED;
  }
  CHECK(false);
  return wire::STATUS_INVALID;
}

constexpr std::array<std::optional<Code>, 9> kCodes = {
    std::nullopt,       // STATUS_OK
    Code::invalid,      // STATUS_INVALID
    Code::not_found,    // STATUS_NOT_FOUND
    Code::conflict,     // STATUS_CONFLICT
    Code::denied,       // STATUS_DENIED
    Code::full,         // STATUS_FULL
    Code::unavailable,  // STATUS_UNAVAILABLE
    Code::corrupt,      // STATUS_CORRUPT
    Code::unsupported,  // STATUS_UNSUPPORTED
};
static_assert(kCodes.size() == wire::Status_ARRAYSIZE);

std::optional<Code> code_of(wire::Status status) { return entry_of(kCodes, status); }

}  // namespace dunlin
