// What the handlers of our own API share: parameters of several routes, and the question what a
// token allows, which blocks as the store does. One thread, that of the call.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "doors/rest/bodies/page.h"
#include "doors/rest/server/call.h"
#include "model/keys.h"
#include "store/store.h"

namespace dunlin::rest {

inline constexpr Parameter kJobId{.name = "id",
                                  .in = In::path,
                                  .required = true,
                                  .least = 1,
                                  .most = 64,
                                  .summary = "Of the job, in full"};

// The number of a task or a partition, in a path.
constexpr Parameter numbered(std::string_view name) {
  return {.name = name,
          .in = In::path,
          .type = Type::number,
          .required = true,
          .least = 0,
          .most = static_cast<int64_t>(kTasksMax),
          .summary = "Its number, from 0"};
}
// Of a path; it was checked.
uint64_t number_in_path(const Call& call, std::string_view name);

// `denied` if the token allows less, before anything else is said.
Result<void> need_submit(Store& store);
Result<void> need_worker(Store& store);

}  // namespace dunlin::rest
