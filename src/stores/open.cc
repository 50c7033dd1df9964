#include "stores/open.h"

#include <fmt/format.h>
#include <span>

#include "base/env_posix.h"
#include "base/names.h"
#include "base/printable.h"
#include "stores/engines.h"

namespace dunlin::stores {
namespace {

constexpr size_t kTokenMax = 2 << 10;  // With room to spare in a hello.

Result<const Engine*> find_engine(std::string_view url) {
  if (const Engine* engine = engine_of(url)) return engine;
  const size_t colon = url.find(':');
  if (colon == std::string_view::npos) return bad_url(url, "has no scheme");
  return bad_url(url, fmt::format("has the unknown scheme {}", quote(url.substr(0, colon))));
}

}  // namespace

Result<std::unique_ptr<RequestStore>> open_store(const std::string& url,
                                                 const OpenOptions& options) {
  return TRY(find_engine(url))->open(url, options);
}

Result<StoreAccess> open_access(const std::string& url, const OpenOptions& options) {
  const Engine& engine = *TRY(find_engine(url));
  if (engine.access != nullptr) return engine.access(url, options);
  return Error{
      Code::unsupported,
      fmt::format("workers cannot use the store {}: give the URL of a hub", quote_url(url))};
}

Result<bool> init_store(const std::string& url, const OpenOptions& options) {
  const Engine& engine = *TRY(find_engine(url));
  if (engine.init != nullptr) return engine.init(url, options);
  return bad_url(url, "needs no init, only a database does");
}

Result<std::vector<Made>> list_made(const std::string& url, const OpenOptions& options) {
  const Engine* const engine = engine_of(url);
  if (engine == nullptr || engine->list == nullptr) return std::vector<Made>();
  return engine->list(url, options);
}

Result<void> destroy_store(const std::string& url, const OpenOptions& options) {
  const Engine& engine = *TRY(find_engine(url));
  if (engine.destroy != nullptr) return engine.destroy(url, options);
  return bad_url(url, "cannot be destroyed like this: stop its hub and remove the folder");
}

bool is_hub_url(std::string_view url) {
  const Engine* const engine = engine_of(url);
  return engine != nullptr && engine->keeper == Keeper::hub;
}

Result<std::string> read_token(const std::string& file) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::invalid,
                 fmt::format("cannot use the token file {}: {}; --token-file (DUNLIN_TOKEN_FILE) "
                             "names the file that holds the hub's token",
                             file, why)};
  };
  const auto opened = posix_disk().open_to_read(file);
  if (!opened.ok()) return refuse(opened.error().what);
  std::string bytes(kTokenMax + 1, '\0');
  const auto size = opened.value()->read(0, std::span(bytes));
  if (!size.ok()) return refuse(size.error().what);
  if (size.value() > kTokenMax) return refuse(fmt::format("longer than {} bytes", kTokenMax));
  bytes.resize(size.value());
  constexpr const char* kSpace = " \t\r\n";
  const size_t first = bytes.find_first_not_of(kSpace);
  if (first == std::string::npos) return refuse("it is empty");
  std::string token = bytes.substr(first, bytes.find_last_not_of(kSpace) - first + 1);
  if (!is_visible(token, kTokenMax)) return refuse("a token is one word of visible characters");
  return token;
}

}  // namespace dunlin::stores
