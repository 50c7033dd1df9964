// What went wrong, as a client is told: the one place where our codes become HTTP's numbers. Pure.
#pragma once

#include "base/result.h"
#include "doors/rest/server/route.h"
#include "http/http.h"

namespace dunlin::rest {

int status_of(Code code);
std::string_view name_of(Code code);  // "not_found"

// application/problem+json (RFC 9457), with the code's name as "code".
http::HttpReply problem(int status, std::string_view code, std::string_view detail);
http::HttpReply problem(const Error& error);
http::HttpReply plain_text(int status, std::string text);

// As the clients of a style know it.
http::HttpReply error_reply(Style style, const Error& error);
http::HttpReply unknown_route(const Match& match, std::string_view method);

}  // namespace dunlin::rest
