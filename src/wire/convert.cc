#include "wire/convert.h"

#include <fmt/format.h>
#include <utility>

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

std::optional<Code> code_of(wire::Status status) {
  switch (status) {
    case wire::STATUS_INVALID:
      return Code::invalid;
    case wire::STATUS_NOT_FOUND:
      return Code::not_found;
    case wire::STATUS_CONFLICT:
      return Code::conflict;
    case wire::STATUS_DENIED:
      return Code::denied;
    case wire::STATUS_FULL:
      return Code::full;
    case wire::STATUS_UNAVAILABLE:
      return Code::unavailable;
    case wire::STATUS_CORRUPT:
      return Code::corrupt;
    case wire::STATUS_UNSUPPORTED:
      return Code::unsupported;
    default:
      return std::nullopt;
  }
}

}  // namespace dunlin
