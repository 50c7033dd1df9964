// S3's uploads in parts. An upload is a row and so is each of its parts, whose bytes are in a blob;
// to complete it is to write a row of the object that names those blobs, so nothing is copied.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "aws/keys.h"
#include "aws/s3_intake.h"
#include "aws/s3_sums.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

// A commit erases their rows and loosens those of the object before, and takes no more.
constexpr uint64_t kPartsMax = 4'900;
constexpr uint64_t kPartNumberMax = 10'000;
constexpr uint64_t kPartSizeMin = 5 << 20;  // Of all but the last.

std::string uploads_prefix(const std::string& bucket) { return sortable_bytes(bucket) + kPartEnd; }

// A row of kUploadsTable; the rows of its parts have the number behind.
std::string upload_key(const S3Target& target, const std::string& id) {
  return uploads_prefix(target.bucket) + id + kPartEnd;
}

std::optional<uint64_t> part_number(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (number < 1 || number > kPartNumberMax) return std::nullopt;
  return number;
}

struct Upload {
  std::string id;
  std::string key;  // Of its row.
  json headers = json::value_t::null;
  SumForm sum;
  uint64_t version = 0;
};

void with_upload(Call& call, const S3Target& target, std::function<void(const Upload&)> then) {
  const std::string* id = parameter(call, "uploadId");
  const auto missing = [&call] {
    s3_fail(call, 404, "NoSuchUpload", "there is no such upload: it was completed or aborted");
  };
  if (!id || id->size() != 32 || !from_hex(*id)) return missing();
  const std::string key = upload_key(target, *id);
  call.ask(Get{std::string(kUploadsTable), {key}},
           [&call, target, key, missing, id = *id, then = std::move(then)](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             const Row& row = rows->rows.at(0);
             const json value = parse_object(row.value).value_or(json::object());
             if (row.version == 0 || text_or(value, "key", "") != target.key) return missing();
             then({id, key, object_or_empty(value, "headers"), sum_form_in(value), row.version});
           });
}

// --- The parts of an upload ---

StoredPart part_of(const Row& row) {
  const json value = parse_object(row.value).value_or(json::object());
  StoredPart part;
  part.row = row.key;
  part.number = part_number(row.key.substr(row.key.rfind(kPartEnd) + 1)).value_or(0);
  part.etag = text_or(value, "etag", "");
  part.changed_ms = number_or(value, "changed_ms", 0);
  part.checksum = text_or(value, "checksum", "");
  part.piece = {text_or(value, "blob", ""),
                static_cast<uint64_t>(std::max<int64_t>(0, number_or(value, "size", 0)))};
  return part;
}

struct PartsState final : CallState {
  Upload upload;
  S3Target target;
  std::vector<StoredPart> parts;
  std::function<void(PartsState&)> then;
};

void read_parts(Call& call, PartsState& state) {
  const std::string after = state.parts.empty() ? state.upload.key : state.parts.back().row;
  call.ask(Scan{std::string(kUploadsTable), state.upload.key, after, 1000},
           [&call, &state](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             if (rows->rows.empty()) return state.then(state);
             for (const Row& row : rows->rows) state.parts.push_back(part_of(row));
             read_parts(call, state);
           });
}

void with_parts(Call& call, const S3Target& target, std::function<void(PartsState&)> then) {
  with_upload(call, target, [&call, target, then = std::move(then)](const Upload& upload) {
    PartsState& state = call.keep(std::make_unique<PartsState>());
    state.upload = upload;
    state.target = target;
    state.then = then;
    read_parts(call, state);
  });
}

std::vector<Write> erasures(const PartsState& state) {
  std::vector<Write> writes;
  writes.emplace_back(Erase{std::string(kUploadsTable), state.upload.key, state.upload.version});
  for (const StoredPart& part : state.parts) {
    writes.emplace_back(Erase{std::string(kUploadsTable), part.row, kAnyVersion});
  }
  return writes;
}

// --- Operations ---

// The row of a part over one of the same number, whose blob goes.
void put_part_row(Call& call, const std::string& key, const std::string& value,
                  const std::string& blob, const std::function<void()>& then) {
  call.must_end();
  call.ask(Get{std::string(kUploadsTable), {key}}, [=, &call](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    const Row before = rows->rows.at(0);
    const std::string old = part_of(before).piece.blob;
    Commit commit{0, {Put{std::string(kUploadsTable), key, value, before.version}, fasten(blob)}};
    if (!old.empty()) commit.writes.emplace_back(loosen(old));
    call.ask(std::move(commit), [=, &call](Answer&& done) {
      const auto* error = std::get_if<Error>(&done);
      if (error && error->code == Code::conflict) {
        return put_part_row(call, key, value, blob, then);
      }
      if (error && error->code != Code::unavailable) call.forget({blob});
      if (error) return s3_fail(call, *error);
      if (!old.empty()) call.forget({old});
      then();
    });
  });
}

