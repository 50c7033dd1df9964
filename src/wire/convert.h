// The values of store/request.h as messages of wire/dunlin.proto and back. Only for wire/codec.cc:
// this header brings in all of protobuf. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "store/request.h"
#include "wire/dunlin.pb.h"

namespace dunlin {

wire::Status status_of(Code code);
std::optional<Code> code_of(wire::Status status);  // Nothing for OK and for unknown numbers.

void to_proto(const Request& request, wire::Request& to);
void to_proto(const Answer& answer, wire::Answer& to);

// These take the strings out of `from`. `invalid` if there is no operation that we know, or if a
// list is longer than kBatchMax.
Result<Request> request_from(wire::Request& from);
Result<Answer> answer_from(wire::Answer& from);

// Parts of the above that requests and answers share.
using WireLeases = google::protobuf::RepeatedPtrField<wire::Lease>;
Result<void> check_count(int count, const char* what);
void put_leases(const std::vector<Lease>& leases, WireLeases& to);
Lease lease_from(wire::Lease& from);
Result<std::vector<Lease>> leases_from(WireLeases& from);

// Takes each element of a repeated field through `convert`, which returns a value.
template <typename Repeated, typename Convert>
auto take_all(Repeated& from, Convert convert) {
  std::vector<decltype(convert(*from.begin()))> all;
  all.reserve(static_cast<size_t>(from.size()));
  for (auto& one : from) all.push_back(convert(one));
  return all;
}

}  // namespace dunlin
