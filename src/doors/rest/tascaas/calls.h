// What the routes of TaScaaS have in common: numbers in queries, and words that its clients know.
// Nothing blocks. One thread, that of the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doors/rest/server/call.h"
#include "doors/rest/server/problem.h"

namespace dunlin::rest {

// A whole number in the query; of several of that name the last one counts.
struct Given {
  bool missing = true;                  // Not there, or empty.
  std::optional<int64_t> said = {};     // None: no whole number, or a huge one.
  std::optional<uint64_t> number = {};  // If it is within the bounds.
};
Given given(const Call& call, std::string_view name, int64_t least, uint64_t most);

http::HttpReply unknown_infrastructure();

// For the document about these routes.
inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kText = R"({"type":"string"})";
inline constexpr Parameter kJobPath{
    .name = "job", .in = In::path, .required = true, .summary = "The job's id"};
inline constexpr Parameter kInfraPath{
    .name = "id", .in = In::path, .required = true, .summary = "As /node/register has said it"};

// What a tenant does with its own secret, under /tenant/v1.
Family tenant_family();

void add_node_routes(std::vector<Route>& routes);
void add_lb_routes(std::vector<Route>& routes);
void add_file_routes(std::vector<Route>& routes);

}  // namespace dunlin::rest
