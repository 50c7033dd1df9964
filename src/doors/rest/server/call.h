// One request as its handler sees it: what was asked, the body as it comes, and the reply, whole or
// in pieces. Lives as long as the handler runs; one thread.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "doors/rest/server/connection.h"
#include "doors/rest/server/route.h"
#include "doors/rest/server/service_cache.h"
#include "doors/rest/server/stream_limit.h"
#include "http/http.h"

namespace dunlin::rest {

// What handlers know of the service they run in.
struct Setting {
  const Clock& clock;
  ServiceCache& cache;
  bool tls = false;
  std::string public_url = {};  // What clients put in front of paths; empty: what they used.
  uint64_t upload_max = uint64_t{1} << 30U;
  const std::vector<Family>* families = nullptr;  // All routes, for a document about them.
  StreamLimit* streams = nullptr;
};

// "http://host[:port][/path]" without a slash at the end; `invalid` if it is not such a URL.
Result<std::string> check_public_url(const std::string& url);

struct CallLimits {
  Millis body_stall = std::chrono::seconds(30);  // Without a byte of a body.
  Millis body_max = std::chrono::hours(1);       // For a whole body.
  Millis send_stall = std::chrono::seconds(30);  // Without taking a byte of the reply.
};

// Whom a call is from.
struct Peer {
  Connection& connection;
  http::HttpReader& reader;
  int stopping = -1;  // Can be read when the service stops.
};

class Call {
 public:
  // All that it refers to must outlive it.
  Call(const Setting& setting, const CallLimits& limits, const Peer& peer, http::HttpHead head,
       Match match);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Setting& setting() const { return setting_; }
  const http::HttpHead& head() const { return head_; }
  const Match& match() const { return match_; }
  WallTime now() const { return setting_.clock.wall(); }

  // Null if there is none. Of several in the query the last one counts.
  const std::string* parameter(In in, std::string_view name) const;
  const std::string* query(std::string_view name) const { return parameter(In::query, name); }
  // REQUIRES: the route's pattern has it.
  const std::string& path(std::string_view name) const;
  // A number that was checked, or `otherwise`.
  int64_t number(std::string_view name, int64_t otherwise) const;

  // "http://host:port/prefix", under which clients reach the routes of this family.
  std::string base_url() const;

  // The token of "Authorization: Bearer ...".
  std::optional<std::string> bearer() const;

  // Appends some of the body; false if there is no more. The first call sends the "100 Continue"
  // that a client may wait for.
  Result<bool> read_some(std::string& into);
  // All of it. `full` if there is more than `max`; `unavailable` if all requests together keep too
  // much, or it comes too slowly.
  Result<std::string> read_body(size_t max);
  // What is left of the body is to come by then.
  void end_body_by(Instant time) { body_by_ = std::min(body_by_, time); }
  // Before so much is made of the body, or of the reply: the same as for reading it.
  Result<void> take_memory(size_t bytes);

  // A whole reply. REQUIRES: none was begun. `unavailable`, and none is begun, if it is large and
  // all requests together keep too much.
  Result<void> reply(http::HttpReply reply);
  Result<void> reply(int status, std::string_view type, std::string body);

  // A reply in pieces: begin, any number of sends, end. Without a length the pieces are chunks.
  Result<void> begin(int status, http::Headers headers, std::optional<uint64_t> length = {});
  Result<void> send(std::string_view bytes);
  Result<void> end();

  // For a reply without end: whether the client has left, or the service stops.
  bool should_end() const;
  // Waits for `time`, but not if should_end().
  void pause(Millis time) const;

  bool begun() const { return begun_; }
  bool complete() const { return complete_; }    // The reply was sent whole.
  bool body_read() const { return body_done_; }  // Nothing of it is left unread.
  bool keeps_alive() const { return keep_alive_; }
  void close_after() { keep_alive_ = false; }

 private:
  Result<void> put(std::string_view bytes);

  const Setting& setting_;
  const CallLimits& limits_;
  const Peer peer_;
  const http::HttpHead head_;
  const Match match_;
  Instant body_by_;
  Budget::Share share_;
  bool keep_alive_;
  bool continued_ = false;
  bool body_done_ = false;
  bool begun_ = false;
  bool chunked_ = false;
  bool complete_ = false;
};

}  // namespace dunlin::rest
