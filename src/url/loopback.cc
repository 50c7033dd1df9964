#include "url/loopback.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <string>

namespace dunlin {
namespace {

constexpr size_t kFour = 4;
constexpr size_t kSix = 16;
constexpr uint8_t kLoopbackNet = 127;
constexpr std::array<uint8_t, kSix - kFour> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<uint8_t, kSix> kSelf = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

bool is_loopback(std::span<const uint8_t> address) {
  if (address.size() == kFour) return address[0] == kLoopbackNet;
  if (address.size() != kSix) return false;
  if (std::ranges::equal(address.first(kMapped.size()), kMapped)) {
    return address[kMapped.size()] == kLoopbackNet;
  }
  return std::ranges::equal(address, kSelf);
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  if (text.find('\0') != std::string::npos) return false;
  std::array<uint8_t, kSix> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return is_loopback(std::span(bytes).first(kFour));
  }
  return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1 && is_loopback(bytes);
}

}  // namespace dunlin
