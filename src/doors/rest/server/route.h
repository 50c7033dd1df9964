// The table of what the service answers. A route says everything about itself: what a client may
// send, what it needs, what it is for; so requests are checked and documents are written from the
// same lines. Routes stand in families, each with a way to say what went wrong. Pure; from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace dunlin::rest {

class Call;

// Where a parameter stands, and what it may be.
enum class In { path, query, header };
enum class Type { text, number, flag };

struct Parameter {
  std::string_view name;
  In in = In::query;
  Type type = Type::text;
  bool required = false;
  int64_t least = 0;  // Of a number; of a text, its bytes.
  int64_t most = INT64_MAX;
  std::string_view summary = {};
  std::string_view choices = {};  // Of a text: "done|failed"; empty: any.
};

// Answers through the call. An error that is returned before anything was answered becomes the
// answer; after that it ends the connection.
using Handler = Result<void> (*)(Call& call, Store& store);

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/jobs/{id}"; a last part "{name*}" takes all that is left.
  std::string_view summary;
  std::vector<Parameter> parameters = {};
  std::string_view scope = {};        // What a token must allow: read, submit, worker or admin.
  std::string_view body_schema = {};  // JSON Schema of what is sent; empty: nothing is.
  std::string_view reply_schema = {};
  Handler handler = nullptr;
  std::string_view body_type = "application/json";  // If there is a body_schema.
  std::string_view reply_type = "application/json";
  std::string_view statuses = "200";  // When it went well: "201 200".
};

// How errors are told.
enum class Style {
  problem,  // application/problem+json.
  plain,    // A line of text; what is unknown is 403, as TaScaaS's clients know it.
};

struct Family {
  std::string_view prefix;  // "/api/v1". Empty: the routes answer after any prefix.
  Style style = Style::problem;
  bool bearer = true;   // Needs a token, and speaks to the store with its rights.
  bool checked = true;  // Parameters are checked before the handler sees them.
  std::vector<Route> routes;
  bool secret = false;  // Its handlers ask for the secret of a tenant.
};

struct Match {
  const Family* family = nullptr;  // Null: nobody knows the path.
  const Route* route = nullptr;    // Null: the family knows no such path, or no such method there.
  bool path_known = false;         // With another method.
  std::string allowed = {};        // Its methods: "GET, PUT".
  std::string prefix = {};         // What stood before the route's own path.
  std::vector<std::pair<std::string, std::string>> parameters = {};  // Of the path, decoded.
};

// `path` as on the wire. The families are tried in their order.
Match find_route(const std::vector<Family>& families, std::string_view method,
                 std::string_view path);

// `invalid` names the first parameter that is not as the route says.
Result<void> check_parameters(const Route& route, const Call& call);

}  // namespace dunlin::rest
