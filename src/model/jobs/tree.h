// The completion tree of a job: which pages are full, and so on upwards until one node covers all.
// Workers grow it, `retry` cuts it back, `status` reads it. Pure; from any thread.
//
//   level 0   pages            full when each of its tasks has an outcome
//   level 1   nodes/JOB/1/k    a bit for each of the pages 256k .. 256k+255
//   level 2   nodes/JOB/2/k    a bit for each of the nodes 256k .. 256k+255 of level 1, and so on
//
// The root is the only member of the highest level: the page itself if there is only one. A bit is
// set once, in the commit that adds the counts of what is below it, so nothing is counted twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/keys.h"
#include "model/records.pb.h"

namespace dunlin {

struct Counts {
  uint64_t ok = 0;
  uint64_t failed = 0;  // Any outcome that is not ok.
  bool operator==(const Counts&) const = default;
};

// How many members a level has; level 0 is the pages.
uint64_t level_size(uint32_t level, uint64_t tasks);
// The level of the root: 0 if one page holds all tasks.
uint32_t root_level(uint64_t tasks);

// REQUIRES: level > 0
std::string node_key(std::string_view job, uint32_t level, uint64_t number);

// A member's parent is parent_of(number), one level up; there it is the bit child_of(number).
inline constexpr uint64_t parent_of(uint64_t number) { return number / kFanOut; }
inline constexpr uint32_t child_of(uint64_t number) {
  return static_cast<uint32_t>(number % kFanOut);
}
// How many children a node has: 256, but for the last of its level. REQUIRES: level > 0
uint64_t children_of(uint32_t level, uint64_t number, uint64_t tasks);

// Bits as they stand in Node.full and Page.moved: those beyond the end are zero.
bool has_bit(std::string_view bits, uint32_t at);
void set_bit(std::string& bits, uint32_t at);
void clear_bit(std::string& bits, uint32_t at);
uint64_t count_bits(std::string_view bits);

Counts counts_of(const model::Page& page);
inline Counts counts_of(const model::Node& node) { return {node.ok(), node.failed()}; }

bool is_full(const model::Page& page, uint64_t number, uint64_t tasks);
// REQUIRES: level > 0
bool is_full(const model::Node& node, uint32_t level, uint64_t number, uint64_t tasks);

// Sets the child's bit and adds its counts; false, and nothing changes, if it was set.
bool add_child(model::Node& node, uint32_t child, const Counts& counts);
// Takes both away again; false, and nothing changes, if the bit was not set, or if the node counts
// fewer tasks than that: then the two were not read at the same time.
bool remove_child(model::Node& node, uint32_t child, const Counts& counts);

}  // namespace dunlin
