// The body of an upload on its way into a blob, and whether it is what the request says about it.
#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "doors/aws/call/auth.h"
#include "doors/aws/call/aws_chunked.h"
#include "doors/aws/s3/intake.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kStreaming = "STREAMING-";
constexpr std::string_view kAlgorithm = "x-amz-sdk-checksum-algorithm";

// A presigned URL of AWS's SDK says this of a body that it did not know: the sum of no bytes.
bool says_nothing(const Call& call, ChecksumKind kind) {
  const std::string name = checksum_header(kind);
  const std::string* said = parameter(call, name);
  return said != nullptr && call.head().header(name) == nullptr &&
         *said == ChecksumSum(kind).finish().text;
}

bool is_announced(const Call& call, ChecksumKind kind) {
  const std::string name = checksum_header(kind);
  if (header_or_parameter(call, name) != nullptr) return true;
  const std::string names = call.head().header_or("x-amz-trailer", "");
  for (std::string_view rest = names; !rest.empty();) {
    std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (lower_case(one) == name) return true;
  }
  return false;
}

class BodyIntake final : public BlobIntake {
 public:
  BodyIntake(Call& call, const std::vector<ChecksumKind>& kinds, std::optional<ChecksumKind> asked,
             std::function<void(Intake&)> then)
      : BlobIntake(call, kinds, std::move(then)), asked_(asked) {
    said_hash_ = call.head().header_or(
        "x-amz-content-sha256", call.claim().expires_s > 0 ? kUnsignedPayload : hex(sha256("")));
    if (said_hash_.starts_with(kStreaming)) decoder_.emplace(signer());
  }

 protected:
  void read_more() override {
    call().read([this](std::string&& bytes, bool end) { decode(std::move(bytes), end); });
  }
  bool is_as_said() override {
    const std::string* length = call().head().header("x-amz-decoded-content-length");
    if ((decoder_ && !decoder_->done()) || (length && *length != std::to_string(piece().size))) {
      s3_fail(call(), 400, "IncompleteBody", "the body is shorter or longer than the request says");
      return false;
    }
    if (said_hash_.size() == 64 && said_hash_ != hex(sha256_.finish())) {
      s3_fail(call(), 400, "XAmzContentSHA256Mismatch",
              "the header x-amz-content-sha256 does not match the body");
      return false;
    }
    const std::string* digest = call().head().header("content-md5");
    if (digest && *digest != to_base64(md5())) {
      s3_fail(call(), 400, "BadDigest", "the Content-MD5 does not match the body");
      return false;
    }
    return has_no_other_trailer() && (!asked_ || has_checksum(*asked_));
  }

 private:
  std::optional<ChunkSigner> signer() {
    if (said_hash_.find("UNSIGNED") != std::string::npos) return std::nullopt;
    const Claim& claim = call().claim();
    return ChunkSigner{signing_key(call().secret(), claim.scope), claim.time, claim.scope.text(),
                       claim.signature};
  }

  void decode(std::string&& bytes, bool end) {
    if (end) ended();
    std::string decoded;
    if (decoder_) {
      if (const Result<void> fed = decoder_->feed(bytes, decoded); !fed.ok()) {
        const bool denied = fed.error().code == Code::denied;
        return s3_fail(call(), denied ? 403 : 400,
                       denied ? "SignatureDoesNotMatch" : "IncompleteBody", fed.error().what);
      }
    } else {
      decoded = std::move(bytes);
    }
    if (said_hash_.size() == 64) sha256_.update(decoded);
    take(decoded);
    if (piece().size > kUploadMax) {
      return s3_fail(call(), 400, "EntityTooLarge",
                     "an upload has at most 5 GiB: use a multipart upload for more");
    }
    pump();
  }

