#include "stores/aws/credentials.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "aws_protocol/json.h"
#include "base/names.h"

namespace dunlin::cloud {
namespace {

constexpr Millis kMetadataWait = Millis(1000);
constexpr Millis kRefreshBefore = std::chrono::minutes(5);
constexpr Millis kLookAgain = std::chrono::seconds(10);  // For fresher ones.
constexpr size_t kFileMax = 1 << 20;
constexpr size_t kAnswerMax = 64 << 10;
constexpr size_t kRoleMax = 256;
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kMetadataHost = "http://169.254.169.254";

std::string_view trim(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::string setting(const Ini& ini, const std::string& section, const std::string& name) {
  const auto found = ini.find(section);
  if (found == ini.end()) return "";
  const auto value = found->second.find(name);
  return value == found->second.end() ? "" : value->second;
}

// The hosts that a container's keys may be asked of: TLS, this machine, or the link-local ones that
// the platforms use. Anything else would be a way to send the container's token to strangers.
bool may_ask(std::string_view url) {
  if (url.starts_with("https://")) return true;
  for (const std::string_view host : {"http://127.0.0.1", "http://localhost", "http://[::1]",
                                      "http://169.254.170.2", "http://169.254.170.23"}) {
    if (!url.starts_with(host)) continue;
    const std::string_view rest = url.substr(host.size());
    if (rest.empty() || rest.starts_with('/') || rest.starts_with(':')) return true;
  }
  return false;
}

}  // namespace

Ini parse_ini(std::string_view text) {
  Ini ini;
  std::map<std::string, std::string>* section = nullptr;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view bare = trim(line);
    if (bare.empty() || bare.front() == '#' || bare.front() == ';') continue;
    if (bare.front() == '[') {
      std::string_view name = trim(bare.substr(1, bare.find(']') - 1));
      if (name.starts_with("profile ") || name.starts_with("profile\t")) {
        name = trim(name.substr(8));
      }
      section = &ini[std::string(name)];
      continue;
    }
    const size_t equals = bare.find('=');
    if (section == nullptr || equals == std::string_view::npos || line.front() == ' ' ||
        line.front() == '\t') {
      continue;
    }
    std::string_view value = trim(bare.substr(equals + 1));
    value = trim(value.substr(0, std::min(value.find(" #"), value.find(" ;"))));
    (*section)[std::string(trim(bare.substr(0, equals)))] = value;
  }
  return ini;
}

std::optional<Keys> keys_in(const Ini& ini, const std::string& profile) {
  Keys keys;
  keys.credentials.key_id = setting(ini, profile, "aws_access_key_id");
  keys.credentials.secret = setting(ini, profile, "aws_secret_access_key");
  keys.token = setting(ini, profile, "aws_session_token");
  if (keys.credentials.key_id.empty() || keys.credentials.secret.empty()) return std::nullopt;
  return keys;
}

std::optional<WallTime> parse_iso_time(std::string_view text) {
  std::string compact;  // As signatures have it, without fractions.
  for (const char c : text.substr(0, text.find('.'))) {
    if (c != '-' && c != ':') compact += c;
  }
  if (!compact.ends_with('Z')) compact += 'Z';
  return aws::parse_amz_time(compact);
}

std::optional<Keys> parse_role_keys(std::string_view text) {
  const std::optional<aws::json> object = aws::parse_object(text);
  if (!object) return std::nullopt;
  Keys keys;
  keys.credentials.key_id = aws::text_or(*object, "AccessKeyId", "");
  keys.credentials.secret = aws::text_or(*object, "SecretAccessKey", "");
  keys.token = aws::text_or(*object, "Token", "");
  keys.expires = parse_iso_time(aws::text_or(*object, "Expiration", ""));
  if (keys.credentials.key_id.empty() || keys.credentials.secret.empty()) return std::nullopt;
  return keys;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

KeyChain::KeyChain(HttpClient& http, const Clock& clock, const Disk& disk, GetVariable variable)
    : http_(http), clock_(clock), disk_(disk), variable_(std::move(variable)) {}

Result<Keys> KeyChain::keys() {
  const bool valid = kept_ && (!kept_->expires || *kept_->expires > clock_.wall());
  const bool old = kept_ && kept_->expires && *kept_->expires <= clock_.wall() + kRefreshBefore;
  if (valid && (!old || clock_.now() < looked_ + kLookAgain)) return *kept_;
  Result<Keys> found = find();
  looked_ = clock_.now();
  if (found.ok()) kept_ = found.value();
  if (!found.ok() && valid) return *kept_;  // Not fresh, but good for now.
  return found;
}

Result<Keys> KeyChain::find() {
  tried_.clear();
  if (auto found = TRY(in_environment())) return std::move(*found);
  for (const auto look : {&KeyChain::in_files, &KeyChain::in_container, &KeyChain::in_metadata}) {
    if (auto found = TRY((this->*look)())) return std::move(*found);
  }
  return Error{Code::denied,
               fmt::format("no AWS credentials were found; tried AWS_ACCESS_KEY_ID and "
                           "AWS_SECRET_ACCESS_KEY{}",
                           tried_)};
}

KeyChain::Found KeyChain::in_environment() const {
  const auto id = variable_("AWS_ACCESS_KEY_ID");
  const auto secret = variable_("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) return std::optional<Keys>();
  return std::optional(Keys{{*id, *secret}, variable_("AWS_SESSION_TOKEN").value_or(""), {}});
}

std::string KeyChain::file_text(const char* variable, const char* name) {
  const std::string path =
      variable_(variable).value_or(variable_("HOME").value_or("") + "/.aws/" + name);
  tried_ += ", " + path;
  const auto file = disk_.open_to_read(path);
  if (!file.ok()) return "";
  std::string text(kFileMax, '\0');
  const Result<size_t> size = file.value()->read(0, text);
  text.resize(size.ok() ? size.value() : 0);
  return text;
}

KeyChain::Found KeyChain::in_files() {
  const auto chosen = variable_("AWS_PROFILE");
  const std::string profile = chosen.value_or("default");
  const Ini secrets = parse_ini(file_text("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
  const Ini config = parse_ini(file_text("AWS_CONFIG_FILE", "config"));
  for (const Ini* ini : {&secrets, &config}) {
    if (auto found = keys_in(*ini, profile)) return found;
  }
  for (const char* other : {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
    if (setting(config, profile, other).empty() && setting(secrets, profile, other).empty()) {
      continue;
    }
    return Error{Code::denied,
                 fmt::format("the profile {} has {}, which is not supported: `aws configure "
                             "export-credentials --profile {} --format env` prints keys to export",
                             quote(profile), other, profile)};
  }
  if (chosen) {  // Who names a profile does not want another one's keys.
    return Error{Code::denied, fmt::format("the profile {} (AWS_PROFILE) has no keys; tried {}",
                                           quote(profile), tried_.substr(2))};
  }
  return std::optional<Keys>();
}

Result<HttpAnswer> KeyChain::ask(const std::string& method, const std::string& url,
                                 const http::Headers& headers) {
  HttpRequest request;
  request.method = method;
  request.url = url;
  request.headers = headers;
  request.timeout = kMetadataWait;
  request.answer_max = kAnswerMax;
  return http_.send(request);
}

KeyChain::Found KeyChain::in_container() {
  const auto relative = variable_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = variable_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) {
    tried_ += ", AWS_CONTAINER_CREDENTIALS_*_URI";
    return std::optional<Keys>();
  }
  const std::string url = relative ? kContainerHost + *relative : *full;
  if (!may_ask(url)) {
    return Error{Code::denied,
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor on this machine"};
  }
  http::Headers headers;
  auto token = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto path = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path && !token) {
    token = std::string(trim(file_text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "")));
    if (token->ends_with('\n')) token->pop_back();
  }
  if (token) headers.emplace_back("authorization", *token);
  const HttpAnswer answer = TRY(ask("GET", url, headers));
  auto found = parse_role_keys(answer.body);
  if (answer.status == 200 && found) return found;
  return Error{answer.status >= 500 ? Code::unavailable : Code::denied,
               fmt::format("the container's credentials endpoint answered {}", answer.status)};
}

// IMDSv2: a token first, which a request that was forwarded by mistake cannot get.
KeyChain::Found KeyChain::in_metadata() {
  if (variable_("AWS_EC2_METADATA_DISABLED").value_or("") == "true") {
    tried_ += "; the instance's metadata are off (AWS_EC2_METADATA_DISABLED)";
    return std::optional<Keys>();
  }
  const std::string host = variable_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kMetadataHost);
  tried_ += fmt::format(" and the instance's metadata at {}", host);
  const auto token =
      ask("PUT", host + "/latest/api/token", {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}});
  if (!token.ok() || token.value().status != 200) return std::optional<Keys>();
  const http::Headers headers = {{"x-aws-ec2-metadata-token", token.value().body}};
  const std::string path = host + "/latest/meta-data/iam/security-credentials/";
  const auto role = ask("GET", path, headers);
  if (!role.ok() || role.value().status != 200) return std::optional<Keys>();
  const std::string name(trim(role.value().body.substr(0, role.value().body.find('\n'))));
  if (!is_visible(name, kRoleMax)) return std::optional<Keys>();
  const auto answer = ask("GET", path + name, headers);
  if (!answer.ok() || answer.value().status != 200) return std::optional<Keys>();
  return parse_role_keys(answer.value().body);
}

}  // namespace dunlin::cloud
