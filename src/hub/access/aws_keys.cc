#include "hub/access/aws_keys.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"

namespace dunlin::hub {
namespace {

constexpr std::string_view kPrefix = "DUNLIN";
constexpr size_t kExpiryDigits = 9;
constexpr size_t kNonceDigits = 12;
constexpr size_t kIdSize = kPrefix.size() + 1 + kExpiryDigits + kNonceDigits;
constexpr std::array<Scope, 4> kScopes = {Scope::read, Scope::submit, Scope::worker, Scope::admin};

std::string key_id_of(Scopes scopes, int64_t expires_s, std::string_view nonce) {
  unsigned bits = 0;
  for (const Scope scope : kScopes) bits |= scopes.has(scope) ? static_cast<unsigned>(scope) : 0U;
  return fmt::format("{}{:X}{:09X}{}", kPrefix, bits, expires_s, nonce);
}

template <typename T>
std::optional<T> from_digits(std::string_view text) {
  T value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

Error from_errno(std::string_view doing, const std::string& path) {
  const Code code = errno == ENOSPC || errno == EDQUOT  ? Code::full
                    : errno == EACCES || errno == EPERM ? Code::denied
                                                        : Code::unavailable;
  return {code, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno))};
}

}  // namespace

aws::Credentials make_aws_key(std::string_view admin, Scopes scopes, int64_t expires_s) {
  std::string nonce = hex(random_bytes(kNonceDigits / 2));
  for (char& c : nonce) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::string id = key_id_of(scopes, expires_s, nonce);
  return {id, aws_secret(admin, id)};
}

Result<Rights> check_aws_key(std::string_view key_id, WallTime now) {
  const Error unknown = {Code::denied,
                         "the access key does not belong to this hub: use the one in its data "
                         "folder (DIR/aws-credentials) or one that `dunlin token --aws` made"};
  if (key_id.size() != kIdSize || !key_id.starts_with(kPrefix)) return unknown;
  const auto bits = from_digits<unsigned>(key_id.substr(kPrefix.size(), 1));
  const auto expires_s = from_digits<int64_t>(key_id.substr(kPrefix.size() + 1, kExpiryDigits));
  if (!bits || *bits == 0 || !expires_s) return unknown;
  const auto now_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (*expires_s != 0 && now_s >= *expires_s) {
    return Error{
        Code::denied,
        fmt::format("the access key expired {} s ago: make a new one with `dunlin token --aws`",
                    now_s - *expires_s)};
  }
  Scopes scopes;
  for (const Scope scope : kScopes) {
    if ((*bits & static_cast<unsigned>(scope)) != 0) scopes = scopes | scope;
  }
  Rights rights(scopes);
  if (*expires_s != 0) rights.until = WallTime(std::chrono::seconds(*expires_s));
  return rights;
}

std::string aws_secret(std::string_view admin, std::string_view key_id) {
  return to_base64(hmac_sha256(admin, fmt::format("aws access key {}", key_id)));
}

std::string to_text(const aws::Credentials& credentials) {
  return fmt::format("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
                     credentials.key_id, credentials.secret);
}

std::string aws_credentials_path(const std::string& folder) { return folder + "/aws-credentials"; }

Result<void> write_aws_credentials(const std::string& folder, std::string_view admin) {
  const std::string id = key_id_of(Scope::admin, 0, std::string(kNonceDigits, '0'));
  const std::string text = to_text({id, aws_secret(admin, id)});
  const std::string path = aws_credentials_path(folder);
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return from_errno("create", fresh);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const Error failed = from_errno("write", fresh);
  close(file);
  if (!written) return failed;
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return from_errno("create", path);
  return {};
}

}  // namespace dunlin::hub
