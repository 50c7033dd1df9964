// The replies of the door in the two languages of AWS's protocols, each with the id of a request.
// From any thread.
#pragma once

#include <string_view>

#include "aws_protocol/json.h"
#include "aws_protocol/xml.h"
#include "http/http.h"

namespace dunlin::aws {

http::HttpReply json_reply(int status, const json& body);
http::HttpReply xml_reply(int status, const Xml& xml);

http::HttpReply json_error(int status, std::string_view type, std::string_view message);
http::HttpReply s3_error(int status, std::string_view code, std::string_view message);

// For errors that all JSON services share.
inline constexpr std::string_view kCommonErrors = "com.amazon.coral.service#";

}  // namespace dunlin::aws
