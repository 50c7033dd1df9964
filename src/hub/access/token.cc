#include "hub/access/token.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/names.h"
#include "model/owned.h"
#include "wire/token_text.h"

namespace dunlin::hub {
namespace {

constexpr std::string_view kPrefix = "d1.";
constexpr size_t kAdminBytes = 32;
constexpr size_t kNonceBytes = 8;
constexpr size_t kTokenFileMax = 4096;

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }

 private:
  int number_;
};

std::string random_hex(size_t size) { return hex(random_bytes(size)); }

std::string mac_of(std::string_view admin, std::string_view text) {
  return hex(hmac_sha256(admin, text));
}

Error from_errno(std::string_view doing, const std::string& path) {
  const Code code = errno == ENOSPC || errno == EDQUOT    ? Code::full
                    : errno == EACCES || errno == EPERM   ? Code::denied
                    : errno == ENOENT || errno == ENOTDIR ? Code::not_found
                                                          : Code::unavailable;
  return Error{code, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno))};
}

Result<void> write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return from_errno("write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// A whole and durable file under a name of its own, so that a crash never leaves half a token.
Result<void> write_secret(const std::string& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.open()) return from_errno("create", path);
  TRY(write_all(file.number(), text, path));
  if (fsync(file.number()) != 0) return from_errno("sync", path);
  return {};
}

Result<void> sync_folder(const std::string& folder) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open() || fsync(opened.number()) != 0) return from_errno("sync", folder);
  return {};
}

Result<void> make_admin_token(const std::string& folder) {
  const std::string path = token_path(folder);
  const std::string fresh = fmt::format("{}.{}", path, random_hex(kNonceBytes));
  const std::string token = random_hex(kAdminBytes);
  const Result<void> written = write_secret(fresh, token + "\n");
  // Unlike a rename, a link never replaces a token that another process made meanwhile.
  const bool linked = written.ok() && link(fresh.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  unlink(fresh.c_str());
  TRY(written);
  errno = link_error;
  if (!linked && errno != EEXIST) return from_errno("create", path);
  return sync_folder(folder);
}

// What a worker runs is everybody's, and an admin sees all.
Result<void> check_bound(Scopes scopes, std::string_view owner) {
  if (!is_owner(owner)) {
    return Error{Code::invalid,
                 fmt::format("the owner {} is not 1 to {} characters of A-Z a-z 0-9 _ -",
                             quote(owner), kOwnerMax)};
  }
  if (!scopes.has(Scope::worker) && !scopes.has(Scope::admin)) return {};
  return Error{Code::invalid,
               "a token with an owner can have the scopes read and submit only, because workers "
               "run the tasks of all owners"};
}

}  // namespace

std::string token_path(const std::string& folder) { return folder + "/token"; }

Result<std::string> make_token(std::string_view admin, Scopes scopes, int64_t expires_s,
                               std::string_view owner) {
  CHECK(!scopes.empty());
  std::string rights = to_text(scopes);
  if (!owner.empty()) {
    TRY(check_bound(scopes, owner));
    rights += fmt::format("@{}", owner);
  }
  const std::string text =
      fmt::format("{}{}.{}.{}", kPrefix, rights, expires_s, random_hex(kNonceBytes));
  return fmt::format("{}.{}", text, mac_of(admin, text));
}

Result<Rights> check_token(std::string_view admin, std::string_view token, WallTime now) {
  if (token.empty()) {
    return Error{
        Code::denied,
        "the hub requires a token: name its file with --token-file (DUNLIN_TOKEN_FILE), such as "
        "DIR/token in the hub's data folder, or a file with the output of `dunlin token`"};
  }
  const Error unknown = {
      Code::denied,
      "the token does not belong to this hub: use the one in its data folder (DIR/token) or one "
      "that `dunlin token` made, and name its file with --token-file (DUNLIN_TOKEN_FILE)"};
  if (equal(admin, token)) return Rights(Scope::admin);
  const size_t dot = token.rfind('.');
  if (!token.starts_with(kPrefix) || dot < kPrefix.size()) return unknown;
  if (!equal(mac_of(admin, token.substr(0, dot)), token.substr(dot + 1))) return unknown;

  // From here on it is text that this hub's secret has signed.
  const std::optional<TokenText> text = parse_token_text(token);
  if (!text) return unknown;
  if (text->has_expired(now)) {
    const auto now_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    return Error{
        Code::denied,
        fmt::format("the token expired {} s ago: make a new one with `dunlin token{} --scope {}`",
                    now_s - text->expires_s, text->owner.empty() ? "" : " --owner " + text->owner,
                    text->scopes)};
  }
  Rights rights(TRY(parse_scopes(text->scopes)));
  rights.owner = text->owner;
  if (!rights.owner.empty() && !check_bound(rights.scopes, rights.owner).ok()) return unknown;
  if (text->expires_s != 0) rights.until = WallTime(std::chrono::seconds(text->expires_s));
  return rights;
}

Result<std::string> read_admin_token(const std::string& folder) {
  const std::string path = token_path(folder);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return from_errno("open", path);
  struct stat about {};
  if (fstat(file.number(), &about) != 0) return from_errno("read", path);
  if (!S_ISREG(about.st_mode)) {
    return Error{Code::invalid, fmt::format("{} is not a file: move it away", path)};
  }
  if ((about.st_mode & 077U) != 0) {
    return Error{Code::denied,
                 fmt::format("other users can read {0} (mode {1:04o}): run `chmod 600 {0}`, or "
                             "remove the file to get a new token if somebody may have read it",
                             path, about.st_mode & 07777U)};
  }
  std::array<char, kTokenFileMax> bytes{};
  const ssize_t size = read(file.number(), bytes.data(), bytes.size());
  if (size < 0) return from_errno("read", path);
  std::string token(bytes.data(), static_cast<size_t>(size));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() != 2 * kAdminBytes) {
    return Error{Code::corrupt,
                 fmt::format("{} does not hold a token of {} digits: remove the file to get a new "
                             "token, which ends all tokens made before",
                             path, 2 * kAdminBytes)};
  }
  return token;
}

Result<std::string> read_or_make_admin_token(const std::string& folder) {
  Result<std::string> found = read_admin_token(folder);
  if (found.ok() || found.error().code != Code::not_found) return found;
  TRY(make_admin_token(folder));
  return read_admin_token(folder);
}

}  // namespace dunlin::hub
