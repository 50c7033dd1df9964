// The body of an upload on its way into a blob: decoded, hashed, and cut into parts.
#include <charconv>
#include <fmt/format.h>

#include "aws/auth.h"
#include "aws/aws_chunked.h"
#include "aws/s3.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

constexpr uint64_t kSizeMax = uint64_t{5} << 30U;  // Of one upload, as in S3.
constexpr std::string_view kStreaming = "STREAMING-";

class BodyIntake final : public Intake {
 public:
  BodyIntake(Call& call, std::function<void(Intake&)> then)
      : call_(call), then_(std::move(then)), upload_(call.fresh_number()) {
    const bool presigned = call.claim().expires_s > 0;
    said_hash_ = call.head().header_or("x-amz-content-sha256",
                                       presigned ? kUnsignedPayload : hex(sha256("")));
    if (said_hash_.starts_with(kStreaming)) decoder_.emplace(signer());
  }
  ~BodyIntake() override {
    if (named_ && !kept_) call_.forget({piece_.blob});
  }
  BodyIntake(const BodyIntake&) = delete;
  BodyIntake& operator=(const BodyIntake&) = delete;

  const Piece& piece() const override { return piece_; }
  const std::string& md5() const override { return md5_bytes_; }
  const std::string& crc32() const override { return crc_text_; }
  void keep() override { kept_ = true; }

  void pump() {
    if (pending_.size() >= kBlobPart || (ended_ && !pending_.empty())) return send_part();
    if (ended_) return finish();
    call_.read([this](std::string&& bytes, bool end) { take(std::move(bytes), end); });
  }

 private:
  std::optional<ChunkSigner> signer() const {
    if (said_hash_.find("UNSIGNED") != std::string::npos) return std::nullopt;
    const Claim& claim = call_.claim();
    return ChunkSigner{signing_key(call_.secret(), claim.scope), claim.time, claim.scope.text(),
                       claim.signature};
  }

  void take(std::string&& bytes, bool end) {
    ended_ = end;
    std::string decoded;
    if (decoder_) {
      if (const Result<void> fed = decoder_->feed(bytes, decoded); !fed.ok()) {
        const bool denied = fed.error().code == Code::denied;
        return s3_fail(call_, denied ? 403 : 400,
                       denied ? "SignatureDoesNotMatch" : "IncompleteBody", fed.error().what);
      }
    } else {
      decoded = std::move(bytes);
    }
    md5_.update(decoded);
    if (said_hash_.size() == 64) sha256_.update(decoded);
    crc_ = dunlin::crc32(crc_, decoded);
    piece_.size += decoded.size();
    if (piece_.size > kSizeMax) {
      return s3_fail(call_, 400, "EntityTooLarge",
                     "an upload has at most 5 GiB: use a multipart upload for more");
    }
    pending_ += decoded;
    pump();
  }

  void send_part() {
    BlobPart part{upload_, offset_, pending_.substr(0, kBlobPart)};
    pending_.erase(0, part.bytes.size());
    offset_ += part.bytes.size();
    call_.ask(std::move(part), [this](Answer&& answer) {
      if (s3_expect<Done>(call_, answer)) pump();
    });
  }

  // What the request says about its body, in a header or behind it.
  const std::string* said(std::string_view name) const {
    if (decoder_) {
      if (const std::string* trailer = find_header(decoder_->trailers(), name)) return trailer;
    }
    return call_.head().header(name);
  }

  bool is_as_said() {
    md5_bytes_ = md5_.finish();
    crc_text_ = crc32_base64(crc_);
    const std::string* length = call_.head().header("x-amz-decoded-content-length");
    if ((decoder_ && !decoder_->done()) || (length && *length != std::to_string(piece_.size))) {
      s3_fail(call_, 400, "IncompleteBody", "the body is shorter or longer than the request says");
      return false;
    }
    if (said_hash_.size() == 64 && said_hash_ != hex(sha256_.finish())) {
      s3_fail(call_, 400, "XAmzContentSHA256Mismatch",
              "the header x-amz-content-sha256 does not match the body");
      return false;
    }
    const std::string* digest = call_.head().header("content-md5");
    const std::string* crc = said("x-amz-checksum-crc32");
    if ((digest && *digest != to_base64(md5_bytes_)) || (crc && *crc != crc_text_)) {
      s3_fail(call_, 400, "BadDigest", "the Content-MD5 or checksum does not match the body");
      return false;
    }
    return true;
  }

  void finish() {
    if (!is_as_said()) return;
    piece_.blob = call_.fresh_blob();
    named_ = true;
    // In one turn, so in one commit, in this order.
    call_.ask(Commit{0, {loosen(piece_.blob)}}, [this](Answer&& answer) {
      if (const auto* error = std::get_if<Error>(&answer)) failed_ = *error;
    });
    call_.ask(BlobEnd{upload_, piece_.blob, piece_.size}, [this](Answer&& answer) {
      if (failed_) return s3_fail(call_, *failed_);
      if (!s3_expect<Done>(call_, answer)) return;
      const std::function<void(Intake&)> then = std::move(then_);
      then(*this);
    });
  }

  Call& call_;
  std::function<void(Intake&)> then_;
  const uint64_t upload_;
  std::string said_hash_;
  std::optional<ChunkDecoder> decoder_;
  std::string pending_;
  uint64_t offset_ = 0;
  bool ended_ = false;
  Digest md5_{Digest::Kind::md5};
  Digest sha256_{Digest::Kind::sha256};
  uint32_t crc_ = 0;
  Piece piece_;
  std::string md5_bytes_;
  std::string crc_text_;
  std::optional<Error> failed_;
  bool named_ = false;
  bool kept_ = false;
};

}  // namespace

void take_body(Call& call, std::function<void(Intake&)> then) {
  call.keep(std::make_unique<BodyIntake>(call, std::move(then))).pump();
}

}  // namespace dunlin::aws
