#include "stores/engines.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "stores/hub_engine.h"
#include "stores/local_engines.h"
#include "stores/mixed_engine.h"
#include "stores/postgres_engine.h"

namespace dunlin::stores {
namespace {

constexpr std::array kEngines = {
    Engine{
        .keeper = Keeper::process, .urls = {{{"memory:", "memory:"}}}, .open = open_memory_engine},
    Engine{.keeper = Keeper::folder,
           .urls = {{{"file:", "file:FOLDER"}}},
           .open = open_file_engine,
           .access = access_file_engine},
    Engine{.keeper = Keeper::hub,
           .urls = {{{"dunlin:", "dunlin://HOST:PORT"}, {"dunlin+tls:", "dunlin+tls://HOST:PORT"}}},
           .lends_table = true,
           .open = open_hub_engine,
           .access = access_hub_engine},
    Engine{.keeper = Keeper::server,
           .urls = {{{"postgres://", "postgres://USER@HOST/DATABASE"}, {"postgresql://"}}},
           .lends_table = true,
           .open = open_postgres_engine,
           .access = access_postgres_engine,
           .init = init_postgres_engine,
           .destroy = destroy_postgres_engine},
    Engine{.keeper = Keeper::server,
           .urls = {{{"aws:", "aws:REGION/PREFIX"}}},
           .lends_table = true,
           .open = open_mixed_engine,
           .access = access_mixed_engine,
           .init = init_mixed_engine,
           .list = list_mixed_engine,
           .destroy = destroy_mixed_engine},
    Engine{.keeper = Keeper::server,
           .urls = {{{"queue=", "queue=URL,table=URL"},
                     {"table="},
                     {"blobs="},
                     {"amqp://"},  // For a better word than "unknown".
                     {"amqps://"}}},
           .open = open_mixed_engine,
           .access = access_mixed_engine,
           .init = init_mixed_engine,
           .list = list_mixed_engine,
           .destroy = destroy_mixed_engine},
};

}  // namespace

std::span<const Engine> engines() { return kEngines; }

const Engine* engine_of(std::string_view url) {
  for (const Engine& engine : kEngines) {
    for (const UrlForm& one : engine.urls) {
      if (!one.begin.empty() && url.starts_with(one.begin)) return &engine;
    }
  }
  return nullptr;
}

std::string forms_of(bool (*wanted)(const Engine&)) {
  std::vector<std::string_view> forms;
  for (const Engine& engine : kEngines) {
    if (!wanted(engine)) continue;
    for (const UrlForm& one : engine.urls) {
      if (!one.form.empty()) forms.push_back(one.form);
    }
  }
  std::string text;
  for (size_t i = 0; i < forms.size(); ++i) {
    if (i > 0) text += i + 1 == forms.size() ? " or " : ", ";
    text += forms[i];
  }
  return text;
}

std::string lasting_forms() {
  return forms_of([](const Engine& engine) { return engine.keeper != Keeper::process; });
}

Error bad_url(std::string_view url, std::string_view why) {
  return {Code::invalid, fmt::format("the store URL {} {}: use {}", quote_url(url), why,
                                     forms_of([](const Engine&) { return true; }))};
}

}  // namespace dunlin::stores
