// The uploads of a bucket that were begun and not completed, by key and id. Their rows are in the
// order of their ids, so a page is the first ones of all that are looked through.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

constexpr size_t kPageMax = 1000;
constexpr uint64_t kScanRows = 1000;

struct UploadsState final : CallState {
  std::string bucket;
  std::string prefix;
  std::pair<std::string, std::string> marker;  // A key and an upload of it.
  size_t max = kPageMax;
  bool encoded = false;
  std::string rows;  // What those of this bucket begin with.
  std::string after;
  // When they were created, by key and id; one more than the page has.
  std::map<std::pair<std::string, std::string>, int64_t> found;
};

std::string shown(const UploadsState& state, const std::string& key) {
  return state.encoded ? percent_encode(key, true) : key;
}

void reply_uploads(Call& call, UploadsState& state) {
  const bool more = state.found.size() > state.max;
  if (more) state.found.erase(std::prev(state.found.end()));
  Xml xml;
  xml.open("ListMultipartUploadsResult").leaf("Bucket", state.bucket);
  xml.leaf("KeyMarker", shown(state, state.marker.first));
  xml.leaf("UploadIdMarker", state.marker.second).leaf("Prefix", shown(state, state.prefix));
  xml.leaf("MaxUploads", state.max).leaf("IsTruncated", more ? "true" : "false");
  if (state.encoded) xml.leaf("EncodingType", "url");
  if (more && !state.found.empty()) {
    const auto& last = state.found.rbegin()->first;
    xml.leaf("NextKeyMarker", shown(state, last.first)).leaf("NextUploadIdMarker", last.second);
  }
  for (const auto& [name, created_ms] : state.found) {
    xml.open("Upload").leaf("Key", shown(state, name.first)).leaf("UploadId", name.second);
    xml.leaf("StorageClass", "STANDARD").leaf("Initiated", iso_time(created_ms)).close("Upload");
  }
  call.reply(xml_reply(200, xml.close("ListMultipartUploadsResult")));
}

// Behind the marker: the uploads of later keys, and of its own key those with later ids, if it
// names one.
bool is_behind(const UploadsState& state, const std::pair<std::string, std::string>& name) {
  if (state.marker.second.empty()) return name.first > state.marker.first;
  return name > state.marker;
}

void take(UploadsState& state, const Row& row) {
  const std::string id = row.key.substr(state.rows.size());
  if (!id.ends_with(kPartEnd)) return;  // A part.
  const json value = parse_object(row.value).value_or(json::object());
  std::pair<std::string, std::string> name = {text_or(value, "key", ""),
                                              id.substr(0, id.size() - 1)};
  if (name.first.empty()) return;  // It is over.
  const bool first = state.marker.first.empty();
  if (!name.first.starts_with(state.prefix) || (!first && !is_behind(state, name))) return;
  state.found.emplace(std::move(name), number_or(value, "created_ms", 0));
  if (state.found.size() > state.max + 1) state.found.erase(std::prev(state.found.end()));
}

void look_on(Call& call, UploadsState& state) {
  call.ask(Scan{std::string(kUploadsTable), state.rows, state.after, kScanRows},
           [&call, &state](Answer&& answer) {
             const auto* rows = s3_expect<Rows>(call, answer);
             if (!rows) return;
             if (rows->rows.empty()) return reply_uploads(call, state);
             for (const Row& row : rows->rows) take(state, row);
             // The parts of the last one need not be looked at.
             const std::string& last = rows->rows.back().key;
             const size_t end = last.find(kPartEnd, state.rows.size());
             state.after =
                 end == std::string::npos ? last : last.substr(0, end + 1) + std::string(kAfterAll);
             look_on(call, state);
           });
}

}  // namespace

void drop_uploads(Call& call, const std::string& bucket, std::function<void()> then) {
  Scan scan{std::string(kUploadsTable), sortable_bytes(bucket) + kPartEnd, "", kScanRows};
  call.ask(std::move(scan), [&call, bucket, then = std::move(then)](Answer&& answer) {
    const auto* rows = s3_expect<Rows>(call, answer);
    if (!rows) return;
    if (rows->rows.empty()) return then();
    Commit commit;
    std::vector<std::string> blobs;
    for (const Row& row : rows->rows) {
      const json value = parse_object(row.value).value_or(json::object());
      // Whoever completes it at the same time has its parts, or we have.
      if (!text_or(value, "key", "").empty()) {
        commit.writes.emplace_back(
            Put{std::string(kUploadsTable), row.key, std::string(kEndedUpload), row.version});
        continue;
      }
      commit.writes.emplace_back(Erase{std::string(kUploadsTable), row.key, row.version});
      std::string blob = text_or(value, "blob", "");
      if (blob.empty()) continue;
      commit.writes.emplace_back(loosen(blob));
      blobs.push_back(std::move(blob));
    }
    call.ask(std::move(commit), [&call, bucket, blobs, then](Answer&& done) {
      const auto* error = std::get_if<Error>(&done);
      if (error && error->code != Code::conflict) return s3_fail(call, *error);
      if (!error) call.forget(blobs);
      drop_uploads(call, bucket, then);
    });
  });
}

void list_uploads(Call& call, const S3Target& target, std::string_view /*body*/) {
  const auto text = [&call](std::string_view name) {
    const std::string* value = parameter(call, name);
    return value ? *value : std::string();
  };
  UploadsState& state = call.keep(std::make_unique<UploadsState>());
  state.bucket = target.bucket;
  state.prefix = text("prefix");
  state.marker = {text("key-marker"), text("upload-id-marker")};
  state.encoded = text("encoding-type") == "url";
  state.rows = sortable_bytes(target.bucket) + kPartEnd;
  if (const std::string max = text("max-uploads"); !max.empty()) {
    const auto parsed = std::from_chars(max.data(), max.data() + max.size(), state.max);
    if (parsed.ec != std::errc() || parsed.ptr != max.data() + max.size() || state.max < 1) {
      return s3_fail(call, 400, "InvalidArgument", "max-uploads is 1 to 1000");
    }
    state.max = std::min(state.max, kPageMax);
  }
  with_bucket(call, target.bucket, [&call, &state] { look_on(call, state); });
}

}  // namespace dunlin::aws
