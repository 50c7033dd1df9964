// The hub's mind: what it decides for each request of each session. No sockets, no disk, no clock,
// no threads.
//
// A turn of the loop: gather (opened, request, closed, in any number), then turn() once, which
// thinks, commits once and gives out the answers. No answer leaves before what it tells is durable.
//
// A pull that may wait and finds nothing waits in its queue. When messages become ready, the
// waiters of that queue are served in the order in which they came, each with a fair share. Waiters
// cost nothing while their queues are idle.
//
// An upload that begins while as many as there may be are under way waits for a place, too
// (hub/uploads.h says who loses his).
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hub/access/rights.h"
#include "hub/uploads.h"
#include "store/request.h"

namespace dunlin::hub {

using SessionId = uint64_t;  // Never used for another session.

struct Reply {
  SessionId session = 0;
  uint64_t id = 0;  // Of the request.
  Answer answer;
};

struct HubLimits {
  size_t waiting_max = 64;           // Pulls of one session that wait.
  size_t unanswered_max = 1024;      // Requests of one session, waiting pulls too.
  size_t staged_max = 8 << 20;       // Bytes of a session's answers in a turn that make it busy.
  size_t staged_all_max = 64 << 20;  // Bytes of all answers in a turn that make everyone busy.
  size_t uploads_max = 16;           // Of one session.
  size_t uploads_all_max = 1024;     // Of all sessions; each is an open file. Of one owner half.
  size_t beginners_max = 64;  // Uploads that wait for a place, with their first part; so too.
  size_t unread_all_max = 256 << 20;  // Bytes of frames that are begun or wait, of all sessions.
};

class HubMind {
 public:
  // How long an upload that begins waits for a place. A client waits longer for its answer.
  static constexpr Millis kPlaceWait = std::chrono::seconds(30);

  explicit HubMind(Core& core, HubLimits limits = {}) : core_(core), limits_(limits) {}

  void opened(SessionId session, Rights rights);
  void closed(SessionId session);  // Its waiting pulls are forgotten.

  // REQUIRES: the session is open. `now` never goes back.
  void request(SessionId session, uint64_t id, Request&& request, Instant now);

  // Answers it with this error instead: the session may ask no more.
  void refuse(SessionId session, uint64_t id, Error why) { stage(session, id, std::move(why)); }

  // The session has staged as much as one turn should hold: its next requests are better kept until
  // after turn(). One that comes all the same is handled, or refused at unanswered_max.
  bool busy(SessionId session) const;

  // From now on nobody waits: waiting pulls are answered with what there is, also new ones.
  void drain() { draining_ = true; }

  // Serves waiting pulls, commits, and returns the answers of this turn in the order in which they
  // came about. If the commit fails, they are all that error, and pulls that were not served still
  // wait.
  std::vector<Reply> turn(Instant now);

  // When turn() has something to do even if no request comes.
  std::optional<Instant> next_wake() const;

  size_t waiting() const { return waiters_.size(); }
  size_t uploads() const { return uploads_.size(); }

 private:
  struct Session {
    Rights rights;
    size_t unanswered = 0;
    size_t staged_bytes = 0;            // Of its answers in this turn.
    absl::btree_set<uint64_t> waiting;  // Keys of `waiters_`.
  };
  struct Waiter {
    SessionId session = 0;
    uint64_t id = 0;
    Pull pull;
    Instant deadline;
  };

  struct Beginner {
    SessionId session = 0;
    uint64_t id = 0;
    BlobPart part;
    Instant deadline;
  };

  Answer handle(const Rights& rights, Request&& request, Instant now);
  void stage(SessionId session, uint64_t id, Answer&& answer);
  void begin_or_go_on(SessionId session, uint64_t id, BlobPart&& part, Instant now);
  void take_part(SessionId session, uint64_t id, BlobPart&& part, Instant now);
  bool has_place();
  bool takes_its_half(const std::string& owner) const;
  void give_up(uint64_t upload);
  void let_beginners_in();
  void take_repeats(uint64_t upload);
  void pull(SessionId session, uint64_t id, Pull&& pull, Instant now);
  void wait(SessionId session, uint64_t id, Pull&& pull, Instant deadline);
  Waiter take(uint64_t number);
  void end_waits_of(SessionId session, const std::string& queue);
  void serve(const std::string& queue, Instant now);
  void end_waits(Instant now);
  void touch(const std::string& queue);
  void look_again(const std::string& queue, Instant now);
  void fail_all(const Error& error);

  Core& core_;
  const HubLimits limits_;
  bool draining_ = false;
  absl::flat_hash_map<SessionId, Session> sessions_;

  // Waiters by number, which grows: so the oldest comes first everywhere.
  uint64_t last_number_ = 0;
  absl::flat_hash_map<uint64_t, Waiter> waiters_;
  absl::flat_hash_map<std::string, absl::btree_set<uint64_t>> queues_;  // With waiters.
  absl::btree_set<std::pair<Instant, uint64_t>> deadlines_;
  absl::btree_set<std::string> touched_;  // Queues with waiters where messages may be ready.

  Uploads uploads_;
  std::deque<Beginner> beginners_;  // In the order in which they came.
  std::vector<uint64_t> parted_;    // Uploads that got a part in this turn.
  Instant now_ = Instant::min();    // The latest time that was given.

  Instant retry_at_ = Instant::min();  // After a failure of the core: not at once again.
  std::vector<Reply> staged_;
  size_t staged_bytes_ = 0;
};

}  // namespace dunlin::hub
