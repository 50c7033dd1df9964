#include "sim/faulty_link.h"

#include "base/check.h"
#include "store/memory.h"

namespace dunlin {
namespace {

constexpr Millis kLostAfter = Millis(1000);

}  // namespace

FaultyLink::FaultyLink(Events& events, Random& random, uint64_t seed)
    : events_(events),
      random_(random),
      core_(memory_core()),
      store_(core_store(*core_, events, seed)) {}

Millis FaultyLink::some(Millis most) {
  return Millis(random_.below(static_cast<uint64_t>(most.count()) + 1));
}

Millis FaultyLink::some_delay() {
  return some(random_.percent(faults.slow) ? faults.slow_max : faults.delay_max);
}

Answer FaultyLink::apply(const Request& request, const Watch& watch) {
  core_->expire(events_.now());
  const bool full = random_.percent(faults.full);
  const bool away = random_.percent(faults.away);
  if (full || (away && random_.percent(50))) {
    return Error{full ? Code::full : Code::unavailable, "the store has a bad time"};
  }
  Answer answer = core_->handle(Request(request), events_.now());
  CHECK(core_->commit(events_.now()).ok());
  hash_ = hash_ * 31 + answer.index() + request.index() * 7;
  watch(request, answer);
  shorten(answer);
  if (away) return Error{Code::unavailable, "the store has a bad time"};
  return answer;
}

void FaultyLink::shorten(Answer& answer) {
  auto* rows = std::get_if<Rows>(&answer);
  if (rows == nullptr || rows->rows.size() < 2 || !random_.percent(faults.short_rows)) return;
  rows->rows.resize(1 + random_.below(rows->rows.size() - 1));
}

void FaultyLink::post(Request request, Watch watch, Then then) {
  const bool lost = random_.percent(faults.request_lost);
  const bool deaf = random_.percent(faults.answer_lost);
  const bool twice = random_.percent(faults.repeated);
  if (random_.percent(faults.late)) {
    events_.after(some(faults.late_max), [this, request, watch] { apply(request, watch); });
  }
  if (lost) {
    events_.after(kLostAfter, [then] { then(Error{Code::unavailable, "lost"}); });
    return;
  }
  events_.after(some_delay(), [this, request = std::move(request), watch = std::move(watch),
                               then = std::move(then), deaf, twice] {
    if (twice) apply(request, watch);
    Answer answer = apply(request, watch);
    if (deaf) answer = Error{Code::unavailable, "lost"};
    events_.after(deaf ? kLostAfter : some_delay(),
                  [then, answer = std::move(answer)] { then(Answer(answer)); });
  });
}

}  // namespace dunlin
