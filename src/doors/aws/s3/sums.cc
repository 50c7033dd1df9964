#include "doors/aws/s3/sums.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace dunlin::aws {

SumForm sum_form_in(const json& value) {
  const std::optional<ChecksumKind> kind = checksum_of_word(text_or(value, "checksum", ""));
  if (!kind) return {};
  return {*kind, flag_member(value, "composite"), true};
}

std::string_view form_word(const SumForm& sum) {
  return sum.composite ? "COMPOSITE" : "FULL_OBJECT";
}

std::optional<SumForm> read_sum_form(Call& call) {
  const std::string* word = header_or_parameter(call, "x-amz-checksum-algorithm");
  const std::string* type = header_or_parameter(call, "x-amz-checksum-type");
  const auto wrong = [&](std::string_view why) {
    s3_fail(call, 400, "InvalidRequest", why);
    return std::optional<SumForm>();
  };
  if (!word) return type ? wrong("x-amz-checksum-type needs x-amz-checksum-algorithm") : SumForm();
  const std::optional<ChecksumKind> kind = checksum_of_word(*word);
  if (!kind) {
    return wrong("x-amz-checksum-algorithm is CRC32, CRC32C, CRC64NVME, SHA1 or SHA256");
  }
  SumForm sum = {*kind, *kind != ChecksumKind::crc64nvme, true};
  if (!type) return sum;
  sum.composite = *type == "COMPOSITE";
  if ((!sum.composite && *type != "FULL_OBJECT") || (!sum.composite && !is_crc(*kind)) ||
      (sum.composite && *kind == ChecksumKind::crc64nvme)) {
    return wrong(
        "x-amz-checksum-type is COMPOSITE or FULL_OBJECT; SHA1 and SHA256 have only the first, "
        "CRC64NVME only the second");
  }
  return sum;
}

void add_sum_form(http::Headers& headers, const SumForm& sum) {
  if (!sum.said) return;
  headers.emplace_back("x-amz-checksum-algorithm", checksum_word(sum.kind));
  headers.emplace_back("x-amz-checksum-type", form_word(sum));
}

bool has_said_sums(Call& call, const SumForm& sum, const StoredPart& part, const XmlElement& said) {
  for (const ChecksumKind kind : kChecksums) {
    const std::optional<std::string> text = said.text_of(checksum_element(kind));
    if (!text && sum.said && sum.composite && kind == sum.kind) {
      s3_fail(call, 400, "InvalidRequest",
              fmt::format("the upload was created for {}: each part of the list needs its {}",
                          checksum_word(kind), checksum_element(kind)));
      return false;
    }
    // Of another kind it was checked when the part came, and is not kept.
    if (!text || kind != sum.kind || *text == part.checksum) continue;
    s3_fail(
        call, 400, "InvalidPart",
        fmt::format("part {} has another {} than the list says", part.number, checksum_word(kind)));
    return false;
  }
  return true;
}

std::optional<Checksum> sum_of(const SumForm& sum, const std::vector<const StoredPart*>& parts) {
  if (sum.composite) {
    ChecksumSum all(sum.kind);
    for (const StoredPart* part : parts) all.update(from_base64(part->checksum).value_or(""));
    return Checksum{sum.kind, fmt::format("{}-{}", all.finish().text, parts.size()), true};
  }
  std::optional<std::string> text;
  for (const StoredPart* part : parts) {
    text = text ? joined(sum.kind, *text, part->checksum, part->piece.size)
                : std::optional(part->checksum);
    if (!text || !is_checksum(sum.kind, *text)) return std::nullopt;
  }
  return Checksum{sum.kind, *text, false};
}

bool is_whole_as_said(Call& call, const SumForm& sum, const S3Object& object) {
  const auto wrong = [&](std::string_view code, std::string_view why) {
    s3_fail(call, 400, code, why);
    return false;
  };
  const std::string* size = call.head().header("x-amz-mp-object-size");
  if (size && *size != std::to_string(object.size)) {
    return wrong("InvalidRequest",
                 fmt::format("x-amz-mp-object-size is not the size of all parts, {}", object.size));
  }
  const std::string* type = call.head().header("x-amz-checksum-type");
  if (type && *type != form_word(sum)) {
    return wrong("InvalidRequest",
                 fmt::format("the upload was created with x-amz-checksum-type {}", form_word(sum)));
  }
  for (const ChecksumKind kind : kChecksums) {
    const std::string* said = call.head().header(checksum_header(kind));
    if (!said) continue;
    if (kind != sum.kind) {
      return wrong("InvalidRequest", fmt::format("the upload was created for {}, not {}",
                                                 checksum_word(sum.kind), checksum_word(kind)));
    }
    if (!object.checksum || *said != object.checksum->text) {
      return wrong("BadDigest",
                   fmt::format("the {} does not match all parts", checksum_word(kind)));
    }
  }
  return true;
}

}  // namespace dunlin::aws