std::string part_value(Call& call, const Intake& intake, const SumForm& sum) {
  return dump({{"etag", hex(intake.md5())},
               {"size", intake.piece().size},
               {"blob", intake.piece().blob},
               {"checksum", intake.checksum(sum.kind)->text},
               {"changed_ms", call.wall().time_since_epoch().count()}});
}

void take_part(Call& call, const Upload& upload, const std::string& row) {
  std::optional<ChecksumKind> asked;
  if (!read_asked_checksum(call, asked)) return;
  const SumForm sum = upload.sum;
  if (sum.said && asked && *asked != sum.kind) {
    return s3_fail(call, 400, "InvalidRequest",
                   fmt::format("the upload was created for {}, and this part comes with {}",
                               checksum_word(sum.kind), checksum_word(*asked)));
  }
  take_body(call, {sum.kind}, asked, [&call, row, sum, asked](Intake& intake) {
    Headers headers = {{"etag", fmt::format("\"{}\"", hex(intake.md5()))}};
    const Checksum& told = *intake.checksum(sum.said ? sum.kind : asked.value_or(sum.kind));
    headers.emplace_back(checksum_header(told.kind), told.text);
    intake.keep();
    put_part_row(call, row, part_value(call, intake, sum), intake.piece().blob, [&call, headers] {
      call.reply({.status = 200, .headers = headers, .body = "", .length = {}});
    });
  });
}

void copy_part(Call& call, const Upload& upload, const std::string& row) {
  with_copy_source(call, [&call, row, sum = upload.sum](const CopySource& source) {
    if (source.size > kUploadMax) {
      return s3_fail(call, 400, "EntityTooLarge",
                     "a part has at most 5 GiB: copy a range with x-amz-copy-source-range");
    }
    take_copy(call, source, {sum.kind}, [&call, row, sum](Intake& intake) {
      Xml xml;
      xml.open("CopyPartResult");
      xml.leaf("LastModified", iso_time(call.wall().time_since_epoch().count()));
      xml.leaf("ETag", fmt::format("\"{}\"", hex(intake.md5())));
      if (sum.said) xml.leaf(checksum_element(sum.kind), intake.checksum(sum.kind)->text);
      xml.close("CopyPartResult");
      intake.keep();
      put_part_row(call, row, part_value(call, intake, sum), intake.piece().blob,
                   [&call, xml] { call.reply(xml_reply(200, xml)); });
    });
  });
}

// The object that the client's list of parts makes; the reply has been given if it makes none.
std::optional<S3Object> assemble(Call& call, const PartsState& state, std::string_view body) {
  std::map<uint64_t, const StoredPart*> known;
  for (const StoredPart& part : state.parts) known[part.number] = &part;
  S3Object object;
  std::string hashes;
  std::vector<const StoredPart*> parts;
  uint64_t last = 0;
  uint64_t last_size = kPartSizeMin;
  while (const std::optional<std::string_view> part = next_element(body, "Part")) {
    const auto number = part_number(element_text(*part, "PartNumber").value_or(""));
    std::string etag = element_text(*part, "ETag").value_or("");
    std::erase(etag, '"');
    const auto found = number ? known.find(*number) : known.end();
    if (found == known.end() || found->second->etag != etag) {
      s3_fail(call, 400, "InvalidPart", "a part of the list was not uploaded, or has another etag");
      return std::nullopt;
    }
    if (*number <= last) {
      s3_fail(call, 400, "InvalidPartOrder", "the parts are not in the order of their numbers");
      return std::nullopt;
    }
    if (last_size < kPartSizeMin) {
      s3_fail(call, 400, "EntityTooSmall", "a part that is not the last has less than 5 MiB");
      return std::nullopt;
    }
    if (!has_said_sums(call, state.upload.sum, *found->second, *part)) return std::nullopt;
    parts.push_back(found->second);
    last = *number;
    last_size = found->second->piece.size;
    object.size += last_size;
    object.pieces.push_back(found->second->piece);
    hashes += from_hex(etag).value_or("");
  }
  if (object.pieces.empty() || object.pieces.size() > kPartsMax) {
    s3_fail(call, 400, "MalformedXML", fmt::format("an upload has 1 to {} parts here", kPartsMax));
    return std::nullopt;
  }
  object.etag = fmt::format("{}-{}", hex(md5(hashes)), object.pieces.size());
  object.checksum = sum_of(state.upload.sum, parts);
  if (!is_whole_as_said(call, state.upload.sum, object)) return std::nullopt;
  return object;
}

}  // namespace

