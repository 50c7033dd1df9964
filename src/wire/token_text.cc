#include "wire/token_text.h"

#include <charconv>

namespace dunlin {
namespace {

constexpr std::string_view kPrefix = "d1.";

// The text before the first `mark`, which is taken away with it.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + 1);
  return before;
}

}  // namespace

bool TokenText::has_expired(WallTime now) const {
  const auto now_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  return expires_s != 0 && now_s >= expires_s;
}

std::optional<TokenText> parse_token_text(std::string_view token) {
  if (!token.starts_with(kPrefix)) return std::nullopt;
  token.remove_prefix(kPrefix.size());
  const auto rights = cut(token, '.');
  const auto expiry = cut(token, '.');
  const auto nonce = cut(token, '.');
  if (!rights || !expiry || !nonce || token.find('.') != std::string_view::npos) {
    return std::nullopt;
  }
  TokenText text;
  const char* end = expiry->data() + expiry->size();
  const auto parsed = std::from_chars(expiry->data(), end, text.expires_s);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  const size_t at = rights->find('@');
  text.scopes = rights->substr(0, at);
  if (at != std::string_view::npos) {
    text.owner = rights->substr(at + 1);
    if (text.owner.empty()) return std::nullopt;
  }
  return text;
}

std::string owner_in_token(std::string_view token) {
  const std::optional<TokenText> text = parse_token_text(token);
  return text ? text->owner : std::string();
}

}  // namespace dunlin
