// A file of a tenant as a reply: all of it, or the part that the client asks for, as those do that
// go on with a download that was cut off (`curl -C -`, `wget -c`). Blocks as the store and the
// client do. One thread, that of the call. read_range() is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "doors/rest/server/call.h"
#include "doors/rest/server/route.h"
#include "tascaas/records.pb.h"

namespace dunlin::rest {

struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;  // Not in it. As the first: nothing of what was asked for is there.
};
// Of "bytes=FIRST-LAST", "bytes=FIRST-" and "bytes=-COUNT". Nothing if the header says something
// else: then it counts as if it were not there.
std::optional<ByteRange> read_range(std::string_view header, uint64_t size);

// `style`: of what it says if nothing of the range is there.
Result<void> send_file(Call& call, Store& store, const tascaas::File& file, Style style);

}  // namespace dunlin::rest
