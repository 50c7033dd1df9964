#include "worker/mind/asks.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace dunlin::worker {
namespace {

constexpr Millis kRetryMin = Millis(20);
constexpr Millis kRetryMax = std::chrono::seconds(5);
constexpr Millis kRefusedMin = std::chrono::seconds(1);  // A damaged row is not soon repaired.
constexpr Millis kRefusedMax = std::chrono::seconds(60);
constexpr uint32_t kDoublings = 8;

}  // namespace

void Asks::ask(Request request, Then then, Hears hears) {
  const uint64_t id = ++last_id_;
  asked_.emplace(id, Asked{std::move(request), std::move(then), hears});
  post(id);
}

void Asks::commit(std::vector<Write>&& writes, Then then, Hears hears) {
  ask(Commit{random_.next() | 1U, std::move(writes)}, std::move(then), hears);
}

// An answer may hold only the first rows.
void Asks::get_rows(Get get, std::function<void(std::vector<Row>&&)> then,
                    std::vector<Row> so_far) {
  if (get.keys.empty()) return then(std::move(so_far));
  Get asked = get;
  ask(std::move(asked), [this, get = std::move(get), then = std::move(then),
                         so_far = std::move(so_far)](Answer&& answer) mutable {
    auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.empty()) return then({});
    const size_t count = std::min(rows->rows.size(), get.keys.size());
    std::move(rows->rows.begin(), rows->rows.end(), std::back_inserter(so_far));
    get.keys.erase(get.keys.begin(), get.keys.begin() + static_cast<std::ptrdiff_t>(count));
    get_rows(std::move(get), std::move(then), std::move(so_far));
  });
}

void Asks::post(uint64_t id) { to_ask_.push_back({id, asked_.at(id).request}); }

bool Asks::answered(uint64_t id, Answer&& answer) {
  const auto found = asked_.find(id);
  CHECK(found != asked_.end());
  if (const auto* error = std::get_if<Error>(&answer)) {
    const uint32_t doublings = std::min(found->second.tries, kDoublings);
    if (error->code == Code::unavailable || error->code == Code::full) {
      // It may have happened. The same bytes again, nonce and all, are the same request.
      ask_again(id, std::min(kRetryMax, kRetryMin * (1U << doublings)));
      return false;
    }
    if (error->code == Code::denied) {
      failure_ = *error;
      return false;
    }
    const bool heard = error->code == Code::conflict || error->code == Code::not_found;
    if (!heard && found->second.hears != Hears::refusals) {
      // One bad row must not end a worker that has other things to do.
      if (doublings == 0) log::error("the store refuses a request: {}", error->what);
      ask_again(id, std::min(kRefusedMax, kRefusedMin * (1U << doublings)));
      return false;
    }
  }
  const Then then = std::move(found->second.then);
  asked_.erase(found);
  then(std::move(answer));
  return true;
}

void Asks::ask_again(uint64_t id, Millis least) {
  ++asked_.at(id).tries;
  later(least + Millis(random_.below(static_cast<uint64_t>(least.count()))),
        [this, id] { post(id); });
}

void Asks::later(Millis delay, std::function<void()> what) {
  timers_.emplace(now_.at + delay, std::move(what));
}

void Asks::tick() {
  while (!timers_.empty() && timers_.begin()->first <= now_.at) {
    const auto what = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    what();
  }
}

Instant Asks::next_wake() const {
  return timers_.empty() ? now_.at + std::chrono::hours(1) : timers_.begin()->first;
}

std::vector<Ask> Asks::take() { return std::exchange(to_ask_, {}); }

std::string Asks::describe() const {
  std::string text;
  for (const auto& [id, asked] : asked_) {
    text += fmt::format("  asked {}: kind {}, {} tries\n", id, asked.request.index(), asked.tries);
  }
  return text;
}

}  // namespace dunlin::worker
