// HTTP/1.1 as a server reads and writes it: bytes to heads and bodies, replies to bytes. No
// sockets. A body is handed on as it comes and never kept whole; everything else is bounded. Pure;
// a reader belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "url/percent.h"

namespace dunlin::http {

inline constexpr size_t kHeadMax = 64 << 10;  // Request line and headers.
inline constexpr size_t kHeadersMax = 128;

// Names in lower case, values without spaces around them.
using Headers = std::vector<std::pair<std::string, std::string>>;

// Null if there is none of that name.
const std::string* find_header(const Headers& headers, std::string_view name);

struct HttpHead {
  std::string method;
  std::string path;  // As on the wire.
  Query query;       // Decoded.
  Headers headers;

  std::optional<uint64_t> length;  // Content-Length.
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;

  const std::string* header(std::string_view name) const { return find_header(headers, name); }
  std::string header_or(std::string_view name, std::string_view otherwise) const {
    const std::string* value = header(name);
    return std::string(value ? *value : otherwise);
  }
};

// Cuts what one client sends into requests. An error ends the connection: nothing after it can be
// trusted to be the beginning of a request.
class HttpReader {
 public:
  void feed(std::string_view bytes);

  // The next request's head, once it is here whole. REQUIRES: the last body was read to its end.
  Result<std::optional<HttpHead>> head();

  // Appends up to `max` bytes of the body to `out`; says whether that was the end of it.
  Result<bool> body(std::string& out, size_t max);

  size_t unread() const { return bytes_.size() - at_; }

 private:
  enum class State { head, plain, chunk_size, chunk, chunk_end, trailer };

  Result<void> chunk_step(std::string& out, size_t max, bool& waits);
  std::optional<std::string_view> line(size_t max, bool& too_long);
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }
  void consume(size_t count);

  std::string bytes_;
  size_t at_ = 0;  // What was read stands before it.
  State state_ = State::head;
  size_t searched_ = 0;     // Of the rest: no head ends there.
  size_t empty_lines_ = 0;  // Before this head.
  uint64_t left_ = 0;       // Of the body, or of its chunk.
  size_t trailer_bytes_ = 0;
};

struct HttpReply {
  int status = 200;
  Headers headers;
  std::string body;
  std::optional<uint64_t> length;  // Of a body that follows by itself, or that HEAD only tells of.
};

std::string http_time(int64_t ms);  // "Mon, 12 Oct 2009 17:50:30 GMT"

// Appends status line, headers and body.
void append_reply(const HttpReply& reply, bool keep_alive, std::string& out);

}  // namespace dunlin::http
