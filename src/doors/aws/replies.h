// The replies of the door in the two languages of AWS's protocols, each with the id of a request.
// From any thread.
#pragma once

#include "aws_protocol/json.h"
#include "aws_protocol/xml.h"
#include "http/http.h"

namespace dunlin::aws {

HttpReply json_reply(int status, const json& body);
HttpReply xml_reply(int status, const Xml& xml);

}  // namespace dunlin::aws
