// Files of tenants by signed URLs, and the URL to which a partition uploads its results.
#include <fmt/format.h>

#include "base/names.h"
#include "http/http.h"
#include "rest/signed_url.h"
#include "rest/spool.h"
#include "rest/tascaas_calls.h"
#include "store/request.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
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
  const auto tenant = tascaas::tenant_of(store.table(), *id);
  if (!tenant.ok() && tenant.error().code != Code::not_found) return tenant.error();
  if (!tenant.ok()) return call.reply(unknown_infrastructure());
  auto known = TRY(tascaas::read_dispatch(store.table(), tenant.value().name(), call.now()));
  if (known.find(*id) == nullptr) return call.reply(unknown_infrastructure());
  const std::string key = tascaas::result_key(call.path("job"), call.path("worker"), "results.dat");
  const bool plain = call.path("job").find('/') == std::string::npos &&
                     call.path("worker").find('/') == std::string::npos;
  if (!plain || !tascaas::is_file_key(key)) {
    return call.reply(plain_text(400, "invalid job or worker"));
  }
  const std::string signing_key = TRY(call.setting().memory.signing_key(store.table()));
  const Permit permit{"PUT", tenant.value().name(), key};
  return call.reply(
      plain_text(200, signed_url(call.base_url(), permit, signing_key, call.now(), kResultLife)));
}

// Whether the URL is good; replies if it is not.
Result<bool> may_pass(Call& call, Store& store) {
  const Permit permit{call.head().method, call.path("tenant"), call.path("key")};
  const std::string* expires = call.query("expires");
  const std::string* signature = call.query("signature");
  const std::string key = TRY(call.setting().memory.signing_key(store.table()));
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
  const tascaas::File file = TRY(found).file;
  Headers headers = {{"content-type", "application/octet-stream"},
                     {"last-modified", http_time(file.modified_ms())}};
  TRY(call.begin(200, std::move(headers), file.size()));
  for (uint64_t offset = 0; offset < file.size();) {
    const std::string part = TRY(store.blobs().get(file.blob(), offset, kBlobPart));
    if (part.empty()) return Error{Code::corrupt, "a blob is shorter than its row says"};
    TRY(call.send(part));
    offset += part.size();
  }
  return call.end();
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
  return call.reply(plain_text(200, ""));
}

}  // namespace

void add_file_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/results/upload/{job}/{worker}",
                    .summary = "A URL to which a partition uploads its results",
                    .handler = do_upload});
  routes.push_back({.method = "GET",
                    .pattern = "/signed/{tenant}/{key*}",
                    .summary = "A file, by a signed URL",
                    .handler = do_get});
  routes.push_back({.method = "PUT",
                    .pattern = "/signed/{tenant}/{key*}",
                    .summary = "A file, by a signed URL",
                    .handler = do_put});
}

}  // namespace dunlin::rest
