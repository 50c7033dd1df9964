// S3 over our tables and blobs: what its operations share. A bucket is a row of the table aws.s3
// and a table of the store, in which an object is a row; its bytes are in blobs, which are written
// once. So an object is replaced by writing its row, and the blobs of the old one are erased after.
//
// Functions that take a Call run in the door's thread, may go on in a later turn of the loop
// (call.h), and reply themselves if something is wrong. The others are pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws_protocol/json.h"
#include "aws_protocol/xml.h"
#include "doors/aws/call/call.h"
#include "doors/aws/call/checksum.h"

namespace dunlin::aws {

inline constexpr std::string_view kS3Table = "aws.s3";
inline constexpr std::string_view kUploadsTable = "aws.s3.uploads";
inline constexpr std::string_view kEndedUpload = "{}";  // The row of one that is over.

struct S3Target {
  std::string bucket;  // Empty: the service itself.
  std::string key;     // Empty: the bucket.
};

struct Piece {
  std::string blob;
  uint64_t size = 0;
};

struct S3Object {
  uint64_t size = 0;
  std::string etag;  // Without quotes.
  int64_t changed_ms = 0;
  json headers = json::object();  // To be given back: content-type, x-amz-meta-*, and the like.
  std::optional<Checksum> checksum;
  std::vector<Piece> pieces;
  uint64_t version = 0;  // Of its row; 0: there is none.
};

void s3_fail(Call& call, int status, std::string_view code, std::string_view message);
void s3_fail(Call& call, const Error& error);

template <typename T>
T* s3_expect(Call& call, Answer& answer) {
  if (auto* error = std::get_if<Error>(&answer)) {
    s3_fail(call, *error);
    return nullptr;
  }
  return std::get_if<T>(&answer);
}

std::string bucket_table(std::string_view bucket);

S3Object object_of(const Row& row);
std::string value_of(const S3Object& object);  // For its row.
std::vector<std::string> blobs_of(const S3Object& object);

// Headers of a request that belong to the object; a presigned URL has them as parameters.
json kept_headers(const http::HttpHead& head);

std::string lower_case(std::string_view text);  // Of ASCII.

// The parameter of the query; null if there is none.
const std::string* parameter(const Call& call, std::string_view name);
// The header, or the parameter of that name in any case that a presigned URL has instead.
const std::string* header_or_parameter(const Call& call, std::string_view name);

// Whether a row of kS3Table is that of a bucket, and not of one that is still being made.
bool is_bucket(const Row& row);

// Goes on if the bucket exists; replies itself if not.
void with_bucket(Call& call, const std::string& bucket, std::function<void()> then);
void fail_no_bucket(Call& call, const std::string& bucket);
void with_bucket_row(Call& call, const std::string& bucket, std::function<void(const Row&)> then);

// After something was written into the bucket: whether the bucket is there, and stays while that
// is. If not, what was written must go.
void keep_bucket(Call& call, const std::string& bucket, std::function<void(bool)> then);

// Erases all uploads of a bucket that were not completed, with their parts.
void drop_uploads(Call& call, const std::string& bucket, std::function<void()> then);

// The row of an object, existing or not.
void with_object(Call& call, const S3Target& target, std::function<void(const S3Object&)> then);

// Whether the object is there and has this etag, with quotes or without, or `*`.
bool names_object(std::string_view etag, const S3Object& object);

// If-Match and If-None-Match of a write hold for what is there.
bool may_write(const Call& call, const S3Object& before);

// Writes an object's row over the one that is there and erases the blobs of that. If-Match and
// If-None-Match of the request are respected. Blobs of its own are loose until then, and erased if
// it fails for certain; others name shared ones too.
enum class Ownership { own, shared };
struct ObjectWrite {
  S3Target target;
  S3Object object;
  Ownership ownership = Ownership::own;
  std::vector<Write> extra = {};     // In the same commit.
  std::function<void()> then;        // Replies.
  std::function<void()> again = {};  // When another was faster, if `extra` must be made anew.
};
void put_object_row(Call& call, ObjectWrite&& write);

std::string iso_time(int64_t ms);  // "2009-10-12T17:50:30.000Z"

// A body on its way into a fresh blob, and what it turned out to be. The blob is erased again if
// the call ends before keep().
class Intake : public CallState {
 public:
  virtual const Piece& piece() const = 0;
  virtual const std::string& md5() const = 0;                     // Bytes.
  virtual const Checksum* checksum(ChecksumKind kind) const = 0;  // Null if it was not asked for.
  virtual void keep() = 0;
};

// The checksum that the request says about its body, in a header or behind it, if it says one.
// False if what it says cannot be; then it has been replied to.
bool read_asked_checksum(Call& call, std::optional<ChecksumKind>& asked);

// Reads the body of a call and checks all that the request says about it: its hash, MD5, and the
// checksum `asked` for. Goes on with it and its checksums of all these kinds, or replies itself.
void take_body(Call& call, std::vector<ChecksumKind> kinds, std::optional<ChecksumKind> asked,
               std::function<void(Intake&)> then);

// The same check of a body that is here whole; replies if it is not as said.
bool is_body_as_said(Call& call, std::string_view body);
// The document that a body is; replies if it is none.
std::optional<XmlElement> read_document(Call& call, std::string_view body);

// What `x-amz-copy-source` names, and what of it `x-amz-copy-source-range` does, if it has all
// that the conditions of the request ask for; replies itself if not.
struct CopySource {
  S3Object object;
  uint64_t first = 0;
  uint64_t size = 0;
};
void with_copy_source(Call& call, std::function<void(const CopySource&)> then);
// Its bytes, in a blob of their own.
void take_copy(Call& call, const CopySource& source, const std::vector<ChecksumKind>& kinds,
               std::function<void(Intake&)> then);

// The status that conditions of the request make of this object, in headers that begin so: 200 if
// they all hold, else 304 or 412.
int status_by_conditions(const Call& call, const S3Object& object, std::string_view begin = "");

// Adds x-amz-checksum-* of the checksum.
void add_checksum(http::Headers& headers, const Checksum& checksum);
void add_checksum(Xml& xml, const Checksum& checksum);

// Operations. `target` names what they are about; s3_routes.cc says which request is which.
using Operation = void (*)(Call& call, const S3Target& target, std::string_view body);
void list_buckets(Call& call, const S3Target& target, std::string_view body);
void create_bucket(Call& call, const S3Target& target, std::string_view body);
void head_bucket(Call& call, const S3Target& target, std::string_view body);
void remove_bucket(Call& call, const S3Target& target, std::string_view body);
void answer_setting(Call& call, const S3Target& target, std::string_view body);
void keep_private(Call& call, const S3Target& target, std::string_view body);
void remove_tags(Call& call, const S3Target& target, std::string_view body);
void list_objects(Call& call, const S3Target& target, std::string_view body);
void delete_objects(Call& call, const S3Target& target, std::string_view body);
void get_object(Call& call, const S3Target& target, std::string_view body);
void put_object(Call& call, const S3Target& target, std::string_view body);
void copy_object(Call& call, const S3Target& target);
void remove_object(Call& call, const S3Target& target, std::string_view body);
void list_uploads(Call& call, const S3Target& target, std::string_view body);
void create_upload(Call& call, const S3Target& target, std::string_view body);
void upload_part(Call& call, const S3Target& target, std::string_view body);
void complete_upload(Call& call, const S3Target& target, std::string_view body);
void abort_upload(Call& call, const S3Target& target, std::string_view body);
void list_parts(Call& call, const S3Target& target, std::string_view body);

// The operation that a request asks for. Null, after replying, if it asks for one that is not
// there, or says in its query or headers what no operation here would act on.
Operation route(Call& call, const S3Target& target);

// Whether a request of S3 has a body that is kept whole: all but uploads.
bool s3_keeps_body(const http::HttpHead& head);
// Takes a call whose signature was checked and replies to it, at once or in a later turn of the
// loop.
void serve_s3(Call& call, std::string_view body);

}  // namespace dunlin::aws
