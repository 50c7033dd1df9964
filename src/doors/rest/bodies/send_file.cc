#include "doors/rest/bodies/send_file.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "doors/rest/server/problem.h"
#include "http/http.h"
#include "store/request.h"

namespace dunlin::rest {
namespace {

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// A file that was replaced has another tag: each has bytes of its own.
std::string tag_of(const tascaas::File& file) {
  return fmt::format("\"{}\"", file.blob().substr(file.blob().rfind('/') + 1));
}

// The part that is wanted, unless it was to be of what the file was before.
std::optional<ByteRange> wanted(const Call& call, const tascaas::File& file) {
  const std::string* range = call.head().header("range");
  if (range == nullptr) return {};
  const std::string* same = call.head().header("if-range");
  const bool changed =
      same != nullptr && *same != tag_of(file) && *same != http::http_time(file.modified_ms());
  return changed ? std::nullopt : read_range(*range, file.size());
}

}  // namespace

std::optional<ByteRange> read_range(std::string_view header, uint64_t size) {
  constexpr std::string_view kBytes = "bytes=";
  if (!header.starts_with(kBytes)) return {};
  header.remove_prefix(kBytes.size());
  const size_t dash = header.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view from = header.substr(0, dash);
  const std::string_view to = header.substr(dash + 1);
  const auto first = number(from);
  const auto last = number(to);
  if (from.empty() && last) {
    return *last == 0 ? ByteRange{} : ByteRange{size - std::min(*last, size), size};
  }
  if (!first || (!to.empty() && !last) || (last && *last < *first)) return {};
  if (*first >= size) return ByteRange{};
  return ByteRange{*first, last && *last < size ? *last + 1 : size};
}

Result<void> send_file(Call& call, Store& store, const tascaas::File& file, Style style) {
  http::Headers headers = {{"content-type", "application/octet-stream"},
                           {"x-content-type-options", "nosniff"},
                           {"accept-ranges", "bytes"},
                           {"etag", tag_of(file)},
                           {"last-modified", http::http_time(file.modified_ms())}};
  const std::optional<ByteRange> part = wanted(call, file);
  if (part && part->first == part->last) {
    const std::string why = fmt::format("the file has {} bytes", file.size());
    http::HttpReply none =
        style == Style::plain ? plain_text(416, why) : problem(416, name_of(Code::invalid), why);
    none.headers.emplace_back("content-range", fmt::format("bytes */{}", file.size()));
    return call.reply(std::move(none));
  }
  const ByteRange range = part.value_or(ByteRange{0, file.size()});
  if (part) {
    headers.emplace_back("content-range",
                         fmt::format("bytes {}-{}/{}", range.first, range.last - 1, file.size()));
  }
  TRY(call.begin(part ? 206 : 200, std::move(headers), range.last - range.first));
  for (uint64_t offset = range.first; offset < range.last;) {
    const size_t most = std::min<uint64_t>(kBlobPart, range.last - offset);
    const std::string bytes = TRY(store.blobs().get(file.blob(), offset, most));
    if (bytes.empty()) return Error{Code::corrupt, "a blob is shorter than its row says"};
    TRY(call.send(bytes));
    offset += bytes.size();
  }
  return call.end();
}

}  // namespace dunlin::rest