void create_upload(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::optional<SumForm> sum = read_sum_form(call);
  if (!sum) return;
  with_bucket(call, target.bucket, [&call, target, sum = *sum] {
    const std::string id = hex(random_bytes(16));
    json value = {{"key", target.key},
                  {"headers", kept_headers(call.head())},
                  {"created_ms", call.wall().time_since_epoch().count()}};
    if (sum.said) value["checksum"] = checksum_word(sum.kind);
    if (sum.composite) value["composite"] = true;
    call.ask(Commit{0, {Put{std::string(kUploadsTable), upload_key(target, id), dump(value), 0}}},
             [&call, target, id, sum](Answer&& answer) {
               if (!s3_expect<Committed>(call, answer)) return;
               Xml xml;
               xml.open("InitiateMultipartUploadResult").leaf("Bucket", target.bucket);
               xml.leaf("Key", target.key).leaf("UploadId", id);
               xml.close("InitiateMultipartUploadResult");
               HttpReply reply = xml_reply(200, xml);
               add_sum_form(reply.headers, sum);
               call.reply(std::move(reply));
             });
  });
}

void upload_part(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::string* text = parameter(call, "partNumber");
  const std::optional<uint64_t> number = text ? part_number(*text) : std::nullopt;
  if (!number) return s3_fail(call, 400, "InvalidArgument", "a part number is 1 to 10000");
  with_upload(call, target, [&call, number](const Upload& upload) {
    const std::string row = fmt::format("{}{:05}", upload.key, *number);
    const bool copies = call.head().header("x-amz-copy-source") != nullptr;
    copies ? copy_part(call, upload, row) : take_part(call, upload, row);
  });
}

void complete_upload(Call& call, const S3Target& target, std::string_view body) {
  with_parts(call, target, [&call, body = std::string(body)](PartsState& state) {
    std::optional<S3Object> object = assemble(call, state, body);
    if (!object) return;
    object->changed_ms = call.wall().time_since_epoch().count();
    object->headers = state.upload.headers;
    std::vector<std::string> unused;
    std::vector<Write> writes = erasures(state);
    for (const StoredPart& part : state.parts) {
      const bool used =
          std::ranges::find(object->pieces, part.piece.blob, &Piece::blob) != object->pieces.end();
      if (used) continue;
      unused.push_back(part.piece.blob);
      writes.emplace_back(loosen(part.piece.blob));
    }
    put_object_row(call, state.target, *object, Ownership::shared, std::move(writes),
                   [&call, &state, unused, etag = object->etag, sum = object->checksum] {
                     call.forget(unused);
                     Xml xml;
                     xml.open("CompleteMultipartUploadResult");
                     xml.leaf("Location", call.head().path).leaf("Bucket", state.target.bucket);
                     xml.leaf("Key", state.target.key).leaf("ETag", fmt::format("\"{}\"", etag));
                     if (sum) add_checksum(xml, *sum);
                     xml.close("CompleteMultipartUploadResult");
                     call.reply(xml_reply(200, xml));
                   });
  });
}

void abort_upload(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_parts(call, target, [&call](PartsState& state) {
    call.must_end();
    Commit commit{0, erasures(state)};
    std::vector<std::string> blobs;
    for (const StoredPart& part : state.parts) {
      commit.writes.emplace_back(loosen(part.piece.blob));
      blobs.push_back(part.piece.blob);
    }
    call.ask(std::move(commit), [&call, blobs](Answer&& answer) {
      if (!s3_expect<Committed>(call, answer)) return;
      call.forget(blobs);
      call.reply({.status = 204, .headers = {}, .body = "", .length = {}});
    });
  });
}

void list_parts(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_parts(call, target, [&call](PartsState& state) {
    const std::string* marker = parameter(call, "part-number-marker");
    const std::string* max_text = parameter(call, "max-parts");
    const uint64_t after = marker ? part_number(*marker).value_or(0) : 0;
    const uint64_t max =
        std::min<uint64_t>(1000, max_text ? part_number(*max_text).value_or(1000) : 1000);
    Xml xml;
    xml.open("ListPartsResult").leaf("Bucket", state.target.bucket).leaf("Key", state.target.key);
    xml.leaf("UploadId", state.upload.id).leaf("PartNumberMarker", after).leaf("MaxParts", max);
    uint64_t shown = 0;
    uint64_t last = after;
    bool more = false;
    for (const StoredPart& part : state.parts) {
      if (part.number <= after) continue;
      more = shown == max;
      if (more) break;
      ++shown;
      last = part.number;
      xml.open("Part").leaf("PartNumber", part.number);
      xml.leaf("LastModified", iso_time(part.changed_ms));
      xml.leaf("ETag", fmt::format("\"{}\"", part.etag)).leaf("Size", part.piece.size);
      const SumForm& sum = state.upload.sum;
      if (sum.said) xml.leaf(checksum_element(sum.kind), part.checksum);
      xml.close("Part");
    }
    if (state.upload.sum.said) {
      xml.leaf("ChecksumAlgorithm", checksum_word(state.upload.sum.kind));
      xml.leaf("ChecksumType", form_word(state.upload.sum));
    }
    xml.leaf("NextPartNumberMarker", last).leaf("IsTruncated", more ? "true" : "false");
    xml.close("ListPartsResult");
    call.reply(xml_reply(200, xml));
  });
}

}  // namespace dunlin::aws
