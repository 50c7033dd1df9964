// S3's operations on objects, but for reading them (s3_get.cc), copies (s3_copy.cc) and uploads in
// parts (s3_multipart.cc).
#include <algorithm>
#include <fmt/format.h>

#include "aws/keys.h"
#include "aws/s3.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

constexpr size_t kDeleteMax = 1000;

// --- DeleteObjects ---

struct DeleteState final : CallState {
  std::string table;
  std::vector<std::string> keys;  // As they were given.
  size_t done = 0;
  bool quiet = false;
};

void reply_deleted(Call& call, const DeleteState& state) {
  Xml xml;
  xml.open("DeleteResult");
  for (const std::string& key : state.keys) {
    if (!state.quiet) xml.open("Deleted").leaf("Key", key).close("Deleted");
  }
  xml.close("DeleteResult");
  call.reply(xml_reply(200, xml));
}

void delete_some(Call& call, DeleteState& state) {
  if (state.done == state.keys.size()) return reply_deleted(call, state);
  Get get{state.table, {}};
  for (size_t i = state.done; i < state.keys.size(); ++i) {
    get.keys.push_back(sortable_bytes(state.keys[i]));
  }
  call.ask(std::move(get), [&call, &state](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    Commit commit;
    std::vector<std::string> blobs;
    size_t seen = 0;
    for (const Row& row : rows->rows) {
      const std::vector<std::string> its = blobs_of(object_of(row));
      if (seen > 0 && commit.writes.size() + its.size() + 1 > kBatchMax) break;
      ++seen;
      if (row.version == 0) continue;
      commit.writes.emplace_back(Erase{state.table, row.key, row.version});
      for (const std::string& blob : its) commit.writes.emplace_back(loosen(blob));
      blobs.insert(blobs.end(), its.begin(), its.end());
    }
    call.ask(std::move(commit), [&call, &state, blobs, seen](Answer&& done) {
      const auto* error = std::get_if<Error>(&done);
      if (error && error->code == Code::conflict) return delete_some(call, state);
      if (error) return s3_fail(call, *error);
      call.forget(blobs);
      state.done += seen;
      delete_some(call, state);
    });
  });
}

}  // namespace

void delete_objects(Call& call, const S3Target& target, std::string_view body) {
  if (!is_body_as_said(call, body)) return;
  auto kept = std::make_unique<DeleteState>();
  kept->table = bucket_table(target.bucket);
  kept->quiet = element_text(body, "Quiet").value_or("") == "true";
  while (const std::optional<std::string_view> object = next_element(body, "Object")) {
    const std::optional<std::string> key = element_text(*object, "Key");
    const bool good = key && !key->empty() && sortable_bytes(*key).size() <= kKeyMax;
    if (!good || kept->keys.size() == kDeleteMax) {
      return s3_fail(call, 400, "MalformedXML", "Delete has 1 to 1000 objects, each with a key");
    }
    if (std::ranges::find(kept->keys, *key) == kept->keys.end()) kept->keys.push_back(*key);
  }
  if (kept->keys.empty()) {
    return s3_fail(call, 400, "MalformedXML", "Delete has 1 to 1000 objects, each with a key");
  }
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
             Headers headers = {{"etag", fmt::format("\"{}\"", object.etag)}};
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
