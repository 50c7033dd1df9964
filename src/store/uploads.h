// How many uploads of blobs our own engines keep under way, and for how long without a new part.
//
// Nobody's upload is forgotten for another one that begins: beyond the bound a beginner is `full`,
// unless an upload is there for which no part has come for kUploadIdle.
//
// Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "base/env.h"

namespace dunlin {

inline constexpr size_t kUploadsMax = 4096;  // Each may be an open file.

// A part of 1 MiB takes less than this at 4 KiB/s.
inline constexpr Millis kUploadIdle = std::chrono::minutes(5);

// Which of `uploads` may be forgotten for a new one; end() if none may be. Each has the time of its
// last part in `last`.
template <typename Uploads>
auto find_idle(Uploads& uploads, Instant now) {
  const auto oldest =
      std::ranges::min_element(uploads, {}, [](const auto& upload) { return upload.last; });
  return oldest != uploads.end() && oldest->last + kUploadIdle <= now ? oldest : uploads.end();
}

inline Error no_place_for_upload() {
  return {Code::full, "as many uploads as this store takes are under way: try again later"};
}

}  // namespace dunlin
