// What the handlers of our own API share.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "rest/call.h"
#include "store/store.h"

namespace dunlin::rest {

inline constexpr int64_t kPageMax = 1000;
inline constexpr int64_t kPageDefault = 100;

inline constexpr Parameter kJobId{.name = "id",
                                  .in = In::path,
                                  .required = true,
                                  .least = 1,
                                  .most = 64,
                                  .summary = "Of the job, in full"};
inline constexpr Parameter kMax{.name = "max",
                                .type = Type::number,
                                .least = 1,
                                .most = kPageMax,
                                .summary = "How many at most"};

// `denied` if the token may only read, before anything else is said.
Result<void> need_submit(Store& store);

}  // namespace dunlin::rest
