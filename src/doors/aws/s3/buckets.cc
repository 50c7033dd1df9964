// S3's operations on buckets, but for listing their objects (s3_list.cc).
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

constexpr size_t kListMax = 10'000;
constexpr uint64_t kClearPage = 1'000;
constexpr int kTriesMax = 20;
// What a bucket's row may say of its state.
constexpr std::string_view kMaking = "making";
constexpr std::string_view kClosed = "closed";  // About to be removed, if nobody opens it.

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Four numbers would be an address.
bool is_address(std::string_view name) {
  const bool digits =
      std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return digits && std::ranges::count(name, '.') == 3;
}

bool is_bucket_name(std::string_view name) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, fits) &&
         is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         name.find("..") == std::string_view::npos && !is_address(name);
}

void reply_empty(Call& call, int status, http::Headers headers = {}) {
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

// --- Making and removing ---

Put put_bucket(const std::string& bucket, const json& value, uint64_t version) {
  return {std::string(kS3Table), bucket, dump(value), version};
}

void create(Call& call, const std::string& bucket, int tries);

// What writers of an earlier bucket left is erased while the row says that the bucket is not there
// yet. Each page proves the row, so two who make it do not erase what is in it already.
void clear(Call& call, const std::string& bucket, const json& value, uint64_t version, int tries) {
  call.ask(Scan{bucket_table(bucket), "", "", kClearPage},
           [&call, bucket, value, version, tries](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             json making = value;
             making["state"] = kMaking;
             const bool last = rows->rows.empty();
             Commit commit{0, {put_bucket(bucket, last ? value : making, version)}};
             std::vector<std::string> blobs;
             for (const Row& row : rows->rows) {
               const std::vector<std::string> its = blobs_of(object_of(row));
               if (commit.writes.size() + its.size() + 1 > kBatchMax) break;
               commit.writes.emplace_back(Erase{bucket_table(bucket), row.key, row.version});
               for (const std::string& blob : its) commit.writes.emplace_back(loosen(blob));
               blobs.insert(blobs.end(), its.begin(), its.end());
             }
             call.ask(std::move(commit),
                      [&call, bucket, value, blobs, last, tries](Answer&& answer_to_commit) {
                        const auto* error = std::get_if<Error>(&answer_to_commit);
                        if (error && error->code == Code::conflict && tries > 0) {
                          return create(call, bucket, tries - 1);
                        }
                        const auto* done = s3_expect<Committed>(call, answer_to_commit);
                        if (!done) return;
                        call.forget(blobs);
                        if (!last) return clear(call, bucket, value, done->version, tries);
                        reply_empty(call, 200, {{"location", "/" + bucket}});
                      });
           });
}

void create(Call& call, const std::string& bucket, int tries) {
  call.ask(Get{std::string(kS3Table), {bucket}}, [&call, bucket, tries](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    const Row& row = rows->rows.at(0);
    if (is_bucket(row)) {
      return s3_fail(call, 409, "BucketAlreadyOwnedByYou",
                     fmt::format("the bucket '{}' exists already", bucket));
    }
    call.must_end();
    const json value = {{"created_ms", call.wall().time_since_epoch().count()}};
    clear(call, bucket, value, row.version, tries);
  });
}

// Who writes an object looks at the bucket after that. If it is closed, they open it again and
// whoever removes it begins anew; if it is gone, they take the object back. So a bucket that is
// removed has no objects.
void remove(Call& call, const std::string& bucket, int tries);

void remove_again(Call& call, const std::string& bucket, int tries, const Error& error) {
  if (error.code != Code::conflict || tries == 0) return s3_fail(call, error);
  remove(call, bucket, tries - 1);
}

// Replies if the bucket has objects.
void if_empty(Call& call, const std::string& bucket, std::function<void()> then) {
  call.ask(Scan{bucket_table(bucket), "", "", 1},
           [&call, bucket, then = std::move(then)](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             if (rows->rows.empty()) return then();
             s3_fail(call, 409, "BucketNotEmpty",
                     fmt::format("the bucket '{}' has objects: they must go first", bucket));
           });
}

void erase_closed(Call& call, const std::string& bucket, int tries, uint64_t version) {
  call.ask(Commit{0, {Erase{std::string(kS3Table), bucket, version}}},
           [&call, bucket, tries](Answer&& answer) {
             const auto* error = std::get_if<Error>(&answer);
             error ? remove_again(call, bucket, tries, *error) : reply_empty(call, 204);
           });
}

void close(Call& call, const std::string& bucket, int tries, const Row& row) {
  json value = parse_object(row.value).value_or(json::object());
  value["state"] = kClosed;
  call.ask(
      Commit{0, {put_bucket(bucket, value, row.version)}}, [&call, bucket, tries](Answer&& answer) {
        const auto* error = std::get_if<Error>(&answer);
        if (error) return remove_again(call, bucket, tries, *error);
        const auto erase = [&call, bucket, tries, version = std::get<Committed>(answer).version] {
          erase_closed(call, bucket, tries, version);
        };
        if_empty(call, bucket, [&call, bucket, erase] { drop_uploads(call, bucket, erase); });
      });
}

void remove(Call& call, const std::string& bucket, int tries) {
  with_bucket_row(call, bucket, [&call, bucket, tries](const Row& row) {
    if_empty(call, bucket, [&call, bucket, tries, row] {
      call.must_end();
      close(call, bucket, tries, row);
    });
  });
}

}  // namespace

bool is_bucket(const Row& row) {
  return row.version != 0 &&
         text_or(parse_object(row.value).value_or(json::object()), "state", "") != kMaking;
}

void keep_bucket(Call& call, const std::string& bucket, std::function<void(bool)> then) {
  call.ask(Get{std::string(kS3Table), {bucket}},
           [&call, bucket, then = std::move(then)](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             const Row& row = rows->rows.at(0);
             json value = parse_object(row.value).value_or(json::object());
             const bool closed = text_or(value, "state", "") == kClosed;
             if (!is_bucket(row) || !closed) return then(is_bucket(row));
             value.erase("state");
             call.ask(Commit{0, {put_bucket(bucket, value, row.version)}},
                      [&call, bucket, then](Answer&& done) {
                        const auto* error = std::get_if<Error>(&done);
                        if (!error) return then(true);
                        if (error->code != Code::conflict) return s3_fail(call, *error);
                        keep_bucket(call, bucket, then);
                      });
           });
}

void create_bucket(Call& call, const S3Target& target, std::string_view /*body*/) {
  if (!is_bucket_name(target.bucket)) {
    return s3_fail(call, 400, "InvalidBucketName",
                   "a bucket name has 3 to 63 of a-z 0-9 - and ., begins and ends with a letter or "
                   "digit, has no two points side by side, and is no address");
  }
  create(call, target.bucket, kTriesMax);
}

void remove_bucket(Call& call, const S3Target& target, std::string_view /*body*/) {
  remove(call, target.bucket, kTriesMax);
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
