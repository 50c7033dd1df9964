// CRC-32C (Castagnoli), the checksum of everything on disk, by the processor's own instruction
// where it has one. Pure; from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace dunlin {

// `before` is the checksum of the bytes in front of these.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace dunlin
