// S3's operations on buckets, but for listing their objects (s3_list.cc).
#include <algorithm>
#include <fmt/format.h>

#include "aws/keys.h"
#include "aws/s3.h"

namespace dunlin::aws {
namespace {

constexpr size_t kListMax = 10'000;

bool is_bucket_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

void reply_empty(Call& call, int status, Headers headers = {}) {
  call.reply({.status = status, .headers = std::move(headers), .body = "", .length = {}});
}

void create(Call& call, const std::string& bucket) {
  if (!is_bucket_name(bucket)) {
    return s3_fail(call, 400, "InvalidBucketName", "a bucket name has 3 to 63 of a-z 0-9 - and .");
  }
  const json value = {{"created_ms", call.wall().time_since_epoch().count()}};
  call.ask(Commit{0, {Put{std::string(kS3Table), bucket, dump(value), 0}}},
           [&call, bucket](Answer&& answer) {
             const auto* error = std::get_if<Error>(&answer);
             if (error && error->code == Code::conflict) {
               return s3_fail(call, 409, "BucketAlreadyOwnedByYou",
                              fmt::format("the bucket '{}' exists already", bucket));
             }
             if (error) return s3_fail(call, *error);
             reply_empty(call, 200, {{"location", "/" + bucket}});
           });
}

void remove(Call& call, const std::string& bucket) {
  with_bucket(call, bucket, [&call, bucket] {
    call.ask(Scan{bucket_table(bucket), "", "", 1}, [&call, bucket](Answer&& answer) {
      const auto* rows = s3_expect<Rows>(call, answer);
      if (!rows) return;
      if (!rows->rows.empty()) {
        return s3_fail(call, 409, "BucketNotEmpty",
                       fmt::format("the bucket '{}' has objects: they must go first", bucket));
      }
      call.ask(Commit{0, {Erase{std::string(kS3Table), bucket, kAnyVersion}}},
               [&call](Answer&& done) {
                 if (s3_expect<Committed>(call, done)) reply_empty(call, 204);
               });
    });
  });
}

struct BucketsState final : CallState {
  std::vector<Row> rows;
};

void reply_buckets(Call& call, const BucketsState& state) {
  Xml xml;
  xml.open("ListAllMyBucketsResult").open("Owner").leaf("ID", "dunlin").close("Owner");
  xml.open("Buckets");
  for (const Row& row : state.rows) {
    const json value = parse_object(row.value).value_or(json::object());
    xml.open("Bucket").leaf("Name", row.key);
    xml.leaf("CreationDate", iso_time(number_or(value, "created_ms", 0))).close("Bucket");
  }
  xml.close("Buckets").close("ListAllMyBucketsResult");
  call.reply(xml_reply(200, xml));
}

void list_some(Call& call, BucketsState& state) {
  const std::string after = state.rows.empty() ? "" : state.rows.back().key;
  call.ask(Scan{std::string(kS3Table), "", after, 1000}, [&call, &state](Answer&& answer) {
    auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    if (rows->rows.empty() || state.rows.size() >= kListMax) return reply_buckets(call, state);
    for (Row& row : rows->rows) state.rows.push_back(std::move(row));
    list_some(call, state);
  });
}

void location(Call& call) {
  Xml xml;
  xml.open("LocationConstraint").close("LocationConstraint");
  call.reply(xml_reply(200, xml));
}

}  // namespace

void serve_s3_service(Call& call) {
  if (call.head().method != "GET") return not_implemented(call);
  list_some(call, call.keep(std::make_unique<BucketsState>()));
}

void serve_s3_bucket(Call& call, const S3Target& target, std::string_view body) {
  const std::string& method = call.head().method;
  if (method == "POST" && parameter(call, "delete")) return delete_objects(call, target, body);
  if (parameter(call, "uploads")) return serve_s3_multipart(call, target, body);
  if (method == "PUT") return create(call, target.bucket);
  if (method == "DELETE") return remove(call, target.bucket);
  if (method == "HEAD") {
    return with_bucket(call, target.bucket, [&call] {
      reply_empty(call, 200, {{"x-amz-bucket-region", call.claim().scope.region}});
    });
  }
  if (method != "GET") return not_implemented(call);
  with_bucket(call, target.bucket, [&call, target] {
    parameter(call, "location") ? location(call) : serve_s3_list(call, target);
  });
}

}  // namespace dunlin::aws
