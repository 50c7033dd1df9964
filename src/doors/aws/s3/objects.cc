// S3's operations on objects, but for reading them (s3_get.cc), copies (s3_copy.cc) and uploads in
// parts (s3_multipart.cc).
#include <algorithm>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

constexpr size_t kDeleteMax = 1000;

// --- DeleteObjects ---

struct ToDelete {
  std::string key;
  std::optional<std::string> etag;     // Only if the object has this one.
  std::optional<std::string> version;  // Another than the only one that there is.
};

struct NotDeleted {
  ToDelete object;
  std::string_view code;
  std::string_view message;
};

struct DeleteState final : CallState {
  std::string table;
  std::vector<ToDelete> objects;
  std::vector<NotDeleted> refused;
  size_t done = 0;
  bool quiet = false;
};

void reply_deleted(Call& call, const DeleteState& state) {
  Xml xml;
  xml.open("DeleteResult");
  for (const ToDelete& object : state.objects) {
    const auto is_it = [&](const NotDeleted& each) { return each.object.key == object.key; };
    if (state.quiet || std::ranges::any_of(state.refused, is_it)) continue;
    xml.open("Deleted").leaf("Key", object.key).close("Deleted");
  }
  for (const NotDeleted& each : state.refused) {
    xml.open("Error").leaf("Key", each.object.key);
    if (each.object.version) xml.leaf("VersionId", *each.object.version);
    xml.leaf("Code", each.code).leaf("Message", each.message).close("Error");
  }
  xml.close("DeleteResult");
  call.reply(xml_reply(200, xml));
}

// Why the object stays, if it does.
std::optional<NotDeleted> refusal_of(const ToDelete& wanted, const S3Object& object) {
  if (wanted.version) {
    return NotDeleted{wanted, "NoSuchVersion",
                      "S3 of this hub keeps no versions: leave VersionId out"};
  }
  if (!wanted.etag || names_object(*wanted.etag, object)) return std::nullopt;
  return NotDeleted{wanted, "PreconditionFailed",
                    "at least one of the pre-conditions you specified did not hold"};
}

void delete_some(Call& call, DeleteState& state) {
  if (state.done == state.objects.size()) return reply_deleted(call, state);
  Get get{state.table, {}};
  for (size_t i = state.done; i < state.objects.size(); ++i) {
    get.keys.push_back(sortable_bytes(state.objects[i].key));
  }
  call.ask(std::move(get), [&call, &state](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    Commit commit;
    std::vector<std::string> blobs;
    std::vector<NotDeleted> refused;
    size_t seen = 0;
    for (const Row& row : rows->rows) {
      const S3Object object = object_of(row);
      const std::vector<std::string> its = blobs_of(object);
      if (seen > 0 && commit.writes.size() + its.size() + 1 > kBatchMax) break;
      std::optional<NotDeleted> refusal = refusal_of(state.objects[state.done + seen++], object);
      if (refusal) refused.push_back(std::move(*refusal));
      if (refusal || row.version == 0) continue;
      commit.writes.emplace_back(Erase{state.table, row.key, row.version});
      for (const std::string& blob : its) commit.writes.emplace_back(loosen(blob));
      blobs.insert(blobs.end(), its.begin(), its.end());
    }
    call.ask(std::move(commit), [&call, &state, blobs, refused, seen](Answer&& done) {
      const auto* error = std::get_if<Error>(&done);
      if (error && error->code == Code::conflict) return delete_some(call, state);
      if (error) return s3_fail(call, *error);
      call.forget(blobs);
      state.refused.insert(state.refused.end(), refused.begin(), refused.end());
      state.done += seen;
      delete_some(call, state);
    });
  });
}

