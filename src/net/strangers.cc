#include "net/strangers.h"

#include <cstring>
#include <netinet/in.h>

#include "base/check.h"

namespace dunlin::net {
namespace {

constexpr size_t kNetwork = 8;  // Bytes of an IPv6 address: the rest is for one user to choose.

}  // namespace

std::string origin_of(const Address& address) {
  if (address.socket.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address.socket, sizeof(four));
    return {reinterpret_cast<const char*>(&four.sin_addr), sizeof(four.sin_addr)};
  }
  if (address.socket.ss_family != AF_INET6) return "";
  sockaddr_in6 six{};
  std::memcpy(&six, &address.socket, sizeof(six));
  const auto* bytes = reinterpret_cast<const char*>(&six.sin6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return {bytes + 12, 4};
  return {bytes, kNetwork};
}

void Strangers::add(uint64_t id, const std::string& origin) {
  const uint64_t place = ++last_place_;
  CHECK(all_.emplace(id, Stranger{origin, place}).second);
  order_.emplace(place, id);
  origins_[origin].emplace(place, id);
}

void Strangers::remove(uint64_t id) {
  const auto node = all_.extract(id);
  if (node.empty()) return;
  const Stranger& stranger = node.mapped();
  order_.erase(stranger.place);
  const auto origin = origins_.find(stranger.origin);
  origin->second.erase(stranger.place);
  if (origin->second.empty()) origins_.erase(origin);
}

std::optional<uint64_t> Strangers::oldest() const { return first(order_); }

std::optional<uint64_t> Strangers::oldest_of(const std::string& origin) const {
  const auto found = origins_.find(origin);
  return found == origins_.end() ? std::nullopt : first(found->second);
}

size_t Strangers::count_of(const std::string& origin) const {
  const auto found = origins_.find(origin);
  return found == origins_.end() ? 0 : found->second.size();
}

}  // namespace dunlin::net
