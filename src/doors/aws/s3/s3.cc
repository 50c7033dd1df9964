#include "doors/aws/s3/s3.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>

#include "base/digest.h"
#include "doors/aws/call/auth.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"

namespace dunlin::aws {
namespace {

constexpr int kTriesMax = 200;

// Objects are given back with these headers as they were put.
constexpr std::array<std::string_view, 6> kObjectHeaders = {
    "cache-control",    "content-disposition", "content-encoding",
    "content-language", "content-type",        "expires"};

// Of any other word nobody would know what is to be checked.
bool is_payload_hash(std::string_view said) {
  constexpr std::array<std::string_view, 4> kWords = {
      kUnsignedPayload, "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
      "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"};
  return (said.size() == 64 && from_hex(said)) || std::ranges::find(kWords, said) != kWords.end();
}

std::optional<S3Target> target_of(const http::HttpHead& head) {
  const std::string_view path = std::string_view(head.path).substr(1);
  const size_t slash = std::min(path.find('/'), path.size());
  std::optional<std::string> bucket = percent_decode(path.substr(0, slash));
  std::optional<std::string> key = percent_decode(path.substr(std::min(path.size(), slash + 1)));
  if (!bucket || !key) return std::nullopt;
  return S3Target{std::move(*bucket), std::move(*key)};
}

// Rows of before there was more than one kind have "crc32".
std::optional<Checksum> checksum_in(const json& value) {
  const std::string crc = text_or(value, "crc32", "");
  if (!crc.empty()) return Checksum{ChecksumKind::crc32, crc, false};
  const json stored = object_or_empty(value, "checksum");
  const std::optional<ChecksumKind> kind = checksum_of_word(text_or(stored, "kind", ""));
  if (!kind) return std::nullopt;
  return Checksum{*kind, text_or(stored, "text", ""), flag_member(stored, "composite")};
}

// The bucket was removed before the object was in it.
void take_back(Call& call, const ObjectWrite& state, uint64_t version) {
  Commit commit{
      0, {Erase{bucket_table(state.target.bucket), sortable_bytes(state.target.key), version}}};
  for (const Piece& piece : state.object.pieces) commit.writes.emplace_back(loosen(piece.blob));
  call.ask(std::move(commit), [&call, state](Answer&& answer) {
    // Whoever has written over it takes that back.
    if (std::holds_alternative<Committed>(answer)) call.forget(blobs_of(state.object));
    fail_no_bucket(call, state.target.bucket);
  });
}

void try_put_row(Call& call, const ObjectWrite& state, int tries) {
  with_object(call, state.target, [&call, state, tries](const S3Object& before) {
    const auto drop = [&call, state] {
      if (state.ownership == Ownership::own) call.forget(blobs_of(state.object));
    };
    if (!may_write(call, before)) {
      drop();
      return s3_fail(call, 412, "PreconditionFailed",
                     "at least one of the pre-conditions you specified did not hold");
    }
    Commit commit{0, state.extra};
    std::string value = value_of(state.object);
    if (value.size() > kValueMax) {
      drop();
      return s3_fail(call, 400, "InvalidRequest",
                     "the object has more parts or metadata than this hub takes: use larger parts");
    }
    commit.writes.emplace_back(Put{bucket_table(state.target.bucket),
                                   sortable_bytes(state.target.key), std::move(value),
                                   before.version});
    for (const Piece& piece : before.pieces) commit.writes.emplace_back(loosen(piece.blob));
    if (state.ownership == Ownership::own) {
      for (const Piece& piece : state.object.pieces) commit.writes.emplace_back(fasten(piece.blob));
    }
    call.ask(std::move(commit), [=, &call, old = blobs_of(before)](Answer&& answer) {
      const auto* error = std::get_if<Error>(&answer);
      const bool conflict = error && error->code == Code::conflict;
      if (conflict && state.again) return state.again();
      if (conflict && tries > 0) return try_put_row(call, state, tries - 1);
      if (error && error->code != Code::unavailable) drop();
      if (error) return s3_fail(call, *error);
      call.forget(old);
      const uint64_t version = std::get<Committed>(answer).version;
      keep_bucket(call, state.target.bucket, [&call, state, version](bool there) {
        there ? state.then() : take_back(call, state, version);
      });
    });
  });
}

}  // namespace

void s3_fail(Call& call, int status, std::string_view code, std::string_view message) {
  call.reply(s3_error(status, code, message));
}

void s3_fail(Call& call, const Error& error) {
  switch (error.code) {
    case Code::denied:
      return s3_fail(call, 403, "AccessDenied", error.what);
    case Code::invalid:
      return s3_fail(call, 400, "InvalidArgument", error.what);
    case Code::conflict:
      return s3_fail(call, 409, "OperationAborted", error.what);
    case Code::full:
    case Code::not_found:  // An upload that was forgotten: the hub was started anew.
      return s3_fail(call, 503, "SlowDown", error.what);
    case Code::unavailable:
    case Code::corrupt:
    case Code::unsupported:
      return s3_fail(call, 500, "InternalError", error.what);
  }
}

bool names_object(std::string_view etag, const S3Object& object) {
  return object.version != 0 &&
         (etag == "*" || etag == object.etag || etag == fmt::format("\"{}\"", object.etag));
}

bool may_write(const Call& call, const S3Object& before) {
  if (const std::string* none = call.head().header("if-none-match")) {
    if (*none == "*" && before.version != 0) return false;
  }
  const std::string* match = call.head().header("if-match");
  return !match || names_object(*match, before);
}

std::string bucket_table(std::string_view bucket) { return store_name("s3", bucket); }

S3Object object_of(const Row& row) {
  S3Object object;
  object.version = row.version;
  const json value = parse_object(row.value).value_or(json::object());
  object.size = static_cast<uint64_t>(std::max<int64_t>(0, number_or(value, "size", 0)));
  object.etag = text_or(value, "etag", "");
  object.changed_ms = number_or(value, "changed_ms", 0);
  object.headers = object_or_empty(value, "headers");
  object.checksum = checksum_in(value);
  for (const json& piece : list_or_empty(value, "blobs")) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() ||
        !piece[1].is_number_unsigned()) {
      continue;
    }
    object.pieces.push_back({piece[0].get<std::string>(), piece[1].get<uint64_t>()});
  }
  return object;
}

