// What a worker's mind asks the store for, and what it does later: each request has one answer, is
// repeated byte for byte while its answer is unknown, and is forgotten with its answer.
//
// Pure: requests are taken out and carried out by the owner; answers and the time come in. What
// follows from an answer is a function that is called once, and destroyed before anything else of
// the mind goes on: what it owns (a Pin) is held as long as the request is open. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "store/request.h"

namespace dunlin::worker {

struct Now {
  Instant at;
  int64_t wall_us = 0;  // For stamps and for not_before.
};

struct Ask {
  uint64_t id = 0;
  Request request;
};

class Asks {
 public:
  using Then = std::function<void(Answer&&)>;
  // Which errors the asker hears; whatever it does not hear is asked again.
  enum class Hears {
    conflicts,  // And what is not there.
    refusals,   // Those, and that the store will not do it at all, as with a row that is too large.
  };

  explicit Asks(uint64_t seed) : random_(seed) {}

  const Now& now() const { return now_; }
  void set_now(Now now) { now_ = now; }
  Random& random() { return random_; }

  void ask(Request request, Then then, Hears hears = Hears::conflicts);
  // With a nonce of its own.
  void commit(std::vector<Write>&& writes, Then then, Hears hears = Hears::conflicts);
  // All rows, in as many requests as it takes; none if the store does not give them.
  void get_rows(Get get, std::function<void(std::vector<Row>&&)> then,
                std::vector<Row> so_far = {});
  void later(Millis delay, std::function<void()> what);

  // Carries on with what waited for the answer; false if nothing did, as with one that is asked
  // again. REQUIRES: the request is open.
  bool answered(uint64_t id, Answer&& answer);
  void tick();  // Does what is due.
  Instant next_wake() const;
  // The token was refused: nothing more is to be done.
  const std::optional<Error>& failure() const { return failure_; }

  std::vector<Ask> take();  // What is to be asked now.

  size_t open() const { return asked_.size(); }
  template <typename Kind>
  size_t open_of() const {
    size_t count = 0;
    for (const auto& [id, asked] : asked_) count += std::holds_alternative<Kind>(asked.request);
    return count;
  }
  std::string describe() const;  // For people who look for a fault.

 private:
  struct Asked {
    Request request;
    Then then;
    Hears hears = Hears::conflicts;
    uint32_t tries = 0;
  };

  void post(uint64_t id);
  void ask_again(uint64_t id, Millis least);

  Random random_;
  Now now_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Asked> asked_;
  std::multimap<Instant, std::function<void()>> timers_;
  std::vector<Ask> to_ask_;
  std::optional<Error> failure_;
};

}  // namespace dunlin::worker
