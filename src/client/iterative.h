// Words for people about an iterative job: how far it is, and whether its deadline will be met.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/env.h"
#include "model/iterating.h"
#include "model/records.pb.h"

namespace dunlin {

std::string iterating_text(const Iterating& iterating, const model::Spec& spec, WallTime now,
                           bool ended);

// "in 4m10s", "12s ago", and whether it will be met, if that is known.
std::string deadline_text(int64_t finish_by_ms, WallTime now, std::string_view judgement);

}  // namespace dunlin
