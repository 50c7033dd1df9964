// S3's operations on objects, but for reading them (s3_get.cc) and uploads in parts
// (s3_multipart.cc).
#include <algorithm>
#include <fmt/format.h>

#include "aws/keys.h"
#include "aws/s3.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

constexpr size_t kDeleteMax = 1000;

void put(Call& call, const S3Target& target) {
  with_bucket(call, target.bucket, [&call, target] {
    take_body(call, [&call, target](Intake& intake) {
      S3Object object;
      object.size = intake.piece().size;
      object.etag = hex(intake.md5());
      object.changed_ms = call.wall().time_since_epoch().count();
      object.headers = kept_headers(call.head());
      object.crc32 = intake.crc32();
      object.pieces = {intake.piece()};
      intake.keep();
      put_object_row(call, target, object, Ownership::own, {}, [&call, object] {
        call.reply({.status = 200,
                    .headers = {{"etag", fmt::format("\"{}\"", object.etag)},
                                {"x-amz-checksum-crc32", object.crc32},
                                {"x-amz-checksum-type", "FULL_OBJECT"}},
                    .body = "",
                    .length = {}});
      });
    });
  });
}

void remove(Call& call, const S3Target& target) {
  with_bucket(call, target.bucket, [&call, target] {
    with_object(call, target, [&call, target](const S3Object& object) {
      const auto reply = [&call] {
        call.reply({.status = 204, .headers = {}, .body = "", .length = {}});
      };
      if (object.version == 0) return reply();
      call.must_end();
      Commit commit{
          0, {Erase{bucket_table(target.bucket), sortable_bytes(target.key), object.version}}};
      for (const Piece& piece : object.pieces) commit.writes.emplace_back(loosen(piece.blob));
      call.ask(std::move(commit),
               [&call, target, reply, blobs = blobs_of(object)](Answer&& answer) {
                 const auto* error = std::get_if<Error>(&answer);
                 // Someone has just replaced it: that one goes then.
                 if (error && error->code == Code::conflict) return remove(call, target);
                 if (error) return s3_fail(call, *error);
                 call.forget(blobs);
                 reply();
               });
    });
  });
}

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

// --- CopyObject ---

struct CopyState final : CallState {
  S3Object from;
  uint64_t upload = 0;
  uint64_t sent = 0;
  size_t piece = 0;
  uint64_t offset = 0;  // In the piece.
  std::string pending;
  S3Target target;
  S3Object object;
};

void end_copy(Call& call, CopyState& state) {
  const Piece made = {call.fresh_blob(), state.from.size};
  state.object.pieces = {made};
  call.must_end();
  call.ask(Commit{0, {loosen(made.blob)}}, [](Answer&& /*done*/) {});
  call.ask(BlobEnd{state.upload, made.blob, made.size}, [&call, &state](Answer&& answer) {
    if (!s3_expect<Done>(call, answer)) return;
    put_object_row(call, state.target, state.object, Ownership::own, {}, [&call, &state] {
      Xml xml;
      xml.open("CopyObjectResult")
          .leaf("LastModified", iso_time(state.object.changed_ms))
          .leaf("ETag", fmt::format("\"{}\"", state.object.etag))
          .close("CopyObjectResult");
      call.reply(xml_reply(200, xml));
    });
  });
}

void copy_some(Call& call, CopyState& state) {
  const bool all_read = state.piece == state.from.pieces.size();
  if (state.pending.size() >= kBlobPart || (all_read && !state.pending.empty())) {
    BlobPart part{state.upload, state.sent, state.pending.substr(0, kBlobPart)};
    state.pending.erase(0, part.bytes.size());
    state.sent += part.bytes.size();
    return call.ask(std::move(part), [&call, &state](Answer&& answer) {
      if (s3_expect<Done>(call, answer)) copy_some(call, state);
    });
  }
  if (all_read) return end_copy(call, state);
  const Piece& piece = state.from.pieces[state.piece];
  if (state.offset >= piece.size) {
    ++state.piece;
    state.offset = 0;
    return copy_some(call, state);
  }
  call.ask(BlobGet{piece.blob, state.offset, kBlobPart}, [&call, &state](Answer&& answer) {
    auto* bytes = s3_expect<Bytes>(call, answer);
    if (!bytes) return;
    if (bytes->bytes.empty()) {
      return s3_fail(call, 500, "InternalError", "the source changed while it was copied");
    }
    state.offset += bytes->bytes.size();
    state.pending += bytes->bytes;
    copy_some(call, state);
  });
}

void begin_copy(Call& call, const S3Object& from, const S3Target& target) {
  CopyState& state = call.keep(std::make_unique<CopyState>());
  state.from = from;
  state.upload = call.fresh_number();
  state.target = target;
  state.object = from;
  state.object.changed_ms = call.wall().time_since_epoch().count();
  if (call.head().header_or("x-amz-metadata-directive", "COPY") == "REPLACE") {
    state.object.headers = kept_headers(call.head());
  }
  copy_some(call, state);
}

void copy(Call& call, const S3Target& target, const std::string& source_text) {
  std::string_view text = source_text;
  text = text.substr(0, text.find('?'));
  if (text.starts_with('/')) text.remove_prefix(1);
  const std::string decoded = percent_decode(text).value_or("");
  const size_t slash = std::min(decoded.find('/'), decoded.size());
  const S3Target source = {decoded.substr(0, slash),
                           decoded.substr(std::min(decoded.size(), slash + 1))};
  if (source.key.empty() || sortable_bytes(source.key).size() > kKeyMax) {
    return s3_fail(call, 400, "InvalidArgument", "x-amz-copy-source is BUCKET/KEY");
  }
  with_bucket(call, source.bucket, [&call, source, target] {
    with_bucket(call, target.bucket, [&call, source, target] {
      with_object(call, source, [&call, source, target](const S3Object& found) {
        if (found.version != 0) return begin_copy(call, found, target);
        s3_fail(call, 404, "NoSuchKey", fmt::format("there is no object '{}'", source.key));
      });
    });
  });
}

}  // namespace

void delete_objects(Call& call, const S3Target& target, std::string_view body) {
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

void serve_s3_object(Call& call, const S3Target& target, std::string_view /*body*/) {
  const std::string& method = call.head().method;
  if (method == "GET" || method == "HEAD") return serve_s3_get(call, target);
  if (method == "DELETE") return remove(call, target);
  if (method != "PUT") {
    return s3_fail(call, 405, "MethodNotAllowed",
                   fmt::format("an object does not take {}", method));
  }
  if (const std::string* source = call.head().header("x-amz-copy-source")) {
    return copy(call, target, *source);
  }
  put(call, target);
}

}  // namespace dunlin::aws