// The objects of the list; replies if there are none, or something about one is not done here.
bool read_objects(Call& call, const XmlElement& body, std::vector<ToDelete>& objects) {
  const auto wrong = [&] {
    s3_fail(call, 400, "MalformedXML",
            "Delete has 1 to 1000 objects, each with a key, and a key with one ETag only");
    return false;
  };
  for (const XmlElement& object : body.children) {
    if (object.name != "Object") continue;
    for (const std::string_view condition : {"LastModifiedTime", "Size"}) {
      if (object.child(condition) == nullptr) continue;
      s3_fail(
          call, 501, "NotImplemented",
          fmt::format("S3 of this hub deletes no objects by their {}: say their ETag", condition));
      return false;
    }
    const std::optional<std::string> key = object.text_of("Key");
    if (!key || key->empty() || sortable_bytes(*key).size() > kKeyMax) return wrong();
    ToDelete wanted{*key, object.text_of("ETag"), object.text_of("VersionId")};
    if (wanted.version == "null") wanted.version.reset();
    const auto twin = std::ranges::find(objects, *key, &ToDelete::key);
    if (twin == objects.end()) {
      objects.push_back(std::move(wanted));
    } else if (twin->etag != wanted.etag || twin->version != wanted.version) {
      return wrong();
    }
  }
  return (!objects.empty() && objects.size() <= kDeleteMax) || wrong();
}

}  // namespace

void delete_objects(Call& call, const S3Target& target, std::string_view body) {
  if (!is_body_as_said(call, body)) return;
  const std::optional<XmlElement> said = read_document(call, body);
  if (!said) return;
  auto kept = std::make_unique<DeleteState>();
  kept->table = bucket_table(target.bucket);
  kept->quiet = said->text_of("Quiet").value_or("") == "true";
  if (!read_objects(call, *said, kept->objects)) return;
  DeleteState& state = call.keep(std::move(kept));
  with_bucket(call, target.bucket, [&call, &state] {
    call.must_end();
    delete_some(call, state);
  });
}

void put_object(Call& call, const S3Target& target, std::string_view /*body*/) {
  if (call.head().header("x-amz-copy-source")) return copy_object(call, target);
  std::optional<ChecksumKind> asked;
  if (!read_asked_checksum(call, asked)) return;
  with_bucket(call, target.bucket, [&call, target, asked] {
    const ChecksumKind kind = asked.value_or(kChecksumOfS3);
    take_body(call, {kind}, asked, [&call, target, kind](Intake& intake) {
      S3Object object;
      object.size = intake.piece().size;
      object.etag = hex(intake.md5());
      object.changed_ms = call.wall().time_since_epoch().count();
      object.headers = kept_headers(call.head());
      object.checksum = *intake.checksum(kind);
      object.pieces = {intake.piece()};
      intake.keep();
      put_object_row(
          call,
          {.target = target, .object = object, .then = [&call, object] {
             http::Headers headers = {{"etag", fmt::format("\"{}\"", object.etag)}};
             add_checksum(headers, *object.checksum);
             call.reply({.status = 200, .headers = std::move(headers), .body = "", .length = {}});
           }});
    });
  });
}

void remove_object(Call& call, const S3Target& target, std::string_view /*body*/) {
  with_bucket(call, target.bucket, [&call, target] {
    with_object(call, target, [&call, target](const S3Object& object) {
      const auto reply = [&call] {
        call.reply({.status = 204, .headers = {}, .body = "", .length = {}});
      };
      if (!may_write(call, object)) {
        return s3_fail(call, 412, "PreconditionFailed",
                       "at least one of the pre-conditions you specified did not hold");
      }
      if (object.version == 0) return reply();
      call.must_end();
      Commit commit{
          0, {Erase{bucket_table(target.bucket), sortable_bytes(target.key), object.version}}};
      for (const Piece& piece : object.pieces) commit.writes.emplace_back(loosen(piece.blob));
      call.ask(std::move(commit),
               [&call, target, reply, blobs = blobs_of(object)](Answer&& answer) {
                 const auto* error = std::get_if<Error>(&answer);
                 // Someone has just replaced it: that one goes then.
                 if (error && error->code == Code::conflict) return remove_object(call, target, "");
                 if (error) return s3_fail(call, *error);
                 call.forget(blobs);
                 reply();
               });
    });
  });
}

}  // namespace dunlin::aws
