// Files of tenants by signed URLs, and the URL to which a partition uploads its results.
#include "tascaas/files.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/names.h"
#include "doors/rest/bodies/send_file.h"
#include "doors/rest/bodies/signed_url.h"
#include "doors/rest/bodies/spool.h"
#include "doors/rest/tascaas/calls.h"
#include "tascaas/ending.h"
#include "tascaas/intake.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::rest {
namespace {

constexpr Millis kResultLife = std::chrono::seconds(900);  // Of the URL for results.

Result<void> do_upload(Call& call, Store& store) {
  if (call.head().query.empty()) return call.reply(plain_text(400, "missing query parameters"));
  const std::string* id = call.query("wID");
  if (id == nullptr || id->empty()) return call.reply(plain_text(400, "missing wID"));
  const auto tenant =
      tascaas::uploader(store.table(), *id, call.path("job"), call.path("worker"), call.now());
  if (!tenant.ok() && tenant.error().code != Code::not_found) return tenant.error();
  if (!tenant.ok()) return call.reply(unknown_infrastructure());
  const std::string key = tascaas::result_key(call.path("job"), call.path("worker"), "results.dat");
  const bool plain = call.path("job").find('/') == std::string::npos &&
                     call.path("worker").find('/') == std::string::npos;
  if (!plain || !tascaas::is_file_key(key)) {
    return call.reply(plain_text(400, "invalid job or worker"));
  }
  const std::string signing_key = TRY(call.setting().cache.signing_key(store.table()));
  const Permit permit{"PUT", tenant.value().name(), key, tenant.value().created_ms()};
  return call.reply(
      plain_text(200, signed_url(call.base_url(), permit, signing_key, call.now(), kResultLife)));
}

// Whether the URL is good; replies if it is not.
Result<bool> may_pass(Call& call, Store& store) {
  const auto tenant = tascaas::read_tenant(store.table(), call.path("tenant"));
  if (!tenant.ok() && tenant.error().code != Code::not_found) return tenant.error();
  const int64_t since_ms = tenant.ok() ? tenant.value().created_ms() : 0;
  const Permit permit{call.head().method, call.path("tenant"), call.path("key"), since_ms};
  const std::string* expires = call.query("expires");
  const std::string* signature = call.query("signature");
  const std::string key = TRY(call.setting().cache.signing_key(store.table()));
  const Signature found = check_signature(permit, expires ? *expires : "",
                                          signature ? *signature : "", key, call.now());
  if (found == Signature::good) return true;
  TRY(call.reply(plain_text(403, found == Signature::expired
                                     ? "the URL has expired"
                                     : "the signature is not that of this method and file")));
  return false;
}

Result<void> do_get(Call& call, Store& store) {
  if (!TRY(may_pass(call, store))) return {};
  const auto found = tascaas::find_file(store.table(), call.path("tenant"), call.path("key"));
  if (!found.ok() && found.error().code == Code::not_found) {
    return call.reply(plain_text(404, "there is no such file"));
  }
  return send_file(call, store, TRY(found).file, Style::plain);
}

Result<void> do_put(Call& call, Store& store) {
  if (!TRY(may_pass(call, store))) return {};
  Spool spool;
  if (!TRY(receive(call, spool))) {
    return call.reply(plain_text(
        413, fmt::format("a file may have at most {} bytes", call.setting().upload_max)));
  }
  const std::string& tenant = call.path("tenant");
  const std::string& key = call.path("key");
  const tascaas::Tenant known = TRY(tascaas::read_tenant(store.table(), tenant));  // Still.
  TRY(tascaas::put_file(store, tenant, key, spool.size(), spool.source(), call.now()));
  if (key.starts_with(tascaas::kInput)) {
    TRY(tascaas::take_in(store, known, call.now()));
  }
  if (const auto place = tascaas::place_of_results(key)) {
    const auto ended =
        tascaas::results_came(store, tenant, place->job, place->partition, call.now());
    // The results are there: else whoever looks after the job finds them.
    if (!ended.ok()) log::warning("cannot look at job {}: {}", place->job, ended.error().what);
  }
  return call.reply(plain_text(200, ""));
}

}  // namespace

void add_file_routes(std::vector<Route>& routes) {
  const std::vector<Parameter> signed_by = {
      {.name = "tenant", .in = In::path, .required = true},
      {.name = "key", .in = In::path, .required = true},
      {.name = "expires", .required = true, .summary = "Unix seconds"},
      {.name = "signature", .required = true, .summary = "As the service has made it"}};
  routes.push_back(
      {.method = "GET",
       .pattern = "/results/upload/{job}/{worker}",
       .summary = "A URL to which a partition uploads its results",
       .parameters = {kJobPath,
                      {.name = "worker",
                       .in = In::path,
                       .required = true,
                       .summary = "The partition's number"},
                      {.name = "wID", .required = true, .summary = "The id of the infrastructure"}},
       .reply_schema = kText,
       .handler = do_upload,
       .reply_type = kTextType});
  routes.push_back({.method = "GET",
                    .pattern = "/signed/{tenant}/{key*}",
                    .summary = "A file, or the range of it that is asked for, by a signed URL",
                    .parameters = signed_by,
                    .handler = do_get,
                    .reply_type = "application/octet-stream",
                    .statuses = "200 206"});
  routes.push_back({.method = "PUT",
                    .pattern = "/signed/{tenant}/{key*}",
                    .summary = "A file, by a signed URL",
                    .parameters = signed_by,
                    .body_schema = "{}",
                    .reply_schema = kText,
                    .handler = do_put,
                    .body_type = "application/octet-stream",
                    .reply_type = kTextType});
}

}  // namespace dunlin::rest
