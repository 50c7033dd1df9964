#include "stores/aws/retry.h"

#include <algorithm>
#include <array>

namespace dunlin::cloud {
namespace {

constexpr Millis kPauseFirst = Millis(50);
constexpr Millis kPauseMax = Millis(5000);
constexpr double kRateMin = 1;
constexpr double kRateFree = 5000;  // As good as no limit.
constexpr double kFaster = 1.2;     // Each second.
constexpr Millis kSecond = Millis(1000);

constexpr std::array<std::string_view, 13> kThrottled = {"Throttling",
                                                         "ThrottlingException",
                                                         "ThrottledException",
                                                         "RequestThrottled",
                                                         "RequestThrottledException",
                                                         "RequestLimitExceeded",
                                                         "ProvisionedThroughputExceededException",
                                                         "LimitExceededException",
                                                         "BandwidthLimitExceeded",
                                                         "SlowDown",
                                                         "TooManyRequests",
                                                         "TooManyRequestsException",
                                                         "KmsThrottled"};
constexpr std::array<std::string_view, 8> kAgain = {"TransactionInProgressException",
                                                    "TransactionConflictException",
                                                    "InternalServerError",
                                                    "InternalFailure",
                                                    "InternalError",
                                                    "RequestTimeout",
                                                    "OperationAborted",
                                                    "ConditionalRequestConflict"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Verdict judge(int status, std::string_view error, std::string_view reasons) {
  if (std::ranges::find(kThrottled, error) != kThrottled.end()) return Verdict::throttled;
  if (std::ranges::find(kAgain, error) != kAgain.end()) return Verdict::again;
  if (error == "TransactionCanceledException") {
    // A condition that does not hold is an answer, whatever else there was.
    if (has(reasons, "ConditionalCheckFailed") || has(reasons, "ValidationError")) {
      return Verdict::refused;
    }
    if (has(reasons, "Throttl") || has(reasons, "ThroughputExceeded")) return Verdict::throttled;
    return has(reasons, "TransactionConflict") ? Verdict::again : Verdict::refused;
  }
  if (status == 429 || status == 503) return Verdict::throttled;
  if (status >= 500 && status != 501) return Verdict::again;
  return status >= 200 && status < 300 ? Verdict::done : Verdict::refused;
}

std::string_view bare_error(std::string_view name) {
  name = name.substr(name.rfind('#') == std::string_view::npos ? 0 : name.rfind('#') + 1);
  return name.substr(0, name.find(':'));
}

Millis backoff(int tries, Random& random) {
  Millis most = kPauseFirst;
  for (int i = 1; i < tries && most < kPauseMax; ++i) most *= 2;
  most = std::min(most, kPauseMax);
  return Millis(random.below(static_cast<uint64_t>(most.count()) + 1));
}

Millis Pace::next(Instant now) {
  if (now - counted_ >= kSecond) {
    measured_ =
        sent_ * 1000 / static_cast<double>(std::max((now - counted_).count(), kSecond.count()));
    sent_ = 0;
    counted_ = now;
  }
  sent_ += 1;
  while (rate_ > 0 && now - changed_ >= kSecond) {
    rate_ *= kFaster;
    changed_ += kSecond;
    if (rate_ >= kRateFree) rate_ = 0;
  }
  if (rate_ <= 0) return Millis(0);
  const Instant at = std::max(now, free_);
  free_ = at + Millis(static_cast<int64_t>(1000 / rate_));
  return at - now;
}

void Pace::throttled(Instant now) {
  const double speed = rate_ > 0 ? rate_ : std::max(measured_, sent_);
  rate_ = std::max(speed / 2, kRateMin);
  changed_ = now;
}

}  // namespace dunlin::cloud
