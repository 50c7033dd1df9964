// Copies within S3: of an object to an object, and of an object's range to a part of an upload.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/intake.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kSource = "x-amz-copy-source";
constexpr std::string_view kRange = "x-amz-copy-source-range";

// Reads what is copied to its end, whatever becomes of the object meanwhile.
class CopyIntake final : public BlobIntake {
 public:
  CopyIntake(Call& call, const CopySource& source, const std::vector<ChecksumKind>& kinds,
             std::function<void(Intake&)> then)
      : BlobIntake(call, kinds, std::move(then)),
        pieces_(source.object.pieces),
        offset_(source.first),
        left_(source.size) {
    for (const Piece& each : pieces_) call.hold(each.blob);
  }
  ~CopyIntake() override {
    for (const Piece& each : pieces_) call().release(each.blob);
  }
  CopyIntake(const CopyIntake&) = delete;
  CopyIntake& operator=(const CopyIntake&) = delete;

 protected:
  void read_more() override {
    while (at_ < pieces_.size() && offset_ >= pieces_[at_].size) offset_ -= pieces_[at_++].size;
    if (left_ == 0) {
      ended();
      return pump();
    }
    if (at_ == pieces_.size()) return changed();
    const Piece& piece = pieces_[at_];
    const uint64_t some = std::min<uint64_t>({kBlobPart, left_, piece.size - offset_});
    call().ask(BlobGet{piece.blob, offset_, some}, [this](Answer&& answer) {
      const auto* bytes = s3_expect<Bytes>(call(), answer);
      if (!bytes) return;
      if (bytes->bytes.empty() || bytes->bytes.size() > left_) return changed();
      offset_ += bytes->bytes.size();
      left_ -= bytes->bytes.size();
      take(bytes->bytes);
      pump();
    });
  }
  bool is_as_said() override { return true; }

 private:
  void changed() {
    s3_fail(call(), 500, "InternalError", "the source changed while it was copied");
  }

  const std::vector<Piece> pieces_;
  size_t at_ = 0;
  uint64_t offset_ = 0;  // In the piece.
  uint64_t left_ = 0;
};

bool read_number(std::string_view text, uint64_t& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// bytes=FIRST-LAST, both of them in the object.
bool read_range(const std::string& text, CopySource& source) {
  const size_t dash = text.find('-');
  uint64_t last = 0;
  if (!text.starts_with("bytes=") || dash == std::string::npos ||
      !read_number(std::string_view(text).substr(6, dash - 6), source.first) ||
      !read_number(std::string_view(text).substr(dash + 1), last) || last < source.first ||
      last >= source.object.size) {
    return false;
  }
  source.size = last - source.first + 1;
  return true;
}

// BUCKET/KEY, percent-encoded, perhaps with a '/' in front; nothing if it is none.
std::optional<S3Target> source_of(std::string_view text) {
  const size_t question = std::min(text.find('?'), text.size());
  const std::string_view version = text.substr(question);
  if (!version.empty() && version != "?versionId=null") return std::nullopt;
  text = text.substr(0, question);
  if (text.starts_with('/')) text.remove_prefix(1);
  const std::string decoded = percent_decode(text).value_or("");
  const size_t slash = std::min(decoded.find('/'), decoded.size());
  S3Target source = {decoded.substr(0, slash), decoded.substr(std::min(decoded.size(), slash + 1))};
  if (source.key.empty() || sortable_bytes(source.key).size() > kKeyMax) return std::nullopt;
  return source;
}

void look_at_source(Call& call, const S3Object& object,
                    const std::function<void(const CopySource&)>& then) {
  if (status_by_conditions(call, object, "x-amz-copy-source-") != 200) {
    return s3_fail(call, 412, "PreconditionFailed",
                   "the source is not as a condition of the request wants it");
  }
  CopySource source = {object, 0, object.size};
  const std::string* range = call.head().header(kRange);
  if (range && !read_range(*range, source)) {
    return s3_fail(
        call, 400, "InvalidArgument",
        fmt::format("{} is bytes=FIRST-LAST, and the source has {} bytes", kRange, object.size));
  }
  then(source);
}

}  // namespace

void with_copy_source(Call& call, std::function<void(const CopySource&)> then) {
  const std::optional<S3Target> source = source_of(call.head().header_or(kSource, ""));
  if (!source) {
    return s3_fail(call, 400, "InvalidArgument",
                   fmt::format("{} is BUCKET/KEY, percent-encoded, without a version", kSource));
  }
  with_bucket(call, source->bucket, [&call, source = *source, then = std::move(then)] {
    with_object(call, source, [&call, source, then](const S3Object& object) {
      if (object.version != 0) return look_at_source(call, object, then);
      s3_fail(call, 404, "NoSuchKey", fmt::format("there is no object '{}'", source.key));
    });
  });
}

void take_copy(Call& call, const CopySource& source, const std::vector<ChecksumKind>& kinds,
               std::function<void(Intake&)> then) {
  call.keep(std::make_unique<CopyIntake>(call, source, kinds, std::move(then))).pump();
}

void copy_object(Call& call, const S3Target& target) {
  const std::string* word = call.head().header("x-amz-checksum-algorithm");
  const std::optional<ChecksumKind> asked = word ? checksum_of_word(*word) : std::nullopt;
  if (call.head().header(kRange) || (word && !asked)) {
    return s3_fail(call, 400, "InvalidArgument",
                   fmt::format("a copy to an object has no {}, and its x-amz-checksum-algorithm is "
                               "CRC32, CRC32C, CRC64NVME, SHA1 or SHA256",
                               kRange));
  }
  with_bucket(call, target.bucket, [&call, target, asked] {
    with_copy_source(call, [&call, target, asked](const CopySource& source) {
      S3Object object = source.object;
      std::vector<ChecksumKind> kinds;
      const bool known = object.checksum && (!asked || *asked == object.checksum->kind);
      if (!known) kinds.push_back(asked.value_or(kChecksumOfS3));
      object.changed_ms = call.wall().time_since_epoch().count();
      if (call.head().header_or("x-amz-metadata-directive", "COPY") == "REPLACE") {
        object.headers = kept_headers(call.head());
      }
      take_copy(call, source, kinds, [&call, target, object, kinds](Intake& intake) mutable {
        object.pieces = {intake.piece()};
        if (!kinds.empty()) object.checksum = *intake.checksum(kinds.front());
        intake.keep();
        put_object_row(
            call, {.target = target, .object = object, .then = [&call, object] {
                     Xml xml;
                     xml.open("CopyObjectResult").leaf("LastModified", iso_time(object.changed_ms));
                     xml.leaf("ETag", fmt::format("\"{}\"", object.etag));
                     add_checksum(xml, *object.checksum);
                     call.reply(xml_reply(200, xml.close("CopyObjectResult")));
                   }});
      });
    });
  });
}

}  // namespace dunlin::aws
