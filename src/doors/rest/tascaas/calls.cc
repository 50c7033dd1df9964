#include "doors/rest/tascaas/calls.h"

#include <charconv>

namespace dunlin::rest {

Given given(const Call& call, std::string_view name, int64_t least, uint64_t most) {
  Given given;
  const std::string* text = call.query(name);
  if (text == nullptr || text->empty()) return given;
  given.missing = false;
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failed != std::errc() || end != text->data() + text->size()) return given;
  if (number > 0 && static_cast<uint64_t>(number) > most) return given;
  given.said = number;
  if (number >= least && number >= 0) given.number = static_cast<uint64_t>(number);
  return given;
}

http::HttpReply unknown_infrastructure() { return plain_text(401, "Unknown worker ID"); }

}  // namespace dunlin::rest
