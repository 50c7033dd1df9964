// The table of engines: a row says all that commands and agents know of one. What opens, makes and
// removes stores, the help texts, the errors and the documents follow it; a new engine is a row and
// its folder. Constant; from any thread.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stores/open.h"

namespace dunlin::stores {

// One way to write an engine's URL.
struct UrlForm {
  std::string_view begin = {};  // By which the URL is known.
  std::string_view form = {};   // What a user types; empty: another spelling of the form before.
};

enum class Keeper {
  process,  // The store is gone with this process.
  folder,   // A folder of this machine.
  hub,      // Tokens decide there who may do what, and old jobs are removed there.
  server,   // Services of others, which `dunlin store init` prepares.
};

struct Engine {
  Keeper keeper = Keeper::process;
  std::array<UrlForm, 5> urls = {};
  bool lends_table = false;  // It can keep the table, or the blobs, of a store of several engines.

  // See the functions of stores/open.h, which call these. Null: the engine does not offer it.
  Result<std::unique_ptr<RequestStore>> (*open)(const std::string&, const OpenOptions&) = nullptr;
  Result<StoreAccess> (*access)(const std::string&, const OpenOptions&) = nullptr;
  Result<bool> (*init)(const std::string&, const OpenOptions&) = nullptr;
  Result<std::vector<Made>> (*list)(const std::string&, const OpenOptions&) = nullptr;
  Result<void> (*destroy)(const std::string&, const OpenOptions&) = nullptr;
};

std::span<const Engine> engines();

// Null if no engine's URLs begin like that.
const Engine* engine_of(std::string_view url);

// What users type for the engines that `wanted` picks: "A, B or C".
std::string forms_of(bool (*wanted)(const Engine&));
// Of those that outlive the process: what --at is good for.
std::string lasting_forms();

// The store's URL, `why` it cannot be used, and what there is instead. Shows no password.
Error bad_url(std::string_view url, std::string_view why);

}  // namespace dunlin::stores
