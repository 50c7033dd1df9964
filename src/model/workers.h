// The workers that the store knows of. One thread at a time, as the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

inline constexpr Millis kOnlineFor = Millis(15'000);  // After a worker was last seen.
bool is_online(const model::WorkerInfo& worker, WallTime now);
// online draining offline
std::string_view state_word(const model::WorkerInfo& worker, WallTime now);

// What keeps a worker from running the job's tasks: "the tag gpu", "4 cpus (it has 2)". None if it
// can.
std::vector<std::string> missing_for(const model::Spec& spec, const model::WorkerInfo& worker);

// By id, those after `after`, at most `max`.
Result<std::vector<model::WorkerInfo>> read_workers(Table& table, std::string after = "",
                                                    size_t max = SIZE_MAX);

}  // namespace dunlin
