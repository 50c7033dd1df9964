#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr std::string_view kStars = "***";
constexpr std::array<std::string_view, 4> kSecret = {"password", "passwd", "secret", "token"};
constexpr std::array<std::string_view, 3> kParts = {",queue=", ",table=", ",blobs="};

// Which bytes of a text are secret.
using Marks = std::vector<bool>;

void mark(Marks& marks, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) marks[i] = true;
}

// A name that is percent-encoded is read by libpq all the same.
bool names_secret(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find('%') != std::string::npos ||
         std::ranges::any_of(kSecret, [&](std::string_view secret) {
           return lower.find(secret) != std::string::npos;
         });
}

void mark_parameters(std::string_view text, size_t begin, size_t end, Marks& marks) {
  size_t at = std::min(end, text.find('?', begin));
  while (at < end) {
    const size_t next = std::min(end, text.find('&', at + 1));
    const size_t equals = text.find('=', at + 1);
    if (equals < next && names_secret(text.substr(at + 1, equals - at - 1))) {
      mark(marks, equals + 1, next);
    }
    at = next;
  }
}

// Where '@HOST' was forgotten, the password stands where a port would.
void mark_ports(std::string_view text, size_t begin, size_t end, Marks& marks) {
  while (begin < end) {
    const size_t comma = std::min(end, text.find(',', begin));
    const size_t bracket = text.substr(begin, comma - begin).rfind(']');
    const size_t name = bracket == std::string_view::npos ? begin : begin + bracket;
    const size_t colon = std::min(comma, text.find(':', name));
    const std::string_view port = text.substr(colon, comma - colon);
    if (port.find_first_not_of(":0123456789") != std::string_view::npos) {
      mark(marks, colon + 1, comma);
    }
    begin = comma + 1;
  }
}

// Up to the last '@', as a password may have one that should have been written %40.
void mark_user(std::string_view text, size_t begin, size_t end, Marks& marks) {
  const std::string_view part = text.substr(begin, end - begin);
  if (part.starts_with("file:")) return;
  const size_t slashes = part.find("://");
  const size_t user = slashes == std::string_view::npos ? 0 : slashes + 3;
  const size_t at = part.rfind('@');
  if (slashes != std::string_view::npos && at == std::string_view::npos) {
    const size_t authority = std::min(part.size(), part.find_first_of("/?#", user));
    return mark_ports(text, begin + user, begin + authority, marks);
  }
  if (at == std::string_view::npos || at < user) return;
  // Of a hub's URL nothing stands before '@': if something does it is a token.
  const size_t colon = part.starts_with("dunlin") ? user : part.find(':', user) + 1;
  if (colon != 0 && colon < at) mark(marks, begin + colon, begin + at);
}

Marks secrets_of(std::string_view url) {
  Marks marks(url.size(), false);
  for (size_t begin = 0; begin < url.size();) {
    size_t end = url.size();
    for (const std::string_view name : kParts) end = std::min(end, url.find(name, begin));
    size_t start = begin;
    for (const std::string_view name : kParts) {
      const std::string_view bare = name.substr(1);
      if (url.substr(begin, end - begin).starts_with(bare)) start = begin + bare.size();
    }
    mark_user(url, start, end, marks);
    mark_parameters(url, start, end, marks);
    begin = end + 1;
  }
  return marks;
}

}  // namespace

std::string printable_url(std::string_view url) {
  const Marks marks = secrets_of(url);
  std::string shown;
  for (size_t i = 0; i < url.size(); ++i) {
    if (!marks[i]) shown += url[i];
    if (marks[i] && (i == 0 || !marks[i - 1])) shown += kStars;
  }
  return shown;
}

std::string quote_url(std::string_view url) { return quote(printable_url(url)); }

void cover_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    const size_t option = text.starts_with("--") ? text.find('=') + 1 : 0;
    const Marks marks = secrets_of(text.substr(option));
    for (size_t at = 0; at < marks.size(); ++at) {
      if (marks[at]) argv[i][option + at] = '*';
    }
  }
}

}  // namespace dunlin
