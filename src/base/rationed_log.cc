#include "base/rationed_log.h"

#include <algorithm>

#include "base/log.h"

namespace dunlin {
namespace {

constexpr Millis kEach = Millis(1000);         // A line may be written again after that.
constexpr Millis kTellAfter = Millis(10'000);  // From the first line that was left out.

}  // namespace

void RationedLog::warning(std::string_view line, Instant now) {
  if (!filled_) filled_ = now;
  const int64_t more = (now - *filled_) / kEach;
  spare_ = std::min(kAtOnce, spare_ + more);
  *filled_ += kEach * more;
  if (spare_ > 0) {
    --spare_;
    return log::warning("{}", line);
  }
  if (left_out_ == 0) tell_at_ = now + kTellAfter;
  ++left_out_;
}

std::optional<Instant> RationedLog::tell(Instant now) {
  if (left_out_ == 0) return std::nullopt;
  if (now < tell_at_) return tell_at_;
  log::warning("{} more lines about {} were left out", left_out_, about_);
  left_out_ = 0;
  return std::nullopt;
}

}  // namespace dunlin
