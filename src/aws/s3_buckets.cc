// S3's operations on buckets, but for listing their objects (s3_list.cc).
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "aws/keys.h"
#include "aws/s3.h"
#include "base/digest.h"
#include "base/text.h"

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

struct BucketsState final : CallState {
  std::string prefix;
  size_t max = kListMax;
  std::string after;
  std::vector<Row> rows;
  bool more = false;
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
  xml.close("Buckets");
  if (!state.prefix.empty()) xml.leaf("Prefix", state.prefix);
  if (state.more) xml.leaf("ContinuationToken", to_base64(state.rows.back().key));
  call.reply(xml_reply(200, xml.close("ListAllMyBucketsResult")));
}

void list_some(Call& call, BucketsState& state) {
  call.ask(Scan{std::string(kS3Table), state.prefix, state.after, 1000},
           [&call, &state](Answer&& answer) {
             auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             if (rows->rows.empty()) return reply_buckets(call, state);
             for (Row& row : rows->rows) {
               state.more = state.rows.size() == state.max;
               if (state.more) return reply_buckets(call, state);
               state.after = row.key;
               state.rows.push_back(std::move(row));
             }
             list_some(call, state);
           });
}

}  // namespace

void create_bucket(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::string& bucket = target.bucket;
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

void remove_bucket(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::string& bucket = target.bucket;
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

void head_bucket(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_bucket(call, target.bucket, [&call] {
    reply_empty(call, 200, {{"x-amz-bucket-region", call.claim().scope.region}});
  });
}

void list_buckets(Call& call, const S3Target& /*target*/, std::string_view /*body*/) {
  BucketsState& state = call.keep(std::make_unique<BucketsState>());
  if (const std::string* prefix = parameter(call, "prefix")) state.prefix = *prefix;
  if (const std::string* max = parameter(call, "max-buckets")) {
    const auto parsed = std::from_chars(max->data(), max->data() + max->size(), state.max);
    if (parsed.ec != std::errc() || parsed.ptr != max->data() + max->size() || state.max < 1 ||
        state.max > kListMax) {
      return s3_fail(call, 400, "InvalidArgument", "max-buckets is 1 to 10000");
    }
  }
  if (const std::string* token = parameter(call, "continuation-token")) {
    const std::optional<std::string> after = from_base64(*token);
    if (!after || after->size() > kKeyMax) {
      return s3_fail(call, 400, "InvalidArgument", "the continuation token is not ours");
    }
    state.after = *after;
  }
  if (state.prefix.size() > kKeyMax) return reply_buckets(call, state);
  list_some(call, state);
}

}  // namespace dunlin::aws
