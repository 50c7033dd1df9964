// Looks up what a table says about a value of a protobuf enum. Pure.
//
// A switch over such an enum cannot be exhaustive: its type has sentinels, and a newer program may
// have sent a number that we do not know. So what we know stands in a table, and a static_assert
// beside it compares the table's size with the enum's ARRAYSIZE: a new value does not compile until
// the table has a line for it. A number that is not in the table counts as 0.
#pragma once

#include <array>
#include <cstddef>

namespace dunlin {

template <typename Enum, typename Entry, size_t kSize>
constexpr const Entry& entry_of(const std::array<Entry, kSize>& table, Enum value) {
  const auto index = static_cast<size_t>(value);  // A negative number becomes a huge one.
  return table[index < kSize ? index : 0];
}

}  // namespace dunlin
