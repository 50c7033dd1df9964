// Errors of SQS, and how its Query protocol says them: the signature of a request is refused in its
// words before SQS sees the request. Pure; from any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "http/http.h"

namespace dunlin::aws {

// Why an operation was not done, as the JSON protocol names it.
struct SqsError {
  std::string type;
  std::string message;
  int status = 400;
};

// The dates of the Query protocol that are spoken here, today's first.
inline constexpr std::array<std::string_view, 3> kQueryVersions = {"2012-11-05", "2011-10-01",
                                                                   "2009-02-01"};

http::HttpReply query_error(const SqsError& error);
http::HttpReply query_reply(int status, std::string&& body, const std::string& request_id);

// How the Query protocol names an error of the JSON protocol.
std::string query_code(std::string_view type);

}  // namespace dunlin::aws
