// What our own API answers, as JSON Schemas that its document names and its routes point to. Pure.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace dunlin::rest {

// Name and schema, for "#/components/schemas/NAME".
const std::vector<std::pair<std::string_view, std::string_view>>& api_schemas();

}  // namespace dunlin::rest
