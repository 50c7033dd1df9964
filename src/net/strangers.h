// Connections that have not said who they are, or have nothing to say, in the order in which they
// began to be so: whom to drop when there are too many, of all or of one address. One thread.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <optional>
#include <string>

#include "net/address.h"

namespace dunlin::net {

// What connections of one machine have in common: its address, or of IPv6 the network.
std::string origin_of(const Address& address);

class Strangers {
 public:
  // REQUIRES: not here yet
  void add(uint64_t id, const std::string& origin);
  void remove(uint64_t id);  // Not here is fine.

  // The one that is here for longest.
  std::optional<uint64_t> oldest() const;
  std::optional<uint64_t> oldest_of(const std::string& origin) const;

  size_t count() const { return all_.size(); }
  size_t count_of(const std::string& origin) const;

 private:
  using Order = absl::btree_map<uint64_t, uint64_t>;  // By when they came.
  struct Stranger {
    std::string origin;
    uint64_t place = 0;
  };

  static std::optional<uint64_t> first(const Order& order) {
    return order.empty() ? std::nullopt : std::optional(order.begin()->second);
  }

  uint64_t last_place_ = 0;
  absl::flat_hash_map<uint64_t, Stranger> all_;
  Order order_;
  absl::flat_hash_map<std::string, Order> origins_;
};

}  // namespace dunlin::net
