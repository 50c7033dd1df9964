#include "worker/mind/routes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "model/keys.h"
#include "model/sound.h"

namespace dunlin::worker {
namespace {

constexpr Millis kScanIdle = Millis(500);
constexpr Millis kScanBusy = std::chrono::seconds(5);
constexpr int kScanPaces = 4;
constexpr Millis kAway = std::chrono::seconds(5);  // A store that takes longer to answer is away.
constexpr Millis kNothingFor = Millis(250);
constexpr Millis kPullWait = std::chrono::seconds(10);
constexpr size_t kWaitingMax = 32;  // Pulls that wait, each at another route.
constexpr uint64_t kPullMax = 256;  // Messages of one pull.

}  // namespace

Routes::Routes(RoutesOptions options, Asks& asks, RoutesOwner& owner)
    : options_(std::move(options)), asks_(asks), owner_(owner) {}

void Routes::begin() {
  idle_since_ = asks_.now().at;
  if (is_alone()) {
    routes_.push_back({options_.only, {}, {}});
  } else {
    scan("");
  }
}

void Routes::scan(std::string after) {
  if (after.empty()) scanned_.clear();
  const Instant asked = asks_.now().at;
  Scan request{std::string(kRoutes), "", std::move(after), kBatchMax};
  asks_.ask(std::move(request), [this, asked](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    // A worker is idle if it can ask for work and there is none.
    const Instant now = asks_.now().at;
    if (rows == nullptr || now - asked > kAway) idle_since_ = now;
    if (rows == nullptr) return plan_scan();
    if (rows->rows.empty()) return scanned();
    for (const Row& row : rows->rows) add(row);
    scan(rows->rows.back().key);
  });
}

void Routes::scanned() {
  std::ranges::stable_sort(scanned_, std::greater<>(),
                           [](const View& view) { return view.route.priority(); });
  for (View& view : scanned_) {
    const auto old = std::ranges::find(routes_, view.queue, &View::queue);
    if (old != routes_.end()) view.depth = old->depth;
  }
  if (scanned_.size() != routes_.size()) tried_ = 0;
  routes_ = std::move(scanned_);
  const Instant now = asks_.now().at;
  if (owner_.holds_any()) idle_since_ = now;
  if (options_.idle_exit > Millis(0) && now - idle_since_ >= options_.idle_exit) {
    return owner_.idle_too_long();
  }
  scanned_at_ = now;
  plan_scan();
}

// Who has something to do need not look often. Who has not may have just finished it.
void Routes::plan_scan() {
  asks_.later(std::max(kScanIdle, options_.pace * kScanPaces), [this] {
    if (owner_.is_busy() && asks_.now().at - scanned_at_ < kScanBusy) return plan_scan();
    scan("");
  });
}

void Routes::add(const Row& row) {
  // What is in another queue is nobody's work, and the store may refuse to give it.
  if (!is_work_queue(row.key)) return;
  View view{row.key, {}, {}};
  if (!view.route.ParseFromString(row.value)) return;
  const bool meets = lacks_of(view.route.requires_(), owner_.offer()).empty();
  if (meets) scanned_.push_back(std::move(view));
}

// A pull that waits for longer would bring leases that are half over.
Millis Routes::patience() const { return std::min(kPullWait, options_.hold / 2); }

// With one route a pull waits there. With several, each is asked in turn, by priority; only when
// none has anything do pulls wait, at all of them.
void Routes::pull() {
  if (routes_.empty()) return;
  if (routes_.size() == 1) {
    // Who is alone knows when there is something new: no pull needs to wait.
    if (pulling_.empty() && !(is_alone() && nothing_there_)) {
      pull_from(routes_.front().queue, is_alone() ? Millis(0) : patience());
    }
    return;
  }
  for (; tried_ < routes_.size(); ++tried_) {
    if (asking_) return;
    // Routes of the same priority take turns; the first of them changes with each success.
    const auto priority_of = [](const View& view) { return view.route.priority(); };
    const auto priority = priority_of(routes_[tried_]);
    const auto same = std::ranges::lower_bound(routes_, priority, std::greater<>(), priority_of);
    const auto lower = std::ranges::upper_bound(routes_, priority, std::greater<>(), priority_of);
    const auto first = static_cast<size_t>(same - routes_.begin());
    const size_t turn = first + (tried_ - first + turn_) % static_cast<size_t>(lower - same);
    // Where a pull waits there is nothing, or it is on its way.
    if (!pulling_.contains(routes_[turn].queue)) return pull_from(routes_[turn].queue, Millis(0));
  }
  for (const View& view : routes_) {
    if (pulling_.size() >= kWaitingMax) break;
    if (!pulling_.contains(view.queue)) pull_from(view.queue, patience());
  }
}

void Routes::pull_from(const std::string& queue, Millis wait) {
  pulling_.insert(queue);
  if (wait == Millis(0)) asking_ = true;
  asks_.ask(Pull{queue, pull_max_, options_.hold, wait},
            [this, queue, wait, asked = asks_.now().at](Answer&& answer) {
              if (wait == Millis(0)) asking_ = false;
              answered(queue, asked, std::move(answer));
            });
}

void Routes::answered(const std::string& queue, Instant asked, Answer&& answer) {
  pulling_.erase(queue);
  auto* found = std::get_if<Deliveries>(&answer);
  if (found == nullptr || found->deliveries.empty()) {
    ++tried_;
    const bool known = std::exchange(nothing_there_, true);
    if (!known) asks_.later(kNothingFor, [this] { nothing_there_ = false; });
    if (routes_.size() > 1 && tried_ > 2 * routes_.size()) tried_ = 0;
    return;
  }
  tried_ = 0;
  ++turn_;
  const bool all = found->deliveries.size() == pull_max_;
  // It may have been handed out right after we asked: that is when the lease began, at worst.
  const bool large = owner_.pulled(queue, std::move(found->deliveries), asked + options_.hold);
  // Many small ranges are worth one pull; of large ones, one is enough.
  if (large) {
    pull_max_ = 1;
  } else if (all) {
    pull_max_ = std::min(pull_max_ * 2, kPullMax);
  }
}

void Routes::end_pulls() {
  for (const std::string& queue : pulling_) {
    asks_.ask(Renew{queue, {}, options_.hold}, [](Answer&&) {});
  }
}

uint64_t Routes::holders(const std::string& queue) const {
  const auto view = std::ranges::find(routes_, queue, &View::queue);
  return view == routes_.end() ? 1 : std::max<uint64_t>(view->depth.leased, 1);
}

void Routes::set_depth(const std::string& queue, const Depth& depth) {
  const auto view = std::ranges::find(routes_, queue, &View::queue);
  if (view != routes_.end()) view->depth = depth;
}

void Routes::check() const {
  CHECK(asks_.open_of<Pull>() == pulling_.size());
  CHECK(!asking_ || !pulling_.empty());
}

}  // namespace dunlin::worker
