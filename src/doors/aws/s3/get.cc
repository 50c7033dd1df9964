// Reading an object of S3: conditions, ranges, and its bytes as the client takes them.
#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <fmt/format.h>

#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

struct Range {
  uint64_t first = 0;
  uint64_t size = 0;
};

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// bytes=A-B, bytes=A- and bytes=-N. A header that is none of these is as if it were not there;
// `satisfiable` is false if it asks for bytes beyond the end.
std::optional<Range> range_of(const std::string& header, uint64_t size, bool& satisfiable) {
  satisfiable = true;
  std::string_view text = header;
  if (!text.starts_with("bytes=") || text.find(',') != std::string_view::npos) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> first = number(text.substr(0, dash));
  const std::optional<uint64_t> last = number(text.substr(dash + 1));
  if (dash == 0 && last) {
    satisfiable = *last > 0 && size > 0;
    const uint64_t some = std::min(*last, size);
    return Range{size - some, some};
  }
  if (!first || (dash + 1 < text.size() && (!last || *last < *first))) return std::nullopt;
  satisfiable = *first < size;
  if (!satisfiable) return std::nullopt;
  return Range{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

bool names_etag(const std::string& header, const std::string& etag) {
  return header == "*" || header.find(etag) != std::string::npos;
}

// Of "Mon, 12 Oct 2009 17:50:30 GMT", in seconds; nothing if it is no such time.
std::optional<int64_t> seconds_of(const std::string& text) {
  std::tm time{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&time);
}

http::Headers reply_headers(const Call& call, const S3Object& object) {
  constexpr std::array<std::string_view, 6> kOverrides = {"cache-control",    "content-disposition",
                                                          "content-encoding", "content-language",
                                                          "content-type",     "expires"};
  json kept = object.headers;
  if (!kept.contains("content-type")) kept["content-type"] = "binary/octet-stream";
  for (const std::string_view name : kOverrides) {
    if (const auto* value = parameter(call, fmt::format("response-{}", name))) {
      kept[std::string(name)] = *value;
    }
  }
  http::Headers headers = {{"etag", fmt::format("\"{}\"", object.etag)},
                           {"last-modified", http::http_time(object.changed_ms)},
                           {"accept-ranges", "bytes"}};
  for (const auto& [name, value] : kept.items()) {
    if (const auto* text = value.get_ptr<const std::string*>()) headers.emplace_back(name, *text);
  }
  return headers;
}

struct GetState final : CallState {
  // A reader that has begun gets the object to its end, whatever becomes of it meanwhile.
  GetState(Call& read_by, std::vector<Piece> read) : call(read_by), pieces(std::move(read)) {
    for (const Piece& each : pieces) call.hold(each.blob);
  }
  ~GetState() override {
    for (const Piece& each : pieces) call.release(each.blob);
  }
  GetState(const GetState&) = delete;
  GetState& operator=(const GetState&) = delete;

  Call& call;
  const std::vector<Piece> pieces;
  size_t piece = 0;
  uint64_t offset = 0;  // In the piece.
  uint64_t left = 0;
};

void send_some(Call& call, GetState& state) {
  while (state.piece < state.pieces.size() && state.offset >= state.pieces[state.piece].size) {
    state.offset -= state.pieces[state.piece++].size;
  }
  if (state.left == 0) return call.finish();
  if (state.piece == state.pieces.size()) return call.abort();
  const Piece& piece = state.pieces[state.piece];
  const uint64_t some = std::min<uint64_t>({kBlobPart, state.left, piece.size - state.offset});
  call.ask(BlobGet{piece.blob, state.offset, some}, [&call, &state](Answer&& answer) {
    const auto* bytes = std::get_if<Bytes>(&answer);
    // It cannot be read: the client sees too few bytes.
    if (!bytes || bytes->bytes.empty()) return call.abort();
    state.offset += bytes->bytes.size();
    state.left -= std::min<uint64_t>(state.left, bytes->bytes.size());
    call.write(bytes->bytes, [&call, &state] { send_some(call, state); });
  });
}

// A client that goes on with what it has of an object gets all of it if that is another one now.
const std::string* range_asked(const Call& call, const S3Object& object) {
  const std::string* same = call.head().header("if-range");
  const bool changed = same && *same != fmt::format("\"{}\"", object.etag) &&
                       *same != http::http_time(object.changed_ms);
  return changed ? nullptr : call.head().header("range");
}

void send(Call& call, const S3Object& object) {
  http::HttpReply reply{.status = status_by_conditions(call, object),
                        .headers = reply_headers(call, object),
                        .body = "",
                        .length = object.size};
  if (reply.status == 412) {
    return s3_fail(call, 412, "PreconditionFailed",
                   "the object is not as a condition of the request wants it");
  }
  if (reply.status == 304) return call.reply(std::move(reply));
  Range range{0, object.size};
  if (const std::string* header = range_asked(call, object)) {
    bool satisfiable = true;
    const std::optional<Range> asked = range_of(*header, object.size, satisfiable);
    if (!satisfiable) {
      return s3_fail(call, 416, "InvalidRange",
                     fmt::format("the object has only {} bytes", object.size));
    }
    if (asked) {
      range = *asked;
      reply.status = 206;
      reply.length = range.size;
      reply.headers.emplace_back(
          "content-range",
          fmt::format("bytes {}-{}/{}", range.first, range.first + range.size - 1, object.size));
    }
  }
  const std::string* mode = header_or_parameter(call, "x-amz-checksum-mode");
  if (reply.status == 200 && object.checksum && mode && *mode == "ENABLED") {
    add_checksum(reply.headers, *object.checksum);
  }
  if (call.head().method == "HEAD") return call.reply(std::move(reply));
  GetState& state = call.keep(std::make_unique<GetState>(call, object.pieces));
  state.offset = range.first;
  state.left = range.size;
  call.begin(std::move(reply));
  send_some(call, state);
}

}  // namespace

int status_by_conditions(const Call& call, const S3Object& object, std::string_view begin) {
  const auto said = [&](std::string_view name) {
    return call.head().header(fmt::format("{}{}", begin, name));
  };
  const int64_t changed_s = object.changed_ms / 1000;
  const std::string* match = said("if-match");
  const std::string* none = said("if-none-match");
  if (match && !names_etag(*match, object.etag)) return 412;
  if (const std::string* until = said("if-unmodified-since"); until && !match) {
    if (changed_s > seconds_of(*until).value_or(changed_s)) return 412;
  }
  if (none) return names_etag(*none, object.etag) ? 304 : 200;
  if (const std::string* since = said("if-modified-since")) {
    if (changed_s <= seconds_of(*since).value_or(changed_s - 1)) return 304;
  }
  return 200;
}

void add_checksum(http::Headers& headers, const Checksum& checksum) {
  headers.emplace_back(checksum_header(checksum.kind), checksum.text);
  headers.emplace_back("x-amz-checksum-type", checksum.composite ? "COMPOSITE" : "FULL_OBJECT");
}

void add_checksum(Xml& xml, const Checksum& checksum) {
  xml.leaf(checksum_element(checksum.kind), checksum.text);
  xml.leaf("ChecksumType", checksum.composite ? "COMPOSITE" : "FULL_OBJECT");
}

void get_object(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_bucket(call, target.bucket, [&call, target] {
    with_object(call, target, [&call, target](const S3Object& object) {
      if (object.version == 0) {
        return s3_fail(call, 404, "NoSuchKey", fmt::format("there is no object '{}'", target.key));
      }
      send(call, object);
    });
  });
}

}  // namespace dunlin::aws
