#include "http/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "base/env.h"

namespace dunlin::http {
namespace {

constexpr size_t kChunkLineMax = 1024;
constexpr size_t kEmptyLinesMax = 16;  // Before a request: some clients end a body with one.

// Of two of these a proxy may take the one and we the other.
constexpr std::array<std::string_view, 6> kOnce = {
    "host", "authorization", "content-type", "x-amz-target", "x-amz-date", "x-amz-content-sha256"};

Error broken(std::string_view what) {
  return {Code::invalid, fmt::format("it does not speak HTTP/1.1: {}", what)};
}

bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> number(std::string_view text, int base) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// "http://host:port/path", as clients send it that take us for a proxy: this host counts, whatever
// the header says.
void take_authority(std::string_view& target, std::string& host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower(target.substr(0, scheme.size())) != scheme) continue;
    const size_t path = target.find('/', scheme.size());
    if (path == std::string_view::npos || path == scheme.size()) return;
    host = target.substr(scheme.size(), path - scheme.size());
    target.remove_prefix(path);
    return;
  }
}

Result<void> read_request_line(std::string_view line, HttpHead& head, std::string& host) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return broken("no request line");
  std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return broken("another version");
  head.keep_alive = version == "HTTP/1.1";
  head.method = line.substr(0, first);
  take_authority(target, host);
  if (!is_token(head.method) || !target.starts_with('/')) return broken("a strange request line");
  for (const char c : target) {
    if (c <= ' ' || c == 0x7f) return broken("a target with spaces or controls");
  }
  const size_t question = std::min(target.find('?'), target.size());
  head.path = target.substr(0, question);
  std::optional<Query> query = parse_query(target.substr(std::min(target.size(), question + 1)));
  if (!query) return broken("a query with a % that encodes nothing");
  head.query = std::move(*query);
  return {};
}

Result<void> note_header(HttpHead& head, const std::string& name, const std::string& value) {
  if (name == "content-length") {
    const std::optional<uint64_t> length = number(value, 10);
    if (!length || (head.length && head.length != length)) return broken("a strange length");
    head.length = length;
  } else if (name == "transfer-encoding") {
    if (lower(value) != "chunked" || head.chunked) return broken("an unknown transfer encoding");
    head.chunked = true;
  } else if (name == "connection") {
    const std::string words = lower(value);
    if (words.find("close") != std::string::npos) head.keep_alive = false;
    if (words.find("keep-alive") != std::string::npos) head.keep_alive = true;
  } else if (name == "expect") {
    head.expects_continue = lower(value) == "100-continue";
  }
  return {};
}

Result<void> read_header_line(std::string_view line, HttpHead& head) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return broken("a header without a name");
  }
  if (head.headers.size() == kHeadersMax) return broken("too many headers");
  std::string name = lower(line.substr(0, colon));
  std::string value(trim(line.substr(colon + 1)));
  for (const char c : value) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
      return broken("a header with controls");
    }
  }
  if (std::ranges::find(kOnce, name) != kOnce.end() && head.header(name)) {
    return broken(fmt::format("two headers {}", name));
  }
  Result<void> noted = note_header(head, name, value);
  head.headers.emplace_back(std::move(name), std::move(value));
  return noted;
}

Result<HttpHead> parse_head(std::string_view text) {
  HttpHead head;
  std::string host;  // That the target names.
  bool first = true;
  const bool needs_host = text.substr(0, text.find("\r\n")).ends_with("HTTP/1.1");
  while (!text.empty()) {
    const size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    TRY(first ? read_request_line(line, head, host) : read_header_line(line, head));
    first = false;
    text.remove_prefix(end + 2);
  }
  const auto given =
      std::ranges::find(head.headers, "host", [](const auto& one) { return one.first; });
  if (given == head.headers.end() && needs_host) return broken("no header host");
  if (!host.empty() && given != head.headers.end()) head.headers.erase(given);
  if (!host.empty()) head.headers.emplace_back("host", host);
  // Two framings at once are how requests are smuggled past a proxy.
  if (head.chunked && head.length) return broken("a length and chunks");
  return head;
}

std::string_view reason_of(int status) {
  struct Named {
    int status;
    std::string_view reason;
  };
  static constexpr std::array<Named, 22> kReasons = {{{200, "OK"},
                                                      {201, "Created"},
                                                      {204, "No Content"},
                                                      {206, "Partial Content"},
                                                      {304, "Not Modified"},
                                                      {400, "Bad Request"},
                                                      {401, "Unauthorized"},
                                                      {403, "Forbidden"},
                                                      {404, "Not Found"},
                                                      {405, "Method Not Allowed"},
                                                      {409, "Conflict"},
                                                      {411, "Length Required"},
                                                      {412, "Precondition Failed"},
                                                      {413, "Content Too Large"},
                                                      {415, "Unsupported Media Type"},
                                                      {416, "Range Not Satisfiable"},
                                                      {429, "Too Many Requests"},
                                                      {500, "Internal Server Error"},
                                                      {501, "Not Implemented"},
                                                      {503, "Service Unavailable"},
                                                      {507, "Insufficient Storage"},
                                                      {0, "Unknown"}}};
  const auto* found = std::ranges::find(kReasons, status, &Named::status);
  return found == kReasons.end() ? "Unknown" : found->reason;
}

}  // namespace

