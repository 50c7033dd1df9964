// When to ask a service of the cloud again, and how fast to ask at all. Pure: time and chance are
// handed in.
#pragma once

#include <string_view>

#include "base/env.h"

namespace dunlin::cloud {

enum class Verdict {
  done,       // It did what it was asked.
  throttled,  // Too fast: again, later, and slower from now on.
  again,      // Its trouble, not ours.
  refused,    // The same again gets the same answer.
};

// Of a status of HTTP and the name of the service's error. `reasons`: the text of a cancelled
// transaction's reasons, "None, ConditionalCheckFailed, ...".
Verdict judge(int status, std::string_view error, std::string_view reasons = "");

// The error's name without what stands around it: "com.amazonaws.sqs#QueueDoesNotExist" and
// "QueueDoesNotExist:http://..." are QueueDoesNotExist.
std::string_view bare_error(std::string_view name);

// Full jitter: anything up to a limit that doubles with each try, from the first (1) on.
Millis backoff(int tries, Random& random);

// How fast this client asks: as it likes until it is throttled, then half as fast; a little faster
// again with each second that goes well.
class Pace {
 public:
  // How long to wait before the next request, which counts as sent after that.
  Millis next(Instant now);
  void throttled(Instant now);

  double rate() const { return rate_; }  // A second; 0: as it likes.

 private:
  double rate_ = 0;
  Instant free_ = {};     // When the next one may go.
  Instant changed_ = {};  // The rate, last.
  Instant counted_ = {};  // Since when `sent_` counts.
  double sent_ = 0;
  double measured_ = 0;  // Requests a second, before `counted_`.
};

}  // namespace dunlin::cloud