std::string value_of(const S3Object& object) {
  json blobs = json::array();
  for (const Piece& piece : object.pieces) blobs.push_back(json::array({piece.blob, piece.size}));
  json value = {{"size", object.size},
                {"etag", object.etag},
                {"changed_ms", object.changed_ms},
                {"headers", object.headers},
                {"blobs", std::move(blobs)}};
  if (object.checksum) {
    value["checksum"] = {{"kind", checksum_word(object.checksum->kind)},
                         {"text", object.checksum->text},
                         {"composite", object.checksum->composite}};
  }
  return dump(value);
}

std::vector<std::string> blobs_of(const S3Object& object) {
  std::vector<std::string> blobs;
  for (const Piece& piece : object.pieces) blobs.push_back(piece.blob);
  return blobs;
}

json kept_headers(const http::HttpHead& head) {
  json kept = json::object();
  for (const auto& [name, value] : head.headers) {
    const bool known = std::ranges::find(kObjectHeaders, name) != kObjectHeaders.end();
    if (!known && !name.starts_with("x-amz-meta-")) continue;
    std::string text = value;
    if (name == "content-encoding") {  // aws-chunked is about the request, not the object.
      if (const size_t at = text.find("aws-chunked"); at != std::string::npos) text.erase(at, 11);
      while (!text.empty() && (text.front() == ',' || text.front() == ' ')) text.erase(0, 1);
      while (!text.empty() && (text.back() == ',' || text.back() == ' ')) text.pop_back();
      if (text.empty()) continue;
    }
    kept[name] = text;
  }
  for (const auto& [name, value] : head.query) {
    const std::string lower = lower_case(name);
    if (lower.starts_with("x-amz-meta-") && !kept.contains(lower)) kept[lower] = value;
  }
  return kept;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

const std::string* header_or_parameter(const Call& call, std::string_view name) {
  const std::string* header = call.head().header(name);
  if (header != nullptr) return header;
  for (const auto& [given, value] : call.head().query) {
    if (lower_case(given) == name) return &value;
  }
  return nullptr;
}

const std::string* parameter(const Call& call, std::string_view name) {
  return find(call.head().query, name);
}

void fail_no_bucket(Call& call, const std::string& bucket) {
  s3_fail(call, 404, "NoSuchBucket",
          fmt::format("there is no bucket '{}': create it first", bucket));
}

void with_bucket_row(Call& call, const std::string& bucket, std::function<void(const Row&)> then) {
  const std::string key = sortable_bytes(bucket);
  if (key.size() > kKeyMax) return fail_no_bucket(call, bucket);
  call.ask(Get{std::string(kS3Table), {key}},
           [&call, bucket, then = std::move(then)](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             const Row& row = rows->rows.at(0);
             is_bucket(row) ? then(row) : fail_no_bucket(call, bucket);
           });
}

void with_bucket(Call& call, const std::string& bucket, std::function<void()> then) {
  with_bucket_row(call, bucket, [then = std::move(then)](const Row& /*row*/) { then(); });
}

void with_object(Call& call, const S3Target& target, std::function<void(const S3Object&)> then) {
  call.ask(Get{bucket_table(target.bucket), {sortable_bytes(target.key)}},
           [&call, then = std::move(then)](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (rows) then(object_of(rows->rows.at(0)));
           });
}

void put_object_row(Call& call, ObjectWrite&& write) {
  call.must_end();
  try_put_row(call, write, kTriesMax);
}

std::string iso_time(int64_t ms) {
  const WallTime time{Millis(ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

bool s3_keeps_body(const http::HttpHead& head) {
  const size_t slash = head.path.find('/', 1);
  const bool object = slash != std::string::npos && slash + 1 < head.path.size();
  return head.method != "PUT" || !object || head.header("x-amz-copy-source") != nullptr;
}

void serve_s3(Call& call, std::string_view body) {
  const std::optional<S3Target> target = target_of(call.head());
  if (!target) return s3_fail(call, 400, "InvalidURI", "the path has a % that encodes nothing");
  if (sortable_bytes(target->key).size() > kKeyMax) {
    return s3_fail(call, 400, "KeyTooLongError",
                   fmt::format("the key takes more than {} bytes in this hub (a character that is "
                               "not plain ASCII takes three)",
                               kKeyMax));
  }
  if (!is_payload_hash(call.head().header_or("x-amz-content-sha256", kUnsignedPayload))) {
    return s3_fail(
        call, 400, "InvalidArgument",
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, one of the STREAMING- words that "
        "S3 has, or the SHA256 of the body in hex");
  }
  if (const Operation operation = route(call, *target)) operation(call, *target, body);
}

}  // namespace dunlin::aws
