// Lists come in pages: how many elements a request may ask for. Pure; from any thread.
#pragma once

#include <cstdint>

#include "doors/rest/server/route.h"

namespace dunlin::rest {

inline constexpr int64_t kPageMax = 1000;
inline constexpr int64_t kPageDefault = 100;

inline constexpr Parameter kMax{.name = "max",
                                .type = Type::number,
                                .least = 1,
                                .most = kPageMax,
                                .summary = "How many at most"};

}  // namespace dunlin::rest
