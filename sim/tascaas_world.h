// A simulated TaScaaS: several REST services on one store, infrastructures whose partitions talk to
// them, users who drop job files, and faults from a seed.
//
// What services do is the code of src/tascaas, request by request (sim/fiber.h), among all others.
// Faults: requests and answers get lost between clients and services and between services and the
// store, come twice, or once more long after; answers hold fewer rows than there are; the store is
// full or away; services die between two requests and forget what they had cached; their wall
// clocks differ and jump; infrastructures leave, fall silent, come back and die; partitions crash,
// freeze for longer than anybody waits, or never say that they have finished.
//
// One thread: the world and its fibers take turns.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "doors/rest/server/service_cache.h"
#include "sim/events.h"
#include "sim/faulty_link.h"
#include "sim/fiber.h"
#include "sim/tascaas_books.h"
#include "tascaas/job_ids.h"
#include "testing/clock.h"

namespace dunlin {

struct TascaasFaults {
  uint64_t request_lost = 0;  // Percent, between clients and services.
  uint64_t answer_lost = 0;
  uint64_t repeated = 0;
  uint64_t late = 0;
  uint64_t service_dies = 0;  // Per mille of its requests.
  uint64_t few_tries = 0;     // Percent of calls: the store's client soon gives up.
  uint64_t infra_dies = 0;    // Percent of its rounds.
  uint64_t infra_leaves = 0;
  uint64_t infra_silent = 0;
  uint64_t crash = 0;  // Percent of a partition's words.
  uint64_t freeze = 0;
  uint64_t mute = 0;        // It uploads its results without a word.
  uint64_t clock_jump = 0;  // Percent of a service's calls.
  Millis skew_max = Millis(0);
};

class TascaasWorld {
 public:
  explicit TascaasWorld(uint64_t seed);
  ~TascaasWorld();
  // Returns a number that depends on everything that happened.
  uint64_t run();

 private:
  struct Service;
  struct Lane;
  struct Infra;
  struct Run;

  // What a client hears.
  struct Reply {
    Result<void> status = {};
    bool unknown = false;  // The infrastructure.
    std::string id = {};
    std::vector<tascaas::Handed> handed = {};
    balance::Share share = {};
  };
  using Work = std::function<Reply(Service&, Store&, SimCall&)>;
  using Then = std::function<void(const Reply*)>;  // Null: no answer.
  struct Wanted {
    SimCall call = {};
    Work work = {};
    bool late = true;  // It may come again much later.
  };

  void choose_faults();
  void make_files();
  void peace();
  void retire_all();

  // From a client to some service.
  void ask(const Wanted& wanted, Then then);
  void serve(const Wanted& wanted, Then then);
  void go_on(Lane& lane, Answer answer);
  WallTime begin(Service& service, SimCall& call);
  tascaas::JobIds ids();
  void look(Service& service, Store& store, SimCall& call);

  void drop(const SimJobFile& file, bool data);
  void add_infra();
  void round(Infra& infra);
  bool suffers(Infra& infra);
  void enroll(Infra& infra);
  void update(Infra& infra);
  void fetch(Infra& infra);
  void leave(Infra& infra);
  void die(Infra& infra);

  void begin_run(Infra& infra, const tascaas::Handed& handed);
  void say(Run& run, tascaas::Word word, Then then);
  void start(Run& run);
  void speak(Run& run);
  void heard(Run& run, tascaas::Word word, const Reply* reply);
  void work(Run& run);
  void upload(Run& run, int tries);
  bool suffers(Run& run);
  void end(Run& run);
  uint64_t done_of(const Run& run) const;

  bool is_peace() const { return events_.now() >= peace_; }
  bool is_over();
  bool is_excused(const std::string& id);
  std::set<std::string> excused();
  std::string describe();
  Millis some(uint64_t from_ms, uint64_t to_ms);

  const uint64_t seed_;
  Random random_;
  Events events_;
  FaultyLink link_;
  std::vector<SimJobFile> files_;
  TascaasBooks books_;
  TascaasFaults faults_;
  Instant peace_ = {};
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Infra>> infras_;
  std::vector<std::unique_ptr<Run>> runs_;
  size_t drops_left_ = 0;
  size_t calls_left_ = 0;  // On their way, late ones too.
};

}  // namespace dunlin