  bool has_no_other_trailer() {
    if (!decoder_) return true;
    for (const auto& [name, value] : decoder_->trailers()) {
      if (!name.starts_with("x-amz-checksum-")) continue;
      if (asked_ && name == checksum_header(*asked_)) continue;
      s3_fail(call(), 400, "MalformedTrailerError",
              fmt::format("the header x-amz-trailer does not announce {}", escape(name)));
      return false;
    }
    return true;
  }

  // In a header, behind the body, or both.
  bool has_checksum(ChecksumKind kind) {
    const std::string name = checksum_header(kind);
    const std::string* behind = decoder_ ? http::find_header(decoder_->trailers(), name) : nullptr;
    bool some = false;
    for (const std::string* said : {header_or_parameter(call(), name), behind}) {
      if (said == nullptr) continue;
      some = true;
      if (*said == checksum(kind)->text) continue;
      s3_fail(call(), 400, "BadDigest",
              fmt::format("the {} {} does not match the body, whose is {}", checksum_word(kind),
                          quote(said->substr(0, 64)), checksum(kind)->text));
      return false;
    }
    if (some) return true;
    s3_fail(call(), 400, "MalformedTrailerError",
            fmt::format("the trailer {} that x-amz-trailer announces is missing", name));
    return false;
  }

  const std::optional<ChecksumKind> asked_;
  std::string said_hash_;
  std::optional<ChunkDecoder> decoder_;
  Digest sha256_{Digest::Kind::sha256};
};

}  // namespace

bool read_asked_checksum(Call& call, std::optional<ChecksumKind>& asked) {
  const auto wrong = [&](std::string_view why) {
    s3_fail(call, 400, "InvalidRequest", why);
    return false;
  };
  std::optional<ChecksumKind> announced;
  for (const ChecksumKind kind : kChecksums) {
    if (!is_announced(call, kind)) continue;
    if (announced) return wrong("there is more than one x-amz-checksum- header: send one");
    announced = kind;
    const std::string* said = header_or_parameter(call, checksum_header(kind));
    if (said != nullptr && !is_checksum(kind, *said)) {
      return wrong(fmt::format("the value of {} is no {} in base64", checksum_header(kind),
                               checksum_word(kind)));
    }
  }
  if (const std::string* word = header_or_parameter(call, kAlgorithm)) {
    const std::optional<ChecksumKind> kind = checksum_of_word(*word);
    if (!kind) {
      return wrong(fmt::format("the value of {} is none of CRC32, CRC32C, CRC64NVME, SHA1, SHA256",
                               kAlgorithm));
    }
    if (kind != announced) {
      return wrong(fmt::format("{} says {}, and there is no {} in a header or trailer", kAlgorithm,
                               checksum_word(*kind), checksum_header(*kind)));
    }
  }
  if (announced && says_nothing(call, *announced)) announced.reset();
  asked = announced;
  return true;
}

bool is_body_as_said(Call& call, std::string_view body) {
  std::optional<ChecksumKind> asked;
  if (!read_asked_checksum(call, asked)) return false;
  const std::string* digest = call.head().header("content-md5");
  bool good = !digest || *digest == to_base64(md5(body));
  if (good && asked) {
    ChecksumSum sum(*asked);
    sum.update(body);
    const std::string* said = header_or_parameter(call, checksum_header(*asked));
    good = said != nullptr && *said == sum.finish().text;
  }
  if (!good) s3_fail(call, 400, "BadDigest", "the Content-MD5 or checksum does not match the body");
  return good;
}

std::optional<XmlElement> read_document(Call& call, std::string_view body) {
  std::optional<XmlElement> document = read_xml(body);
  if (!document) s3_fail(call, 400, "MalformedXML", "the body is not a whole XML document");
  return document;
}

void take_body(Call& call, std::vector<ChecksumKind> kinds, std::optional<ChecksumKind> asked,
               std::function<void(Intake&)> then) {
  if (asked && std::ranges::find(kinds, *asked) == kinds.end()) kinds.push_back(*asked);
  call.keep(std::make_unique<BodyIntake>(call, kinds, asked, std::move(then))).pump();
}

}  // namespace dunlin::aws