// What was read goes once it is as much as what has to move: erased piece by piece, small pieces of
// many bytes would cost their square.
void HttpReader::feed(std::string_view bytes) {
  if (at_ >= unread()) bytes_.erase(0, std::exchange(at_, 0));
  bytes_ += bytes;
}

void HttpReader::consume(size_t count) {
  at_ += count;
  if (unread() > 0) return;
  bytes_.clear();
  at_ = 0;
}

Result<std::optional<HttpHead>> HttpReader::head() {
  CHECK(state_ == State::head);
  for (; rest().starts_with("\r\n"); consume(2)) {
    if (++empty_lines_ > kEmptyLinesMax) return broken("nothing but empty lines");
  }
  const size_t end = rest().find("\r\n\r\n", searched_);
  if (end > kHeadMax) {  // Or nowhere.
    if (unread() > kHeadMax) return broken("headers that are too long");
    searched_ = unread() - std::min<size_t>(unread(), 3);
    return std::optional<HttpHead>();
  }
  HttpHead head = TRY(parse_head(rest().substr(0, end + 2)));
  consume(end + 4);
  searched_ = 0;
  empty_lines_ = 0;
  left_ = head.length.value_or(0);
  trailer_bytes_ = 0;
  state_ = head.chunked ? State::chunk_size : State::plain;
  return std::optional(std::move(head));
}

// A line up to its end, without it. Nothing if it is not here yet.
std::optional<std::string_view> HttpReader::line(size_t max, bool& too_long) {
  const std::string_view most = rest().substr(0, max + 2);
  const size_t end = most.find("\r\n");
  too_long = end == std::string_view::npos && most.size() == max + 2;
  if (end == std::string_view::npos) return std::nullopt;
  return most.substr(0, end);
}

Result<void> HttpReader::chunk_step(std::string& out, size_t max, bool& waits) {
  bool too_long = false;
  switch (state_) {
    case State::chunk_size:
    case State::trailer: {
      const std::optional<std::string_view> text = line(kChunkLineMax, too_long);
      if (too_long) return broken("a chunk with a long head");
      if (!text) {
        waits = true;
        return {};
      }
      const size_t size = text->size();
      if (state_ == State::trailer) {
        trailer_bytes_ += size + 2;
        if (trailer_bytes_ > kHeadMax) return broken("trailers that are too long");
        if (size == 0) state_ = State::head;
      } else {
        const std::optional<uint64_t> length = number(trim(text->substr(0, text->find(';'))), 16);
        if (!length || *length > (uint64_t{1} << 48U)) return broken("a chunk without a size");
        left_ = *length;
        state_ = left_ == 0 ? State::trailer : State::chunk;
      }
      consume(size + 2);
      return {};
    }
    case State::chunk_end:
      waits = unread() < 2;
      if (waits) return {};
      if (!rest().starts_with("\r\n")) return broken("a chunk longer than its size");
      consume(2);
      state_ = State::chunk_size;
      return {};
    case State::chunk:
    case State::head:     // body() does not come here between requests,
    case State::plain: {  // nor for a body of known length.
      const size_t some = std::min<uint64_t>({left_, unread(), max - out.size()});
      waits = some == 0;
      out += rest().substr(0, some);
      consume(some);
      left_ -= some;
      if (left_ == 0) state_ = State::chunk_end;
      break;
    }
  }
  return {};
}

Result<bool> HttpReader::body(std::string& out, size_t max) {
  if (state_ == State::head) return true;
  max += out.size();
  if (state_ == State::plain) {
    const size_t some = std::min<uint64_t>({left_, unread(), max - out.size()});
    out += rest().substr(0, some);
    consume(some);
    left_ -= some;
    if (left_ == 0) state_ = State::head;
  } else {
    for (bool waits = false; !waits && state_ != State::head;) {
      TRY(chunk_step(out, max, waits));
    }
  }
  return state_ == State::head;
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? nullptr : &found->second;
}

std::string http_time(int64_t ms) {
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                     "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const WallTime time{Millis(ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays.at(std::chrono::weekday(day).c_encoding()),
      static_cast<unsigned>(date.day()), kMonths.at(static_cast<unsigned>(date.month()) - 1),
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

void append_reply(const HttpReply& reply, bool keep_alive, std::string& out) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", reply.status,
                 reason_of(reply.status));
  for (const auto& [name, value] : reply.headers) {
    // What a client gave us to keep must not become a header of its own.
    out += name + ": ";
    for (const char c : value) out += c == '\r' || c == '\n' ? ' ' : c;
    out += "\r\n";
  }
  if (reply.status != 204 && reply.status != 304) {
    fmt::format_to(std::back_inserter(out), "content-length: {}\r\n",
                   reply.length.value_or(reply.body.size()));
  }
  out += keep_alive ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
  out += reply.body;
}

}  // namespace dunlin::http
