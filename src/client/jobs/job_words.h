// Words for people about a job: its age, how far its iterations are, and whether its deadline will
// be met. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/env.h"
#include "model/records.pb.h"
#include "model/views/iterating.h"

namespace dunlin::client {

// "4m10s ago".
std::string age(int64_t then_us, WallTime now);

std::string iterating_text(const Iterating& iterating, const model::Spec& spec, WallTime now,
                           bool ended);

// "in 4m10s", "12s ago", and whether it will be met, if that is known.
std::string deadline_text(int64_t finish_by_ms, WallTime now, std::string_view judgement);

}  // namespace dunlin::client
