// The document about a family of routes, made from the table that answers requests. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doors/rest/server/route.h"

namespace dunlin::rest {

// OpenAPI 3.1. REQUIRES: the schemas of the routes are JSON.
nlohmann::ordered_json openapi_document(const Family& family);

}  // namespace dunlin::rest
