// Settings of buckets and objects that cannot be changed here, told as S3 tells those that nobody
// has changed: clients ask for them before and after what they came for.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "doors/aws/call/replies.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

struct Setting {
  std::string_view name;
  std::string_view document;  // Empty: there is no such setting.
  std::string_view error = {};
};

constexpr std::array<Setting, 13> kSettings = {{
    {"accelerate", "AccelerateConfiguration"},
    {"cors", "", "NoSuchCORSConfiguration"},
    {"encryption", "", "ServerSideEncryptionConfigurationNotFoundError"},
    {"lifecycle", "", "NoSuchLifecycleConfiguration"},
    {"location", "LocationConstraint"},
    {"logging", "BucketLoggingStatus"},
    {"notification", "NotificationConfiguration"},
    {"object-lock", "", "ObjectLockConfigurationNotFoundError"},
    {"ownershipControls", "", "OwnershipControlsNotFoundError"},
    {"policy", "", "NoSuchBucketPolicy"},
    {"publicAccessBlock", "", "NoSuchPublicAccessBlockConfiguration"},
    {"replication", "", "ReplicationConfigurationNotFoundError"},
    {"versioning", "VersioningConfiguration"},
}};

Xml access_list() {
  Xml xml;
  xml.open("AccessControlPolicy").open("Owner").leaf("ID", "dunlin").close("Owner");
  xml.open("AccessControlList").open("Grant");
  xml.open(
      "Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
      "xsi:type=\"CanonicalUser\"");
  xml.leaf("ID", "dunlin").leaf("DisplayName", "dunlin").close("Grantee");
  xml.leaf("Permission", "FULL_CONTROL").close("Grant").close("AccessControlList");
  xml.close("AccessControlPolicy");
  return xml;
}

Xml one_leaf(std::string_view document, std::string_view name, std::string_view value) {
  Xml xml;
  xml.open(document).leaf(name, value).close(document);
  return xml;
}

void answer(Call& call, bool of_object) {
  if (parameter(call, "acl")) return call.reply(xml_reply(200, access_list()));
  if (parameter(call, "tagging") && of_object) {
    Xml xml;
    xml.open("Tagging").open("TagSet").close("TagSet").close("Tagging");
    return call.reply(xml_reply(200, xml));
  }
  if (parameter(call, "tagging")) return s3_fail(call, 404, "NoSuchTagSet", "there are no tags");
  if (parameter(call, "policyStatus")) {
    return call.reply(xml_reply(200, one_leaf("PolicyStatus", "IsPublic", "false")));
  }
  if (parameter(call, "requestPayment")) {
    return call.reply(
        xml_reply(200, one_leaf("RequestPaymentConfiguration", "Payer", "BucketOwner")));
  }
  if (parameter(call, "website")) {
    return s3_fail(call, 404, "NoSuchWebsiteConfiguration", "the bucket is no website");
  }
  for (const Setting& setting : kSettings) {
    if (!parameter(call, setting.name)) continue;
    if (setting.document.empty()) {
      return s3_fail(call, 404, setting.error,
                     fmt::format("buckets of this hub have no {}", setting.name));
    }
    Xml xml;
    xml.open(setting.document).close(setting.document);
    return call.reply(xml_reply(200, xml));
  }
}

// Goes on if the bucket, and the object if one is named, exist.
void with_target(Call& call, const S3Target& target, std::function<void()> then) {
  with_bucket(call, target.bucket, [&call, target, then = std::move(then)] {
    if (target.key.empty()) return then();
    with_object(call, target, [&call, target, then](const S3Object& object) {
      if (object.version != 0) return then();
      s3_fail(call, 404, "NoSuchKey", fmt::format("there is no object '{}'", target.key));
    });
  });
}

}  // namespace

void answer_setting(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_target(call, target, [&call, of_object = !target.key.empty()] { answer(call, of_object); });
}

// PutAcl: everything is private, and stays so.
void keep_private(Call& call, const S3Target& target, std::string_view /*body*/) {
  if (header_or_parameter(call, "x-amz-acl") == nullptr) {
    return s3_fail(call, 501, "NotImplemented",
                   "S3 of this hub has no access lists: the only one to be set is "
                   "'x-amz-acl: private'");
  }
  with_target(call, target,
              [&call] { call.reply({.status = 200, .headers = {}, .body = "", .length = {}}); });
}

void remove_tags(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_target(call, target,
              [&call] { call.reply({.status = 204, .headers = {}, .body = "", .length = {}}); });
}

}  // namespace dunlin::aws
