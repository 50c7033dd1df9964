#include "tascaas/keys.h"

#include <algorithm>
#include <cctype>
#include <charconv>
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
std::string intake_row(std::string_view tenant, std::string_view digest) {
  return fmt::format("intake/{}/{}", tenant, digest);
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
  if (!is_visible(key, kFileKeyMax)) return false;
  for (size_t from = 0; from <= key.size();) {
    const size_t slash = std::min(key.find('/', from), key.size());
    const std::string_view part = key.substr(from, slash - from);
    if (part.empty() || part == "." || part == "..") return false;
    from = slash + 1;
  }
  return true;
}

std::string result_key(std::string_view job, std::string_view worker, std::string_view name) {
  return fmt::format("{}{}/worker-{}/{}", kResults, job, worker, name);
}

std::string file_key_of(std::string_view name) {
  std::string key;
  for (const char byte : name) {
    const bool visible = byte >= 0x21 && byte <= 0x7e;
    key +=
        visible ? std::string(1, byte) : fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  }
  return key;
}

bool is_file_name(std::string_view name) {
  const auto is_digit = [&](size_t at) {
    return at < name.size() && std::isxdigit(static_cast<unsigned char>(name[at])) != 0;
  };
  for (size_t at = name.find('%'); at != std::string_view::npos; at = name.find('%', at + 1)) {
    if (is_digit(at + 1) && is_digit(at + 2)) return false;
  }
  return is_file_key(file_key_of(name));
}

std::optional<size_t> read_partition_number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  if (text.size() > 1 && text.starts_with('0')) return {};
  return number;
}

std::optional<ResultPlace> place_of_results(std::string_view key) {
  constexpr std::string_view kWorker = "/worker-";
  constexpr std::string_view kName = "/results.dat";
  if (!key.starts_with(kResults) || !key.ends_with(kName)) return {};
  key = key.substr(kResults.size(), key.size() - kResults.size() - kName.size());
  const size_t slash = key.find(kWorker);
  if (slash == std::string_view::npos) return {};
  const auto partition = read_partition_number(key.substr(slash + kWorker.size()));
  if (!partition) return {};
  return ResultPlace{std::string(key.substr(0, slash)), *partition};
}

}  // namespace dunlin::tascaas
