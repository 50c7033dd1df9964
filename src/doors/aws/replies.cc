#include "doors/aws/replies.h"

#include "base/digest.h"

namespace dunlin::aws {

HttpReply json_reply(int status, const json& body) {
  return {.status = status,
          .headers = {{"content-type", "application/x-amz-json-1.0"},
                      {"x-amzn-requestid", hex(random_bytes(16))}},
          .body = dump(body),
          .length = {}};
}

HttpReply xml_reply(int status, const Xml& xml) {
  return {
      .status = status,
      .headers = {{"content-type", "application/xml"}, {"x-amz-request-id", hex(random_bytes(8))}},
      .body = xml.text(),
      .length = {}};
}

}  // namespace dunlin::aws
