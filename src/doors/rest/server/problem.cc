#include "doors/rest/server/problem.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"

namespace dunlin::rest {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "the request is wrong";
    case 401:
      return "a token is needed";
    case 403:
      return "not allowed";
    case 404:
      return "there is no such thing";
    case 405:
      return "not with this method";
    case 409:
      return "somebody else was first";
    case 413:
      return "too large";
    case 415:
      return "not of this type";
    case 429:
      return "a limit was reached";
    case 501:
      return "not with this store";
    case 503:
      return "try again";
    default:
      return "the service failed";
  }
}

}  // namespace

int status_of(Code code) {
  switch (code) {
    case Code::invalid:
      return 400;
    case Code::not_found:
      return 404;
    case Code::conflict:
      return 409;
    case Code::denied:
      return 403;
    case Code::full:
      return 429;
    case Code::unavailable:
      return 503;
    case Code::unsupported:
      return 501;
    case Code::corrupt:
      return 500;
  }
  CHECK(false);
  return 500;
}

std::string_view name_of(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::conflict:
      return "conflict";
    case Code::denied:
      return "denied";
    case Code::full:
      return "full";
    case Code::unavailable:
      return "unavailable";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
  }
  CHECK(false);
  return "";
}

http::HttpReply problem(int status, std::string_view code, std::string_view detail) {
  nlohmann::ordered_json body;
  body["type"] = "about:blank";
  body["title"] = title_of(status);
  body["status"] = status;
  body["code"] = code;
  body["detail"] = detail;
  http::HttpReply reply{.status = status,
                        .headers = {{"content-type", "application/problem+json"}},
                        .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                        .length = {}};
  if (status == 401) reply.headers.emplace_back("www-authenticate", "Bearer");
  if (status == 503 || status == 429) reply.headers.emplace_back("retry-after", "1");
  return reply;
}

http::HttpReply problem(const Error& error) {
  return problem(status_of(error.code), name_of(error.code), error.what);
}

http::HttpReply plain_text(int status, std::string text) {
  return {.status = status,
          .headers = {{"content-type", "text/plain; charset=utf-8"}},
          .body = std::move(text),
          .length = {}};
}

http::HttpReply error_reply(Style style, const Error& error) {
  if (style == Style::problem) return problem(error);
  return plain_text(status_of(error.code), error.what);
}

http::HttpReply unknown_route(const Match& match, std::string_view method) {
  if (match.family == nullptr || match.family->style == Style::plain) {
    return {.status = 403,
            .headers = {{"content-type", "application/json"}},
            .body = R"({"message":"Missing Authentication Token"})",
            .length = {}};
  }
  if (!match.path_known) return problem(404, "not_found", "there is no such path");
  http::HttpReply reply =
      problem(405, "invalid", fmt::format("this path does not answer to {}", quote(method)));
  reply.headers.emplace_back("allow", match.allowed);
  return reply;
}

}  // namespace dunlin::rest
