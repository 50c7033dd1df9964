// S3's uploads in parts. An upload is a row and so is each of its parts, whose bytes are in a blob;
// to complete it is to write a row of the object that names those blobs, so nothing is copied.
//
// Every commit to an upload moves its row: that of a part, too, and one that ends the upload
// empties the row, which is erased in another one. To erase it at once would prove nothing, as a
// row that is gone may be erased. So of parts that come again, completions and aborts at the same
// time none takes blobs that another has named or dropped.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/intake.h"
#include "doors/aws/s3/sums.h"

namespace dunlin::aws {
namespace {

// A commit erases their rows and loosens those of the object before, and takes no more.
constexpr uint64_t kPartsMax = 4'900;
constexpr uint64_t kPartSizeMin = 5 << 20;  // Of all but the last.
constexpr size_t kDropMax = 4'000;          // Parts, by one commit.
constexpr size_t kUnusedMax = 100;          // Parts that are dropped by the commit that completes.
constexpr int kTriesMax = 200;

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
  if (number < 1 || number > kPartsMax) return std::nullopt;
  return number;
}

struct Upload {
  std::string id;
  Row row;
  json headers = json::value_t::null;
  SumForm sum;
};

// The commit begins with this: nobody else has changed the upload.
Put with_row(const Upload& upload, std::string_view value) {
  return {std::string(kUploadsTable), upload.row.key, std::string(value), upload.row.version};
}

void fail_missing(Call& call) {
  s3_fail(call, 404, "NoSuchUpload", "there is no such upload: it was completed or aborted");
}

// Nothing if the row is not there, or that of another object's upload.
std::optional<Upload> upload_of(const S3Target& target, const std::string& id, const Row& row) {
  const json value = parse_object(row.value).value_or(json::object());
  if (row.version == 0 || text_or(value, "key", "") != target.key) return std::nullopt;
  return Upload{id, row, object_or_empty(value, "headers"), sum_form_in(value)};
}

void with_upload(Call& call, const S3Target& target, std::function<void(const Upload&)> then) {
  const std::string* id = parameter(call, "uploadId");
  if (!id || id->size() != 32 || !from_hex(*id)) return fail_missing(call);
  with_bucket(call, target.bucket, [&call, target, id = *id, then = std::move(then)] {
    call.ask(Get{std::string(kUploadsTable), {upload_key(target, id)}},
             [&call, target, id, then](Answer&& answer) {
               const auto* rows = s3_expect<Rows>(call, answer);
               if (!rows) return;
               const std::optional<Upload> upload = upload_of(target, id, rows->rows.at(0));
               upload ? then(*upload) : fail_missing(call);
             });
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
  const std::string after = state.parts.empty() ? state.upload.row.key : state.parts.back().row;
  call.ask(Scan{std::string(kUploadsTable), state.upload.row.key, after, 1000},
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

Erase erasure_of(const StoredPart& part) {
  return {std::string(kUploadsTable), part.row, kAnyVersion};
}

// The parts go with their blobs, and `value` is left in the upload's row. False if another has
// changed the upload meanwhile; replies itself if it fails otherwise.
void drop_parts(Call& call, const Upload& upload, const std::vector<StoredPart>& parts,
                std::string_view value, std::function<void(bool)> then) {
  Commit commit{0, {with_row(upload, value)}};
  std::vector<std::string> blobs;
  for (const StoredPart& part : parts) {
    commit.writes.emplace_back(erasure_of(part));
    commit.writes.emplace_back(loosen(part.piece.blob));
    blobs.push_back(part.piece.blob);
  }
  call.ask(std::move(commit), [&call, blobs, then = std::move(then)](Answer&& answer) {
    const auto* error = std::get_if<Error>(&answer);
    if (error && error->code != Code::conflict) return s3_fail(call, *error);
    if (!error) call.forget(blobs);
    then(!error);
  });
}

// Erases what is left of an upload that is over. If we are stopped before, nobody sees it.
void erase_ended(Call& call, const Upload& upload, std::function<void()> then) {
  call.ask(Commit{0, {Erase{std::string(kUploadsTable), upload.row.key, kAnyVersion}}},
           [then = std::move(then)](Answer&& /*answer*/) { then(); });
}

// --- Operations ---

struct NewPart {
  S3Target target;
  Upload upload;
  std::string row = {};
  std::string value = {};
  std::string blob = {};
  std::function<void()> then = {};
};

// The row of a part over one of the same number, whose blob goes. Parts that end together repeat
// this until each was the first once.
void put_part_row(Call& call, const NewPart& part) {
  call.must_end();
  Get get{std::string(kUploadsTable), {part.upload.row.key, part.row}};
  call.ask(std::move(get), [&call, part](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    const std::optional<Upload> upload = upload_of(part.target, part.upload.id, rows->rows.at(0));
    if (!upload) {
      call.forget({part.blob});
      return fail_missing(call);
    }
    const Row& before = rows->rows.at(1);
    const std::string old = part_of(before).piece.blob;
    Commit commit{
        0,
        {with_row(*upload, upload->row.value),
         Put{std::string(kUploadsTable), part.row, part.value, before.version}, fasten(part.blob)}};
    if (!old.empty()) commit.writes.emplace_back(loosen(old));
    call.ask(std::move(commit), [&call, part, old](Answer&& done) {
      const auto* error = std::get_if<Error>(&done);
      if (error && error->code == Code::conflict) return put_part_row(call, part);
      if (error && error->code != Code::unavailable) call.forget({part.blob});
      if (error) return s3_fail(call, *error);
      if (!old.empty()) call.forget({old});
      part.then();
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

void put_part(Call& call, const NewPart& begun, Intake& intake, std::function<void()> then) {
  intake.keep();
  NewPart part = begun;
  part.value = part_value(call, intake, part.upload.sum);
  part.blob = intake.piece().blob;
  part.then = std::move(then);
  put_part_row(call, part);
}

void take_part(Call& call, const NewPart& begun) {
  std::optional<ChecksumKind> asked;
  if (!read_asked_checksum(call, asked)) return;
  const SumForm sum = begun.upload.sum;
  if (sum.said && asked && *asked != sum.kind) {
    return s3_fail(call, 400, "InvalidRequest",
                   fmt::format("the upload was created for {}, and this part comes with {}",
                               checksum_word(sum.kind), checksum_word(*asked)));
  }
  take_body(call, {sum.kind}, asked, [&call, begun, sum, asked](Intake& intake) {
    http::Headers headers = {{"etag", fmt::format("\"{}\"", hex(intake.md5()))}};
    const Checksum& told = *intake.checksum(sum.said ? sum.kind : asked.value_or(sum.kind));
    headers.emplace_back(checksum_header(told.kind), told.text);
    put_part(call, begun, intake, [&call, headers] {
      call.reply({.status = 200, .headers = headers, .body = "", .length = {}});
    });
  });
}

void copy_part(Call& call, const NewPart& begun) {
  with_copy_source(call, [&call, begun](const CopySource& source) {
    if (source.size > kUploadMax) {
      return s3_fail(call, 400, "EntityTooLarge",
                     "a part has at most 5 GiB: copy a range with x-amz-copy-source-range");
    }
    const SumForm sum = begun.upload.sum;
    take_copy(call, source, {sum.kind}, [&call, begun, sum](Intake& intake) {
      Xml xml;
      xml.open("CopyPartResult");
      xml.leaf("LastModified", iso_time(call.wall().time_since_epoch().count()));
      xml.leaf("ETag", fmt::format("\"{}\"", hex(intake.md5())));
      if (sum.said) xml.leaf(checksum_element(sum.kind), intake.checksum(sum.kind)->text);
      xml.close("CopyPartResult");
      put_part(call, begun, intake, [&call, xml] { call.reply(xml_reply(200, xml)); });
    });
  });
}

// The object that the client's list of parts makes; the reply has been given if it makes none.
std::optional<S3Object> assemble(Call& call, const PartsState& state, std::string_view body) {
  const std::optional<XmlElement> list = read_document(call, body);
  if (!list) return std::nullopt;
  std::map<uint64_t, const StoredPart*> known;
  for (const StoredPart& part : state.parts) known[part.number] = &part;
  S3Object object;
  std::string hashes;
  std::vector<const StoredPart*> parts;
  uint64_t last = 0;
  uint64_t last_size = kPartSizeMin;
  for (const XmlElement& part : list->children) {
    if (part.name != "Part") continue;
    const auto number = part_number(part.text_of("PartNumber").value_or(""));
    std::string etag = part.text_of("ETag").value_or("");
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
    if (!has_said_sums(call, state.upload.sum, *found->second, part)) return std::nullopt;
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

void reply_created(Call& call, const S3Target& target, const std::string& id, const SumForm& sum) {
  Xml xml;
  xml.open("InitiateMultipartUploadResult").leaf("Bucket", target.bucket);
  xml.leaf("Key", target.key).leaf("UploadId", id).close("InitiateMultipartUploadResult");
  http::HttpReply reply = xml_reply(200, xml);
  add_sum_form(reply.headers, sum);
  call.reply(std::move(reply));
}

// The bucket was removed before the upload was there.
void take_back(Call& call, const S3Target& target, const std::string& id) {
  call.ask(Commit{0, {Erase{std::string(kUploadsTable), upload_key(target, id), kAnyVersion}}},
           [&call, target](Answer&& /*answer*/) { fail_no_bucket(call, target.bucket); });
}

void reply_completed(Call& call, const S3Target& target, const S3Object& object) {
  Xml xml;
  xml.open("CompleteMultipartUploadResult");
  xml.leaf("Location", call.head().path).leaf("Bucket", target.bucket);
  xml.leaf("Key", target.key).leaf("ETag", fmt::format("\"{}\"", object.etag));
  if (object.checksum) add_checksum(xml, *object.checksum);
  call.reply(xml_reply(200, xml.close("CompleteMultipartUploadResult")));
}

void complete(Call& call, const S3Target& target, const std::string& body, int tries) {
  const auto again = [&call, target, body, tries] {
    if (tries > 0) return complete(call, target, body, tries - 1);
    s3_fail(call, Error{Code::conflict, "the upload changes all the time: try again"});
  };
  with_parts(call, target, [&call, body, again](PartsState& state) {
    std::optional<S3Object> object = assemble(call, state, body);
    if (!object) return;
    object->changed_ms = call.wall().time_since_epoch().count();
    object->headers = state.upload.headers;
    std::vector<StoredPart> unused;
    for (const StoredPart& part : state.parts) {
      const bool used =
          std::ranges::find(object->pieces, part.piece.blob, &Piece::blob) != object->pieces.end();
      if (!used) unused.push_back(part);
    }
    // One commit has no room for all of them beside the blobs of an object that is replaced.
    if (unused.size() > kUnusedMax) {
      if (unused.size() > kDropMax) unused.resize(kDropMax);
      call.must_end();
      return drop_parts(call, state.upload, unused, state.upload.row.value,
                        [again](bool /*dropped*/) { again(); });
    }
    std::vector<Write> writes = {with_row(state.upload, kEndedUpload)};
    std::vector<std::string> blobs;
    for (const StoredPart& part : state.parts) writes.emplace_back(erasure_of(part));
    for (const StoredPart& part : unused) {
      writes.emplace_back(loosen(part.piece.blob));
      blobs.push_back(part.piece.blob);
    }
    put_object_row(call, {.target = state.target,
                          .object = *object,
                          .ownership = Ownership::shared,
                          .extra = std::move(writes),
                          .then =
                              [&call, &state, blobs, made = *object] {
                                call.forget(blobs);
                                erase_ended(call, state.upload, [&call, &state, made] {
                                  reply_completed(call, state.target, made);
                                });
                              },
                          .again = again});
  });
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
               keep_bucket(call, target.bucket, [&call, target, id, sum](bool there) {
                 there ? reply_created(call, target, id, sum) : take_back(call, target, id);
               });
             });
  });
}

void upload_part(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::string* text = parameter(call, "partNumber");
  const std::optional<uint64_t> number = text ? part_number(*text) : std::nullopt;
  if (!number) {
    return s3_fail(call, 400, "InvalidArgument",
                   fmt::format("here a part number is 1 to {}: use larger parts", kPartsMax));
  }
  with_upload(call, target, [&call, target, number](const Upload& upload) {
    NewPart begun{.target = target, .upload = upload};
    begun.row = fmt::format("{}{:05}", upload.row.key, *number);
    const bool copies = call.head().header("x-amz-copy-source") != nullptr;
    copies ? copy_part(call, begun) : take_part(call, begun);
  });
}

void complete_upload(Call& call, const S3Target& target, std::string_view body) {
  complete(call, target, std::string(body), kTriesMax);
}

void abort_upload(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_parts(call, target, [&call](PartsState& state) {
    call.must_end();
    const bool last = state.parts.size() <= kDropMax;
    if (!last) state.parts.resize(kDropMax);
    drop_parts(call, state.upload, state.parts, last ? kEndedUpload : state.upload.row.value,
               [&call, &state, last](bool dropped) {
                 if (!dropped || !last) return abort_upload(call, S3Target(state.target), "");
                 erase_ended(call, state.upload, [&call] {
                   call.reply({.status = 204, .headers = {}, .body = "", .length = {}});
                 });
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
