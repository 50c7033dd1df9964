#include "model/owned.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr size_t kFreshSize = 13;  // See make_job_id().
constexpr char kDot = '.';
constexpr std::string_view kReply = "reply.";

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

}  // namespace

bool is_owner(std::string_view text) {
  return text.size() <= kOwnerMax && is_name(text) && text.find(kDot) == std::string_view::npos;
}

std::string owned_job_id(std::string fresh, std::string_view owner) {
  if (owner.empty()) return fresh;
  return fmt::format("{}{}{}", fresh, kDot, owner);
}

bool is_job_id(std::string_view id) {
  if (id.size() < kFreshSize || !std::ranges::all_of(id.substr(0, kFreshSize), is_digit)) {
    return false;
  }
  return id.size() == kFreshSize || !owner_of_job(id).empty();
}

bool is_job_of(std::string_view owner, std::string_view id) {
  return !owner.empty() && is_job_id(id) && owner_of_job(id) == owner;
}

std::string_view owner_of_job(std::string_view id) {
  if (id.size() <= kFreshSize || id[kFreshSize] != kDot) return {};
  const std::string_view owner = id.substr(kFreshSize + 1);
  return is_owner(owner) ? owner : std::string_view();
}

std::string key_row(std::string_view job, std::string_view key) {
  const std::string_view owner = owner_of_job(job);
  if (owner.empty() || key.empty()) return std::string(key);
  return fmt::format("{}/{}", owner, key);
}

std::string reply_queue(std::string_view name, std::string_view owner) {
  return std::string(kReply) + owned_job_id(std::string(name), owner);
}

bool is_reply_queue_of(std::string_view owner, std::string_view queue) {
  if (owner.empty() || !queue.starts_with(kReply) || !queue.ends_with(owner)) return false;
  queue.remove_prefix(kReply.size());
  if (queue.size() <= owner.size() + 1) return false;  // There is no name.
  return queue[queue.size() - owner.size() - 1] == kDot;
}

Result<std::string> choose_owner(std::string_view bound, std::string_view named,
                                 std::string_view default_owner) {
  if (bound.empty()) return std::string(named.empty() ? default_owner : named);
  if (named.empty() || named == bound) return std::string(bound);
  return Error{Code::denied,
               fmt::format("the token is bound to the owner {0}: leave out the owner {1}, or use "
                           "a token made with `dunlin token --owner {1}`",
                           bound, quote(named))};
}

}  // namespace dunlin
