#include "model/jobs/tree.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "base/check.h"

namespace dunlin {
namespace {

uint64_t groups_of(uint64_t count, uint64_t size) { return (count + size - 1) / size; }

char mask(uint32_t at) { return static_cast<char>(1U << (at % 8)); }

}  // namespace

uint64_t level_size(uint32_t level, uint64_t tasks) {
  uint64_t size = groups_of(tasks, kPageTasks);
  for (uint32_t i = 0; i < level; ++i) size = groups_of(size, kFanOut);
  return size;
}

uint32_t root_level(uint64_t tasks) {
  uint32_t level = 0;
  while (level_size(level, tasks) > 1) ++level;
  return level;
}

std::string node_key(std::string_view job, uint32_t level, uint64_t number) {
  CHECK(level > 0);
  return fmt::format("{}/{}/{:08x}", job, level, number);
}

uint64_t children_of(uint32_t level, uint64_t number, uint64_t tasks) {
  CHECK(level > 0);
  const uint64_t below = level_size(level - 1, tasks);
  const uint64_t first = number * kFanOut;
  return first >= below ? 0 : std::min(kFanOut, below - first);
}

bool has_bit(std::string_view bits, uint32_t at) {
  return at / 8 < bits.size() && (bits[at / 8] & mask(at)) != 0;
}

void set_bit(std::string& bits, uint32_t at) {
  if (bits.size() <= at / 8) bits.resize(at / 8 + 1, '\0');
  bits[at / 8] = static_cast<char>(bits[at / 8] | mask(at));
}

void clear_bit(std::string& bits, uint32_t at) {
  if (has_bit(bits, at)) bits[at / 8] = static_cast<char>(bits[at / 8] & ~mask(at));
}

uint64_t count_bits(std::string_view bits) {
  uint64_t count = 0;
  for (const char byte : bits) {
    count += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
  }
  return count;
}

Counts counts_of(const model::Page& page) {
  Counts counts;
  for (const model::Outcome& outcome : page.outcomes()) {
    ++(outcome.state() == model::STATE_OK ? counts.ok : counts.failed);
  }
  return counts;
}

bool is_full(const model::Page& page, uint64_t number, uint64_t tasks) {
  return static_cast<uint64_t>(page.outcomes_size()) == page_size(number, tasks);
}

bool is_full(const model::Node& node, uint32_t level, uint64_t number, uint64_t tasks) {
  return count_bits(node.full()) == children_of(level, number, tasks);
}

bool add_child(model::Node& node, uint32_t child, const Counts& counts) {
  if (has_bit(node.full(), child)) return false;
  set_bit(*node.mutable_full(), child);
  node.set_ok(node.ok() + counts.ok);
  node.set_failed(node.failed() + counts.failed);
  return true;
}

bool remove_child(model::Node& node, uint32_t child, const Counts& counts) {
  if (!has_bit(node.full(), child)) return false;
  if (node.ok() < counts.ok || node.failed() < counts.failed) return false;
  clear_bit(*node.mutable_full(), child);
  node.set_ok(node.ok() - counts.ok);
  node.set_failed(node.failed() - counts.failed);
  return true;
}

}  // namespace dunlin
