// /api/v1/blobs: bytes that jobs read, sent, listed and erased.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/bodies/json_body.h"
#include "doors/rest/bodies/spool.h"
#include "doors/rest/server/problem.h"
#include "model/views/json.h"
#include "store/request.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

// None if there is no such blob. It is the first of those that begin with its name.
Result<std::optional<BlobInfo>> find_blob(Blobs& blobs, const std::string& name) {
  TRY(validate(BlobErase{name}));
  std::vector<BlobInfo> found = TRY(blobs.list(name, "", 1));
  if (found.empty() || found.front().name != name) return std::optional<BlobInfo>();
  return std::optional<BlobInfo>(std::move(found.front()));
}

Result<BlobInfo> need_blob(Blobs& blobs, const std::string& name) {
  std::optional<BlobInfo> found = TRY(find_blob(blobs, name));
  if (found) return std::move(*found);
  return Error{Code::not_found, fmt::format("there is no blob {}", quote(name))};
}

http::Headers blob_headers() {
  return {{"content-type", "application/octet-stream"}, {"x-content-type-options", "nosniff"}};
}

Result<void> get_blob(Call& call, Store& store) {
  const BlobInfo blob = TRY(need_blob(store.blobs(), call.path("name")));
  std::string part = TRY(store.blobs().get(blob.name, 0, kBlobPart));
  TRY(call.begin(200, blob_headers(), blob.size));
  for (uint64_t offset = 0; offset < blob.size;) {
    if (part.empty()) return Error{Code::corrupt, "a blob is shorter than the list says"};
    TRY(call.send(part));
    offset += part.size();
    if (offset < blob.size) part = TRY(store.blobs().get(blob.name, offset, kBlobPart));
  }
  return call.end();
}

Result<void> head_blob(Call& call, Store& store) {
  const BlobInfo blob = TRY(need_blob(store.blobs(), call.path("name")));
  return call.reply({.status = 200, .headers = blob_headers(), .body = {}, .length = blob.size});
}

// What jobs and tenants keep is theirs: bytes under such a name would be taken for theirs.
Result<void> check_free(std::string_view name) {
  for (const std::string_view theirs : {"jobs/", "tascaas/"}) {
    if (!name.starts_with(theirs)) continue;
    return Error{Code::denied,
                 fmt::format("names that begin with {} can be written by Dunlin only", theirs)};
  }
  return {};
}

Result<void> put_blob(Call& call, Store& store) {
  TRY(need_submit(store));
  const std::string& name = call.path("name");
  TRY(check_free(name));
  const bool existed = TRY(find_blob(store.blobs(), name)).has_value();
  Spool spool;
  if (!TRY(receive(call, spool))) {
    return call.reply(problem(
        413, "full", fmt::format("a blob may have at most {} bytes", call.setting().upload_max)));
  }
  TRY(store.blobs().put(name, spool.size(), spool.source()));
  return reply_json(call, existed ? 200 : 201, blob_json({name, spool.size()}));
}

Result<void> delete_blob(Call& call, Store& store) {
  TRY(store.blobs().erase(call.path("name")));
  return {};
}

Result<void> list_blobs(Call& call, Store& store) {
  const std::string* prefix = call.query("prefix");
  const std::string* start = call.query("after");
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  std::string after = start == nullptr ? "" : *start;
  ordered_json reply;
  ordered_json& blobs = reply["blobs"] = ordered_json::array();
  while (blobs.size() < max) {
    const auto some =
        TRY(store.blobs().list(prefix == nullptr ? "" : *prefix, after, max - blobs.size()));
    if (some.empty()) break;
    after = some.back().name;
    for (const BlobInfo& blob : some) blobs.push_back(blob_json(blob));
  }
  if (blobs.size() == max) reply["next"] = after;
  return reply_json(call, 200, reply);
}

constexpr Parameter kName{.name = "name",
                          .in = In::path,
                          .required = true,
                          .least = 1,
                          .most = static_cast<int64_t>(kKeyMax),
                          .summary = "Visible ASCII; slashes may stand as they are"};

Route blob_route(std::string_view method, std::string_view summary, std::string_view scope,
                 Handler handler) {
  return {.method = method,
          .pattern = "/blobs/{name*}",
          .summary = summary,
          .parameters = {kName},
          .scope = scope,
          .handler = handler,
          .reply_type = "application/octet-stream"};
}

}  // namespace

void add_blob_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/blobs",
                    .summary = "The blobs, by name",
                    .parameters = {kMax,
                                   {.name = "after",
                                    .most = static_cast<int64_t>(kKeyMax),
                                    .summary = "The last name of the page before"},
                                   {.name = "prefix",
                                    .most = static_cast<int64_t>(kKeyMax),
                                    .summary = "Only blobs whose name begins with this"}},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Blobs"})",
                    .handler = list_blobs});
  routes.push_back(blob_route("GET", "The bytes of a blob", "read", get_blob));
  routes.push_back(blob_route("HEAD", "The size of a blob", "read", head_blob));
  Route put = blob_route("PUT", "Write a blob, once: other bytes under its name are a conflict",
                         "submit", put_blob);
  put.body_schema = "{}";
  put.body_type = "application/octet-stream";
  put.reply_schema = R"({"$ref":"#/components/schemas/Blob"})";
  put.reply_type = "application/json";
  put.statuses = "201 200";
  routes.push_back(std::move(put));
  Route erase = blob_route("DELETE", "Erase a blob; succeeds if the blob does not exist", "worker",
                           delete_blob);
  erase.reply_type = "";
  erase.statuses = "204";
  routes.push_back(std::move(erase));
}

}  // namespace dunlin::rest
