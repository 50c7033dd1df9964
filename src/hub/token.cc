#include "hub/token.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

namespace dunlin {
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

}  // namespace

std::string token_path(const std::string& folder) { return folder + "/token"; }

Result<std::string> make_token(std::string_view admin, Scopes scopes, int64_t expires_s) {
  CHECK(!scopes.empty());
  const std::string text =
      fmt::format("{}{}.{}.{}", kPrefix, to_text(scopes), expires_s, random_hex(kNonceBytes));
  return fmt::format("{}.{}", text, mac_of(admin, text));
}

Result<Scopes> check_token(std::string_view admin, std::string_view token, WallTime now) {
  const Error unknown = {Code::denied,
                         "the token is not one of this hub's: use that of its data folder "
                         "(DIR/token) or one made with `dunlin token`"};
  if (equal(admin, token)) return Scopes(Scope::admin);
  const size_t dot = token.rfind('.');
  if (!token.starts_with(kPrefix) || dot < kPrefix.size()) return unknown;
  if (!equal(mac_of(admin, token.substr(0, dot)), token.substr(dot + 1))) return unknown;

  // From here on it is text that this hub's secret has signed.
  const std::string_view body = token.substr(kPrefix.size(), dot - kPrefix.size());
  const size_t first = body.find('.');
  if (first == std::string_view::npos) return unknown;
  const std::string_view rest = body.substr(first + 1);
  int64_t expires_s = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), expires_s);
  if (parsed.ec != std::errc()) return unknown;
  const auto now_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (expires_s != 0 && now_s >= expires_s) {
    return Error{Code::denied, fmt::format("the token expired {} s ago: make another one with "
                                           "`dunlin token --scope {}`",
                                           now_s - expires_s, body.substr(0, first))};
  }
  return parse_scopes(body.substr(0, first));
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
    return Error{
        Code::denied,
        fmt::format("others may read {0} (mode {1:04o}): run `chmod 600 {0}`, or remove it "
                    "to get a new token if one may have read it",
                    path, about.st_mode & 07777U)};
  }
  std::array<char, kTokenFileMax> bytes{};
  const ssize_t size = read(file.number(), bytes.data(), bytes.size());
  if (size < 0) return from_errno("read", path);
  std::string token(bytes.data(), static_cast<size_t>(size));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() != 2 * kAdminBytes) {
    return Error{Code::corrupt, fmt::format("{} does not hold a token of {} digits: remove it to "
                                            "get a new one, which ends all tokens made before",
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

}  // namespace dunlin
