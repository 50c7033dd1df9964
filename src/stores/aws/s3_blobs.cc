#include "stores/aws/s3_blobs.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "aws_protocol/xml.h"
#include "base/digest.h"
#include "base/names.h"
#include "base/text.h"
#include "store/request.h"

namespace dunlin::cloud {
namespace {

constexpr size_t kReadStep = 1 << 20;  // What a source is asked for at once.
constexpr std::string_view kHashHeader = "x-amz-meta-dunlin-sha256";
constexpr std::string_view kType = "application/octet-stream";
constexpr size_t kListMax = 1000;  // S3's limit.
constexpr int kGoneMax = 3;        // Tries after the bucket was removed under us.

uint64_t number_of(std::string_view digits) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Bytes of a source, all of them; each piece goes to `take`. A source may give less than it is
// asked for, but never nothing before its end.
template <typename Take>
Result<void> read_source(std::string_view name, uint64_t from, uint64_t to,
                         const BlobSource& source, Take take) {
  while (from < to) {
    const size_t left = std::min<uint64_t>(kReadStep, to - from);
    const Result<std::string> bytes = source(from, left);
    if (!bytes.ok()) {
      const Error& error = bytes.error();
      return Error{error.code == Code::not_found ? Code::invalid : error.code,
                   fmt::format("the source of blob {} failed: {}", quote(name), error.what)};
    }
    if (bytes.value().empty() || bytes.value().size() > left) {
      return Error{Code::invalid,
                   fmt::format("the source of blob {} gave {} bytes at {}, not 1 to {}",
                               quote(name), bytes.value().size(), from, left)};
    }
    take(bytes.value());
    from += bytes.value().size();
  }
  return {};
}

Error other_bytes(std::string_view name) {
  return {Code::conflict,
          fmt::format("blob {} exists with other bytes: choose another name", name)};
}

bool no_bucket(const Reply& reply) { return reply.error == "NoSuchBucket"; }

}  // namespace

uint64_t part_size(uint64_t blob_size) {
  const uint64_t least = (blob_size + kPartsMax - 1) / kPartsMax;
  const uint64_t mib = uint64_t{1} << 20U;
  return std::max(kPartMin, (least + mib - 1) / mib * mib);
}

S3Blobs::S3Blobs(CloudAddress address, const CloudOptions& options, const Clock& clock,
                 const Disk& disk)
    : link_(std::move(address), options, clock, disk) {}

std::string S3Blobs::object_of(std::string_view name) const {
  return link_.address().objects_start().append(name);
}

// Paths, not host names: those work with every service that speaks S3.
std::string S3Blobs::path_of(std::string_view name) const {
  std::string path = "/" + link_.address().blobs_bucket();
  if (!name.empty()) path += "/" + percent_encode(object_of(name), true);
  return path;
}

// --- The bucket ---

Result<void> S3Blobs::prepare() {
  const std::string& region = link_.address().region;
  const std::string bucket = link_.address().blobs_bucket();
  if (!link_.address().bucket.empty()) {
    return Error{Code::not_found, fmt::format("there is no S3 bucket {} in {}: make it, or correct "
                                              "blobs=s3://BUCKET/PREFIX or AWS_REGION",
                                              bucket, region)};
  }
  S3Call make = {.method = "PUT", .path = path_of(""), .query = {}, .headers = {}, .body = ""};
  if (region != "us-east-1") {  // Which is where buckets are if nothing is said.
    aws::Xml xml;
    xml.open("CreateBucketConfiguration").leaf("LocationConstraint", region);
    make.body = xml.close("CreateBucketConfiguration").text();
  }
  const Reply made = TRY(link_.s3(make));
  if (made.error == "BucketAlreadyOwnedByYou") return {};
  if (made.error == "BucketAlreadyExists") {
    return Error{Code::conflict,
                 fmt::format("the S3 bucket {} belongs to somebody else: choose another PREFIX in "
                             "aws:REGION/PREFIX",
                             bucket)};
  }
  if (!made.ok()) return refused(made, fmt::format("the S3 bucket {} cannot be made", bucket));
  // S3 blocks public access to new buckets by itself since 2023; this is for the others.
  aws::Xml block;
  block.open("PublicAccessBlockConfiguration");
  for (const std::string_view what :
       {"BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"}) {
    block.leaf(what, "true");
  }
  block.close("PublicAccessBlockConfiguration");
  TRY(link_.s3({.method = "PUT",
                .path = path_of(""),
                .query = {{"publicAccessBlock", ""}},
                .headers = {{"content-md5", to_base64(md5(block.text()))}},
                .body = block.text()}));
  return {};
}

Result<void> S3Blobs::check() {
  const Reply reply = TRY(ask({.method = "GET",
                               .path = path_of(""),
                               .query = {{"list-type", "2"}, {"max-keys", "1"}},
                               .headers = {},
                               .body = ""}));
  if (reply.ok()) return {};
  return refused(reply, fmt::format("the S3 bucket {}", link_.address().blobs_bucket()));
}

// Makes the bucket when it is missing.
Result<Reply> S3Blobs::ask(const S3Call& call) {
  for (int tries = 1;; ++tries) {
    Reply reply = TRY(link_.s3(call));
    if (reply.status == 301 || reply.error == "AuthorizationHeaderMalformed" ||
        reply.error == "IllegalLocationConstraintException") {
      return Error{Code::invalid,
                   fmt::format("the S3 bucket {} is in another region than {}: {}",
                               link_.address().blobs_bucket(), link_.address().region,
                               link_.address().bucket.empty()
                                   ? "choose another PREFIX or REGION in aws:REGION/PREFIX"
                                   : "AWS_REGION must say which")};
    }
    if (!no_bucket(reply) || tries == kGoneMax) return reply;
    TRY(prepare());
  }
}

// --- Writing ---

Result<S3Blobs::There> S3Blobs::look(const Blob& blob) {
  S3Call head = {
      .method = "HEAD", .path = path_of(blob.name), .query = {}, .headers = {}, .body = ""};
  const Reply reply = TRY(link_.s3(head));
  if (reply.status == 404) return There::nothing;
  if (!reply.ok()) return refused(reply, fmt::format("blob {}", quote(blob.name)));
  const std::string* length = http::find_header(reply.http.headers, "content-length");
  const std::string* hash = http::find_header(reply.http.headers, kHashHeader);
  if (length == nullptr || number_of(*length) != blob.size) return There::other;
  if (hash == nullptr) return compare(blob);
  return *hash == blob.hash ? There::same : There::other;
}

// Of an object that tells no hash.
Result<S3Blobs::There> S3Blobs::compare(const Blob& blob) {
  Digest digest(Digest::Kind::sha256);
  for (uint64_t offset = 0; offset < blob.size;) {
    const std::string bytes = TRY(get(blob.name, offset, kBatchBytesMax));
    if (bytes.empty()) return There::other;
    digest.update(bytes);
    offset += bytes.size();
  }
  return hex(digest.finish()) == blob.hash ? There::same : There::other;
}

Result<void> S3Blobs::put(std::string_view name, uint64_t size, const BlobSource& source) {
  TRY(validate(BlobEnd{1, std::string(name), size}));
  Blob blob = {std::string(name), size, ""};
  Digest digest(Digest::Kind::sha256);
  std::string bytes;
  TRY(read_source(name, 0, size, source, [&](const std::string& piece) {
    digest.update(piece);
    if (size <= kPartMin) bytes += piece;
  }));
  blob.hash = hex(digest.finish());
  // Not every service minds If-None-Match, so we look by ourselves as well.
  switch (TRY(look(blob))) {
    case There::same:
      return {};
    case There::other:
      return other_bytes(name);
    case There::nothing:
      break;
  }
  return size <= kPartMin ? put_whole(blob, bytes) : put_parts(blob, source);
}

// After a write that may have been refused because there is something, which may be ours.
Result<void> S3Blobs::settle(const Blob& blob, const Reply& reply) {
  if (reply.ok()) return {};
  if (reply.status == 412 || reply.error == "NoSuchUpload") {
    const There there = TRY(look(blob));
    if (there == There::same) return {};
    if (there == There::other) return other_bytes(blob.name);
    return Error{Code::unavailable, fmt::format("blob {} was erased meanwhile", quote(blob.name))};
  }
  return refused(reply, fmt::format("blob {} cannot be written", quote(blob.name)));
}

Result<void> S3Blobs::put_whole(const Blob& blob, const std::string& bytes) {
  const Reply reply = TRY(ask({.method = "PUT",
                               .path = path_of(blob.name),
                               .query = {},
                               .headers = {{"content-type", std::string(kType)},
                                           {"if-none-match", "*"},
                                           {std::string(kHashHeader), blob.hash}},
                               .body = bytes}));
  return settle(blob, reply);
}

// The body of the request that completes the upload.
Result<std::string> S3Blobs::send_parts(const Blob& blob, const BlobSource& source,
                                        const std::string& upload) {
  const uint64_t step = part_size(blob.size);
  Digest digest(Digest::Kind::sha256);
  aws::Xml parts;
  parts.open("CompleteMultipartUpload");
  uint64_t number = 1;
  for (uint64_t from = 0; from < blob.size; from += step, ++number) {
    S3Call call = {.method = "PUT",
                   .path = path_of(blob.name),
                   .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                   .headers = {},
                   .body = ""};
    const uint64_t to = std::min(blob.size, from + step);
    call.body.reserve(to - from);
    TRY(read_source(blob.name, from, to, source, [&](const std::string& piece) {
      digest.update(piece);
      call.body += piece;
    }));
    const Reply reply = TRY(link_.s3(call));
    const std::string* etag = http::find_header(reply.http.headers, "etag");
    if (!reply.ok() || etag == nullptr) {
      return refused(reply, fmt::format("part {} of blob {}", number, quote(blob.name)));
    }
    parts.open("Part").leaf("PartNumber", number).leaf("ETag", *etag).close("Part");
  }
  if (hex(digest.finish()) != blob.hash) {
    return Error{Code::conflict,
                 fmt::format("the source of blob {} changed while it was read", quote(blob.name))};
  }
  return parts.close("CompleteMultipartUpload").text();
}

Result<void> S3Blobs::put_parts(const Blob& blob, const BlobSource& source) {
  const Reply begun = TRY(
      ask({.method = "POST",
           .path = path_of(blob.name),
           .query = {{"uploads", ""}},
           .headers = {{"content-type", std::string(kType)}, {std::string(kHashHeader), blob.hash}},
           .body = ""}));
  const auto said = aws::read_xml(begun.http.body);
  const std::string upload = said ? said->text_of("UploadId").value_or("") : "";
  if (!begun.ok() || upload.empty()) {
    return refused(begun, fmt::format("blob {} cannot be written", quote(blob.name)));
  }
  const Query query = {{"uploadId", upload}};
  const auto finish = [&]() -> Result<void> {
    const std::string body = TRY(send_parts(blob, source, upload));
    const Reply done = TRY(link_.s3({.method = "POST",
                                     .path = path_of(blob.name),
                                     .query = query,
                                     .headers = {{"if-none-match", "*"}},
                                     .body = body}));
    TRY(settle(blob, done));
    if (done.ok()) return {};
    return Error{Code::not_found, ""};  // It is there, but not by this upload.
  };
  Result<void> finished = finish();
  if (finished.ok()) return {};
  // Parts of an upload that nobody ends would be paid for.
  const auto aborted = link_.s3(
      {.method = "DELETE", .path = path_of(blob.name), .query = query, .headers = {}, .body = ""});
  static_cast<void>(aborted.ok());
  if (finished.error().code == Code::not_found) return {};
  return finished;
}

// --- The rest ---

Result<std::string> S3Blobs::get(std::string_view name, uint64_t offset, size_t max) {
  TRY(validate(BlobGet{std::string(name), offset, max}));
  const Reply reply =
      TRY(link_.s3({.method = "GET",
                    .path = path_of(name),
                    .query = {},
                    .headers = {{"range", fmt::format("bytes={}-{}", offset, offset + max - 1)}},
                    .body = "",
                    .expected = max}));
  if (reply.status == 416) return std::string();
  if (reply.status == 404) return Error{Code::not_found, fmt::format("blob {}", name)};
  if (!reply.ok()) return refused(reply, fmt::format("blob {} cannot be read", quote(name)));
  if (reply.status == 206) return reply.http.body.substr(0, max);
  if (offset >= reply.http.body.size()) return std::string();  // It gave the whole.
  return reply.http.body.substr(offset, max);
}

Result<void> S3Blobs::erase(std::string_view name) {
  TRY(validate(BlobErase{std::string(name)}));
  const Reply reply = TRY(link_.s3(
      {.method = "DELETE", .path = path_of(name), .query = {}, .headers = {}, .body = ""}));
  if (reply.ok() || reply.status == 404) return {};
  return refused(reply, fmt::format("blob {} cannot be erased", quote(name)));
}

Result<std::vector<BlobInfo>> S3Blobs::list(std::string_view prefix, std::string_view after,
                                            size_t max) {
  TRY(validate(BlobList{std::string(prefix), std::string(after), max}));
  std::vector<BlobInfo> all;
  std::string next;
  do {
    Query query = {{"list-type", "2"}, {"max-keys", std::to_string(std::min(max, kListMax))}};
    if (!next.empty()) query.emplace_back("continuation-token", next);
    if (const std::string start = object_of(prefix); !start.empty()) {
      query.emplace_back("prefix", start);
    }
    if (!after.empty()) query.emplace_back("start-after", object_of(after));
    const Reply reply = TRY(link_.s3(
        {.method = "GET", .path = path_of(""), .query = query, .headers = {}, .body = ""}));
    if (no_bucket(reply)) return all;
    if (!reply.ok()) return refused(reply, "blobs cannot be listed");
    const auto listing = aws::read_xml(reply.http.body);
    if (!listing) return Error{Code::corrupt, "S3 lists blobs in XML that cannot be read"};
    for (const aws::XmlElement& object : listing->children) {
      if (object.name != "Contents") continue;
      const auto name = object.text_of("Key");
      if (!name || !name->starts_with(object_of(prefix))) {
        return Error{Code::corrupt, "S3 lists an object without the key that it should have"};
      }
      all.push_back(
          {name->substr(object_of("").size()), number_of(object.text_of("Size").value_or("0"))});
    }
    next = listing->text_of("NextContinuationToken").value_or("");
  } while (all.empty() && !next.empty());
  return all;
}

}  // namespace dunlin::cloud
