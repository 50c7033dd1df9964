// S3 over our tables and blobs: what its operations share. A bucket is a row of the table aws.s3
// and a table of the store, in which an object is a row; its bytes are in blobs, which are written
// once. So an object is replaced by writing its row, and the blobs of the old one are erased after.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/call.h"
#include "aws/json.h"
#include "aws/xml.h"

namespace dunlin::aws {

inline constexpr std::string_view kS3Table = "aws.s3";
inline constexpr std::string_view kUploadsTable = "aws.s3.uploads";

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
  std::string crc32;              // In base64; empty if it is not known.
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

// Headers of a request that belong to the object.
json kept_headers(const HttpHead& head);

// The parameter of the query; null if there is none.
const std::string* parameter(const Call& call, std::string_view name);

// Goes on if the bucket exists; replies itself if not.
void with_bucket(Call& call, const std::string& bucket, std::function<void()> then);

// The row of an object, existing or not.
void with_object(Call& call, const S3Target& target, std::function<void(const S3Object&)> then);

// Writes the object's row over the one that is there and erases the blobs of that; `then` replies.
// With `extra` in the same commit. If-Match and If-None-Match of the request are respected. Blobs
// of its own are loose until then, and erased if it fails for certain; others name shared ones too.
enum class Ownership { own, shared };
void put_object_row(Call& call, const S3Target& target, const S3Object& object, Ownership ownership,
                    std::vector<Write> extra, std::function<void()> then);

std::string iso_time(int64_t ms);  // "2009-10-12T17:50:30.000Z"

// A body on its way into a fresh blob, and what it turned out to be. The blob is erased again if
// the call ends before keep().
class Intake : public CallState {
 public:
  virtual const Piece& piece() const = 0;
  virtual const std::string& md5() const = 0;    // Bytes.
  virtual const std::string& crc32() const = 0;  // In base64.
  virtual void keep() = 0;
};
// Reads the body of a call and checks all that the request says about it. Goes on with it, or
// replies itself.
void take_body(Call& call, std::function<void(Intake&)> then);

// Operations by subject; `target` names what they are about.
void serve_s3_service(Call& call);
void serve_s3_bucket(Call& call, const S3Target& target, std::string_view body);
void serve_s3_list(Call& call, const S3Target& target);
void serve_s3_object(Call& call, const S3Target& target, std::string_view body);
void serve_s3_get(Call& call, const S3Target& target);
void serve_s3_multipart(Call& call, const S3Target& target, std::string_view body);
void delete_objects(Call& call, const S3Target& target, std::string_view body);
void not_implemented(Call& call);

}  // namespace dunlin::aws
