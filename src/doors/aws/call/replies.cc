#include "doors/aws/call/replies.h"

#include "base/digest.h"

namespace dunlin::aws {

http::HttpReply json_reply(int status, const json& body) {
  return {.status = status,
          .headers = {{"content-type", "application/x-amz-json-1.0"},
                      {"x-amzn-requestid", hex(random_bytes(16))}},
          .body = dump(body),
          .length = {}};
}

http::HttpReply xml_reply(int status, const Xml& xml) {
  return {
      .status = status,
      .headers = {{"content-type", "application/xml"}, {"x-amz-request-id", hex(random_bytes(8))}},
      .body = xml.text(),
      .length = {}};
}

http::HttpReply json_error(int status, std::string_view type, std::string_view message) {
  const json body = {{"__type", type}, {"message", message}};
  return json_reply(status, body);
}

http::HttpReply s3_error(int status, std::string_view code, std::string_view message) {
  Xml xml;
  xml.open("Error").leaf("Code", code).leaf("Message", message);
  xml.leaf("RequestId", hex(random_bytes(8))).close("Error");
  return xml_reply(status, xml);
}

}  // namespace dunlin::aws
