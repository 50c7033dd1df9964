// The checksums of an upload in parts: of which kind they are, whether they are what the client
// says, and how those of the parts become the one of the whole. Functions that take a Call run in
// the door's thread and reply themselves if something is wrong; the others are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/aws/s3/s3.h"

namespace dunlin::aws {

// The checksum that an upload's parts have, and what becomes of theirs in the end.
struct SumForm {
  ChecksumKind kind = kChecksumOfS3;
  bool composite = false;
  bool said = false;  // By the client.
};

SumForm sum_form_in(const json& value);          // Of an upload's row.
std::string_view form_word(const SumForm& sum);  // "COMPOSITE"

struct StoredPart {
  uint64_t number = 0;
  std::string etag;
  int64_t changed_ms = 0;
  Piece piece;
  std::string checksum;  // Of its upload's kind; empty in uploads of before there were kinds.
  std::string row;
};

// What a request says that the checksums shall be; replies itself if that cannot be.
std::optional<SumForm> read_sum_form(Call& call);
void add_sum_form(http::Headers& headers, const SumForm& sum);

// Whether the part has the checksums that the request says it has, in `said`; replies if not.
bool has_said_sums(Call& call, const SumForm& sum, const StoredPart& part, const XmlElement& said);

// The checksum of the whole from those of its parts, in their order. Nothing if a part has none.
std::optional<Checksum> sum_of(const SumForm& sum, const std::vector<const StoredPart*>& parts);

// Whether what headers say about the whole object is true; replies if not.
bool is_whole_as_said(Call& call, const SumForm& sum, const S3Object& object);

}  // namespace dunlin::aws
