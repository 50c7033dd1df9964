// The keys that sign requests, found where AWS's own tools look: the environment, the shared files,
// the container's endpoint, the instance's metadata. In that order; the first that has some wins. A
// KeyChain blocks when it reads files or asks an endpoint; one thread, as its HttpClient. The
// functions that read text are pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "aws_protocol/sigv4.h"
#include "base/env.h"
#include "base/result.h"
#include "stores/aws/http.h"

namespace dunlin::cloud {

struct Keys {
  aws::Credentials credentials;
  std::string token;                // Of a session; empty: none.
  std::optional<WallTime> expires;  // Those without are for good.
};

// Sections of a shared file, each with its settings; "profile x" is known as x. Lines that are
// neither, and settings that are nested, are left out.
using Ini = std::map<std::string, std::map<std::string, std::string>>;
Ini parse_ini(std::string_view text);

// The keys of one section; nothing if it has none.
std::optional<Keys> keys_in(const Ini& ini, const std::string& profile);

// Of the JSON that a container's endpoint and the metadata give. Nothing if it is something else.
std::optional<Keys> parse_role_keys(std::string_view text);
std::optional<WallTime> parse_iso_time(std::string_view text);  // 2026-11-15T18:00:00Z

using GetVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

// Finds keys and keeps them until they are about to expire.
class KeyChain {
 public:
  // All must outlive it.
  KeyChain(HttpClient& http, const Clock& clock, const Disk& disk, GetVariable variable);

  // `denied` says where it looked.
  Result<Keys> keys();

  void forget() { kept_.reset(); }

 private:
  using Found = Result<std::optional<Keys>>;
  Result<Keys> find();
  Found in_environment() const;
  Found in_files();
  Found in_container();
  Found in_metadata();
  std::string file_text(const char* variable, const char* name);
  Result<HttpAnswer> ask(const std::string& method, const std::string& url,
                         const http::Headers& headers);

  HttpClient& http_;
  const Clock& clock_;
  const Disk& disk_;
  const GetVariable variable_;
  std::optional<Keys> kept_;
  Instant looked_ = {};
  std::string tried_;  // For people.
};

}  // namespace dunlin::cloud
