#include "spec/read_back.h"

#include <nlohmann/json.hpp>

#include "spec/fields.h"

namespace dunlin::spec {

nlohmann::ordered_json spec_json(const model::Job& job) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  for (const JobField& field : job_fields()) {
    nlohmann::json value = field.access.get(job);
    if (!value.is_null()) fields[std::string(field.name)] = std::move(value);
  }
  return fields;
}

}  // namespace dunlin::spec
