// The memory store behind a network that loses, repeats and delays, and that has bad times itself:
// what blocking code in a simulated world speaks to. One thread, the world's.
#pragma once

#include <functional>
#include <memory>

#include "sim/events.h"
#include "store/request_store.h"

namespace dunlin {

struct LinkFaults {
  uint64_t request_lost = 0;  // Percent.
  uint64_t answer_lost = 0;
  uint64_t repeated = 0;
  uint64_t late = 0;        // Of requests: a copy comes again, much later.
  uint64_t slow = 0;        // Of requests: they take as long.
  uint64_t short_rows = 0;  // Of answers with several rows: some are left out at the end.
  uint64_t full = 0;
  uint64_t away = 0;  // `unavailable`: it has happened, or it has not.
  Millis delay_max = Millis(2);
  Millis late_max = Millis(0);
  Millis slow_max = Millis(0);
};

class FaultyLink {
 public:
  using Then = std::function<void(Answer&&)>;
  // Sees what has been carried out, and what really came of it.
  using Watch = std::function<void(const Request&, const Answer&)>;

  FaultyLink(Events& events, Random& random, uint64_t seed);

  LinkFaults faults;

  // Sooner or later, once or twice or not at all. `then` hears of it once.
  void post(Request request, Watch watch, Then then);

  RequestStore& store() { return *store_; }  // For those who look on, without any faults.
  uint64_t hash() const { return hash_; }    // Of everything that was carried out.

 private:
  Answer apply(const Request& request, const Watch& watch);
  void shorten(Answer& answer);
  Millis some_delay();
  Millis some(Millis most);

  Events& events_;
  Random& random_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<RequestStore> store_;
  uint64_t hash_ = 0;
};

}  // namespace dunlin
