#include "tascaas/keys.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/names.h"

namespace dunlin::tascaas {

std::string tenant_row(std::string_view name) { return fmt::format("tenant/{}", name); }
std::string secret_row(std::string_view hash) { return fmt::format("secret/{}", hash); }
std::string node_row(std::string_view id) { return fmt::format("node/{}", id); }
std::string dispatch_row(std::string_view tenant) { return fmt::format("dispatch/{}", tenant); }
std::string job_row(std::string_view id) { return fmt::format("job/{}", id); }
std::string active_row(std::string_view tenant, std::string_view id) {
  return fmt::format("active/{}/{}", tenant, id);
}
std::string intake_row(std::string_view tenant, std::string_view id) {
  return fmt::format("intake/{}/{}", tenant, id);
}
std::string file_row(std::string_view tenant, std::string_view key) {
  return fmt::format("file/{}/{}", tenant, key);
}

std::string queue_of(std::string_view tenant) { return fmt::format("tascaas.{}", tenant); }
std::string blob_prefix(std::string_view tenant) { return fmt::format("tascaas/{}/", tenant); }

std::string uuid_from(std::string_view bytes) {
  CHECK(bytes.size() >= 16);
  const std::string digits = hex(bytes.substr(0, 16));
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20, 12));
}

bool is_file_key(std::string_view key) {
  return is_visible(key, kFileKeyMax) && !key.starts_with('/') && !key.ends_with('/') &&
         key.find("//") == std::string_view::npos;
}

std::string result_key(std::string_view job, std::string_view worker, std::string_view name) {
  return fmt::format("{}{}/worker-{}/{}", kResults, job, worker, name);
}

}  // namespace dunlin::tascaas
