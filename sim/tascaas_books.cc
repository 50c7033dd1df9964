#include "sim/tascaas_books.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "tascaas/files.h"
#include "tascaas/keys.h"

namespace dunlin {
namespace {

using tascaas::Dispatch;
using tascaas::Infrastructure;
using tascaas::Job;
using tascaas::Word;

// From docs/REST.md and the facts about the original, not from the code.
constexpr int kGoneAfter = 5;  // Scale times.
constexpr int kSilentAfter = 2;
constexpr uint64_t kLossesMax = 10;
constexpr int64_t kGapMs = 1000;
constexpr int64_t kThresholdReports = 2;

const std::string kJobs = "job/";
const std::string kDispatches = "dispatch/";
const std::string kResults = "output/results/";

std::string name_of(const std::pair<std::string, size_t>& place) {
  return fmt::format("partition {} of {}", place.second, place.first);
}

// The slots that the original asks for.
double slots_wanted(double slots, double queued, double dispatched) {
  if (dispatched == 0) return queued == 0 ? std::max(0.8 * slots, 1.0) : slots + queued;
  if (queued <= slots / 10) return dispatched > slots ? std::max(0.7 * slots, 1.0) : slots;
  const double backlog = queued / dispatched;
  return backlog > 0.10 ? std::max(1.0, slots * (1 + backlog)) : slots;
}

// "output/results/JOB/worker-N/results.dat" in the key of a row; nothing else.
std::optional<std::pair<std::string, size_t>> place_of_results(const std::string& key) {
  const size_t from = key.find(kResults);
  const size_t worker = key.find("/worker-");
  if (from == std::string::npos || worker == std::string::npos) return {};
  if (!key.ends_with("/results.dat")) return {};
  const size_t begin = from + kResults.size();
  return std::pair(key.substr(begin, worker - begin), std::stoul(key.substr(worker + 8)));
}

// TRACE=1 shows what is written, when and by which kind of call.
void trace(const SimCall& call, Instant now, const Commit& commit) {
  static const bool wanted = std::getenv("TRACE") != nullptr;
  if (!wanted) return;
  const auto say = [&](const std::string& text) {
    fmt::print(stderr, "{} {:04x} kind {} {}\n", now.time_since_epoch().count(),
               commit.nonce & 0xffff, static_cast<int>(call.kind), text);
  };
  for (const Write& write : commit.writes) {
    if (const auto* put = std::get_if<Put>(&write)) {
      say(fmt::format("put {} @{} {}", put->key, static_cast<int64_t>(put->version),
                      put->value.size()));
    } else if (const auto* erase = std::get_if<Erase>(&write)) {
      say(fmt::format("erase {} @{}", erase->key, static_cast<int64_t>(erase->version)));
    } else if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) say("push " + message.id);
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) say("finish " + lease.id);
    }
  }
}

}  // namespace

SimCall& TascaasBooks::open(SimCall::Kind kind) {
  SimCall& call = calls_.emplace_back();
  call.kind = kind;
  return call;
}

std::string TascaasBooks::value_of(const std::string& key, uint64_t& version) {
  const std::vector<std::string> keys{key};
  const Row row = store_.table().get(tascaas::kTable, keys).value()[0];
  version = row.version;
  return row.value;
}

bool TascaasBooks::is_known(const std::string& infra) const {
  return std::ranges::any_of(dispatch_.infrastructures(),
                             [&](const Infrastructure& one) { return one.id() == infra; });
}

// --- Every write ---

void TascaasBooks::committed(SimCall& call, const SimNow& told, Instant now, const Commit& commit) {
  ++commits_;
  trace(call, now, commit);
  Context context{call, told, now};
  for (const Write& write : commit.writes) {
    if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) context.pushed.insert(message.id);
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) context.finished.insert(lease.id);
    }
  }
  for (const Write& write : commit.writes) {
    const auto* put = std::get_if<Put>(&write);
    if (put == nullptr) continue;
    uint64_t version = 0;
    const std::string value = value_of(put->key, version);
    // A repeat that changes nothing, or one that was overwritten since.
    if (value != put->value || std::exchange(versions_[put->key], version) == version) continue;
    if (put->key.starts_with(kJobs)) {
      Job job;
      ASSERT_TRUE(job.ParseFromString(value));
      job_written(context, put->key.substr(kJobs.size()), job);
    } else if (put->key.starts_with(kDispatches)) {
      Dispatch dispatch;
      ASSERT_TRUE(dispatch.ParseFromString(value));
      dispatch_written(context, dispatch);
    } else if (const auto place = place_of_results(put->key)) {
      results_[*place] = call.results;
    }
  }
  check_messages(context);
}

// A partition that waits has its message, whatever else was written.
void TascaasBooks::check_messages(Context& context) {
  for (const std::string& id : context.finished) {
    const auto ticket = tickets_.find(id);
    if (ticket == tickets_.end()) continue;
    const auto& [job, index, turn] = ticket->second;
    const Job::Partition& partition = jobs_[job].partitions(static_cast<int>(index));
    EXPECT_FALSE(partition.queued() && partition.turn() == turn)
        << name_of({job, index}) << " waits, and its message is gone";
  }
}

std::string TascaasBooks::job_of(const SimJobFile& file) {
  const std::string digest = tascaas::digest_of(tenant.name(), file.name, file.text, "");
  uint64_t version = 0;
  tascaas::Intake intake;
  EXPECT_TRUE(
      intake.ParseFromString(value_of(tascaas::intake_row(tenant.name(), digest), version)));
  return intake.job();
}

void TascaasBooks::job_made(Context& context, const std::string& id, const Job& job) {
  const auto file =
      std::ranges::find_if(files_, [&](const SimJobFile& one) { return job_of(one) == id; });
  ASSERT_NE(file, files_.end()) << "nobody asked for job " << id;
  EXPECT_EQ(job.iterations(), file->iterations);
  uint64_t sum = 0;
  for (const Job::Partition& one : job.partitions()) sum += one.iterations();
  EXPECT_EQ(sum, file->iterations) << "the first shares of " << id;
  EXPECT_EQ(context.pushed.size(), static_cast<size_t>(job.partitions_size()));
}

void TascaasBooks::job_written(Context& context, const std::string& id, const Job& job) {
  const bool made = !jobs_.contains(id);
  if (made) job_made(context, id, job);
  const Job before = jobs_[id];
  EXPECT_EQ(before.ended_ms(), 0) << id << " is changed after its end";
  EXPECT_GE(job.partitions_size(), before.partitions_size()) << id << " has lost partitions";
  EXPECT_TRUE(made || job.iterations() == before.iterations());
  uint64_t done = 0;
  for (int i = 0; i < job.partitions_size(); ++i) {
    const Place place(id, static_cast<size_t>(i));
    const Job::Partition& after = job.partitions(i);
    Job::Partition fresh;
    fresh.set_turn(0);
    partition_written(context, place, job,
                      i < before.partitions_size() ? before.partitions(i) : fresh, after);
    states_[place].push_back({commits_, after.started(), after.finished(), after.spare(),
                              after.resumed_ms(), after.last_ms()});
    done += after.done();
  }
  if (job.ended_ms() != 0) {
    EXPECT_TRUE(std::ranges::all_of(job.partitions(), &Job::Partition::finished));
    EXPECT_GE(done, job.iterations()) << id << " has ended too early";
  }
  jobs_[id] = job;
}

void TascaasBooks::partition_written(Context& context, const Place& place, const Job& job,
                                     const Job::Partition& before, const Job::Partition& after) {
  SimCall& call = context.call;
  if (call.kind == SimCall::Kind::turn && call.job == place.first &&
      call.said.partition == place.second) {
    heard_at_[place] = context.told.begun;
    call.wrote = true;
    call.after = after;
    if (call.said.word != Word::finish) {
      const auto [told, first] = told_.emplace(place, after.assigned());
      if (!first) told->second = std::min(told->second, after.assigned());
    }
  }
  if (before.finished() && after.turn() == before.turn()) {
    EXPECT_TRUE(after.finished() && after.done() == before.done() && !after.queued())
        << name_of(place) << " had finished";
    return;
  }
  if (after.spare()) spared(place, job, before, after);
  if (after.finished() && !after.spare()) finished(context, place, after);
  if (after.turn() == before.turn()) {
    EXPECT_FALSE(after.queued() && !before.queued()) << name_of(place) << " waits as before";
    if (before.queued() && !after.queued() && !after.finished()) handed(context, place, after);
    return;
  }
  EXPECT_EQ(after.turn(), before.turn() + 1) << name_of(place);
  if (after.queued()) {
    const auto id = fmt::format("{}.{}.{}", place.first.substr(0, 36), place.second, after.turn());
    EXPECT_TRUE(context.pushed.contains(id)) << name_of(place) << " waits without a message";
    tickets_[id] = {place.first, place.second, after.turn()};
  }
  if (before.turn() > 0 && !after.started()) taken_back(context, place, job, before, after);
  if (after.started()) {
    EXPECT_TRUE(before.queued() && call.kind == SimCall::Kind::turn)
        << name_of(place) << " has a turn that nobody waits for";
  }
}

// Nobody needs to begin it: all is done, or said to be.
void TascaasBooks::spared(const Place& place, const Job& job, const Job::Partition& before,
                          const Job::Partition& after) {
  uint64_t done = 0;
  for (const Job::Partition& one : job.partitions()) done += one.done();
  EXPECT_TRUE(job.time_ms() > 0 && done >= job.iterations())
      << name_of(place) << " is not run although " << done << " are done";
  EXPECT_TRUE(!before.started() || after.turn() != before.turn())
      << name_of(place) << " was begun, and is not needed";
  EXPECT_FALSE(after.queued());
}

void TascaasBooks::handed(Context& context, const Place& place, const Job::Partition& after) {
  SimCall& call = context.call;
  EXPECT_EQ(call.kind, SimCall::Kind::jobs);
  EXPECT_EQ(after.holder(), call.infra);
  const auto [holder, first] =
      holders_.emplace(std::tuple(place.first, place.second, after.turn()), call.infra);
  EXPECT_TRUE(first) << name_of(place) << " was handed out twice in turn " << after.turn();
  const auto id = fmt::format("{}.{}.{}", place.first.substr(0, 36), place.second, after.turn());
  EXPECT_TRUE(context.finished.contains(id)) << name_of(place) << " keeps its message";
  ++hands_[place];
  call.marked.push_back({place.first, place.second, after.turn()});
  handed_at_[place] = context.told.begun;
}

// Only what is lost may be handed out again: by the time that has really passed, as far as clocks
// let services know it.
void TascaasBooks::taken_back(Context& context, const Place& place, const Job& job,
                              const Job::Partition& before, const Job::Partition& after) {
  ++losses_[place];
  EXPECT_EQ(after.iterations(), before.iterations());
  EXPECT_EQ(after.done(), 0U) << name_of(place) << " begins again";
  const bool failed = after.crashes() >= kLossesMax;
  EXPECT_TRUE(after.queued() || after.spare() || failed) << name_of(place);
  if (before.finished()) told_[place] = before.done();  // So much will be in results that come.
  EXPECT_FALSE(before.queued()) << name_of(place) << " waited already";
  const bool gone = !before.holder().empty() && !is_known(before.holder());
  // It may have been forgotten since the call has looked.
  const auto forgotten = forgotten_.find(before.holder());
  const bool known = forgotten == forgotten_.end() || forgotten->second > context.told.commits;
  EXPECT_TRUE(known || after.crashes() == before.crashes())
      << name_of(place) << " is blamed for its infrastructure";
  const Millis threshold = kThresholdReports * Millis(job.report_ms());
  if (!before.started()) {
    const Millis waited = context.now - handed_at_[place] + spread;
    EXPECT_TRUE(gone || waited > Millis(tenant.start_ms()))
        << name_of(place) << " was taken from " << before.holder() << " after " << waited.count();
    return;
  }
  const Millis silent = context.now - heard_at_[place] + spread;
  if (before.finished()) {
    EXPECT_GT(silent, Millis(tenant.start_ms())) << name_of(place) << " may still upload";
    return;
  }
  const Millis patience = job.time_ms() > 0 ? 2 * threshold : Millis(tenant.timeout_ms()) / 2;
  // Its next report may be due later than its infrastructure is forgotten.
  const Millis report = job.time_ms() > 0 ? Millis(job.report_ms()) * 3 / 2 : Millis(0);
  const Millis known_for = kGoneAfter * Millis(tenant.scale_ms());
  const Millis enough = gone ? std::min(patience / 2, std::max(known_for, report)) : patience;
  EXPECT_GT(silent, enough) << name_of(place) << " was taken from who works";
}

void TascaasBooks::finished(Context& context, const Place& place, const Job::Partition& after) {
  const SimCall& call = context.call;
  const bool said = call.kind == SimCall::Kind::turn && call.said.word == Word::finish &&
                    call.job == place.first && call.said.partition == place.second;
  if (said) {
    // Several may have had it, and the results of any of them may stay.
    const bool alone = hands_[place] <= 1;
    const uint64_t done = alone ? call.said.done : std::min(call.said.done, told_[place]);
    EXPECT_EQ(after.done(), done) << name_of(place) << " finished with another number";
    return;
  }
  EXPECT_TRUE(results_.contains(place)) << name_of(place) << " has neither finished nor results";
  EXPECT_LE(after.done(), results_[place])
      << name_of(place) << " is said to have done more than its results have";
}

// --- The advice ---

void TascaasBooks::dispatch_written(Context& context, const Dispatch& dispatch) {
  const Dispatch before = std::exchange(dispatch_, dispatch);
  std::set<std::string> ids;
  for (const Infrastructure& one : dispatch.infrastructures()) {
    EXPECT_TRUE(ids.insert(one.id()).second) << "infrastructure " << one.id() << " is there twice";
    forgotten_.erase(one.id());  // A call that had no answer may register it once more.
  }
  const SimCall& call = context.call;
  for (const Infrastructure& one : before.infrastructures()) {
    if (ids.contains(one.id())) continue;
    forgotten_[one.id()] = commits_;
    const Millis silent = context.told.wall - tascaas::from_ms(one.seen_ms());
    const bool left = call.kind == SimCall::Kind::leave && call.infra == one.id();
    EXPECT_TRUE(left || silent > kGoneAfter * Millis(tenant.scale_ms()))
        << "infrastructure " << one.id() << " was forgotten after " << silent.count();
  }
  if (before.scaling() && !dispatch.scaling()) scaled_until_ = commits_;
  if (!before.scaling() && dispatch.scaling()) return check_advice(context, before, dispatch);
  const uint64_t base = before.scaling() != dispatch.scaling() ? 0 : before.dispatched();
  EXPECT_GE(dispatch.dispatched(), base);
  EXPECT_TRUE(!dispatch.scaling() || dispatch.dispatched() == 0) << "this is not a measure";
  context.call.counted += dispatch.dispatched() - base;
  EXPECT_TRUE(dispatch.dispatched() == base || call.kind == SimCall::Kind::jobs)
      << "nothing was handed out";
}

void TascaasBooks::check_advice(const Context& context, const Dispatch& before,
                                const Dispatch& after) {
  EXPECT_EQ(after.dispatched(), 0U);
  EXPECT_GT(context.told.wall - tascaas::from_ms(before.resumed_ms()), Millis(tenant.scale_ms()));
  double slots = 0;
  double most = 0;
  const auto live = [&](const Infrastructure& one) {
    return context.told.wall - tascaas::from_ms(one.seen_ms()) <
           kSilentAfter * Millis(tenant.scale_ms());
  };
  for (const Infrastructure& one : before.infrastructures()) {
    if (!live(one)) continue;
    slots += static_cast<double>(one.slots());
    most += static_cast<double>(one.max_slots());
  }
  if (most == 0) {
    EXPECT_EQ(after.required(), -1);
    return;
  }
  // How many waited when the call looked is not known: at most all that ever did.
  bool right = false;
  for (size_t queued = 0; queued <= tickets_.size() && !right; ++queued) {
    const double wanted =
        slots_wanted(slots, static_cast<double>(queued), static_cast<double>(before.dispatched()));
    right = std::abs(after.required() - wanted / most) < 1e-9;
  }
  EXPECT_TRUE(right) << "the advice is " << after.required() << " of " << most << " slots";
}

// --- Every answer ---

void TascaasBooks::taken_in(const std::vector<tascaas::Taken>& taken) {
  for (const tascaas::Taken& one : taken) {
    if (!one.refused.empty()) continue;
    EXPECT_TRUE(reported_.insert(one.job).second) << "job " << one.job << " was made twice";
  }
}

// Nobody has started it, or has taken or spared it, as may happen before the call knows what it
// did: a copy of its commit was quicker.
bool TascaasBooks::still_waits_for(const SimTurn& turn) const {
  const Job::Partition& now = jobs_.at(turn.job).partitions(static_cast<int>(turn.partition));
  return now.turn() == turn.turn && !now.started() && !now.spare();
}

void TascaasBooks::handed_out(SimCall& call, const std::vector<tascaas::Handed>& handed) {
  std::set<Place> told;
  for (const tascaas::Handed& one : handed) {
    const Place place(one.job, one.partition);
    EXPECT_TRUE(told.insert(place).second) << name_of(place) << " was told twice";
    const bool marked = std::ranges::any_of(call.marked, [&](const SimTurn& turn) {
      return turn.job == one.job && turn.partition == one.partition;
    });
    EXPECT_TRUE(marked) << name_of(place) << " was told to " << call.infra
                        << ", but not handed out";
  }
  EXPECT_LE(call.counted, call.marked.size() * (1 + call.doubts)) << "too many were counted";
  if (call.doubts > 0) return;
  for (const SimTurn& turn : call.marked) {
    const Place place(turn.job, turn.partition);
    EXPECT_TRUE(told.contains(place) || !still_waits_for(turn))
        << call.infra << " was not told that it has " << name_of(place);
  }
  // What is handed out while the advice is followed counts for nobody.
  const bool scaling = dispatch_.scaling() || scaled_until_ >= call.now.commits;
  EXPECT_TRUE(call.counted == told.size() || (call.counted == 0 && scaling))
      << call.counted << " were counted of " << told.size();
}

bool TascaasBooks::is_spare(const Place& place) const {
  return jobs_.at(place.first).partitions(static_cast<int>(place.second)).spare();
}

// What a call may answer that finds a partition so and writes nothing.
bool TascaasBooks::may_hear(const State& state, const tascaas::Said& said,
                            const balance::Share& share) {
  // Who has a spare one hears what it wants to hear.
  if (state.spare) return share.code == balance::Code::ok && share.assigned == said.done;
  if (share.code == balance::Code::ended) return state.finished;
  const int64_t at = state.resumed_ms + said.elapsed.count();
  // An end may come at any time, but for one that is repeated.
  const bool ends = said.word == Word::finish && !state.finished;
  return share.code == balance::Code::not_started &&
         (!state.started || at - state.last_ms < (ends ? 0 : kGapMs));
}

void TascaasBooks::took_turn(SimCall& call, const balance::Share& share) {
  const Place place(call.job, call.said.partition);
  const bool fits = call.said.word == Word::finish || share.assigned == call.after.assigned();
  if (share.code == balance::Code::ok && call.wrote && fits) return;
  // Any other answer is so by what was true at some time during the call: it may have become spare
  // after the call has read its row.
  const std::vector<State>& states = states_[place];
  bool right = false;
  for (size_t i = states.size(); i-- > 0 && !right;) {
    right = may_hear(states[i], call.said, share);
    if (states[i].since <= call.now.commits) break;
  }
  EXPECT_TRUE(right) << name_of(place) << " was told " << share.assigned << " with code "
                     << static_cast<int>(share.code) << (call.wrote ? "" : " of what nobody wrote");
}

void TascaasBooks::finish_heard(const std::string& job, size_t partition) {
  reports_.insert({job, partition});
}

bool TascaasBooks::has_failed(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return false;
  for (int i = 0; i < found->second.partitions_size(); ++i) {
    const auto losses = losses_.find({job, static_cast<size_t>(i)});
    const bool enough = losses != losses_.end() && losses->second >= kLossesMax;
    const Job::Partition& partition = found->second.partitions(i);
    if (enough && !partition.finished() && partition.crashes() >= kLossesMax) return true;
  }
  return false;
}

// --- The end ---

void TascaasBooks::check(const std::set<std::string>& excused) {
  for (const SimJobFile& file : files_) check_file(file, excused);
  check_files();
  check_nothing_left(excused);
}

void TascaasBooks::check_file(const SimJobFile& file, const std::set<std::string>& excused) {
  const std::string id = job_of(file);
  const std::string digest = tascaas::digest_of(tenant.name(), file.name, file.text, "");
  uint64_t version = 0;
  value_of(tascaas::job_row(id), version);
  EXPECT_EQ(version != 0, jobs_.contains(id));
  tascaas::Intake intake;
  EXPECT_TRUE(
      intake.ParseFromString(value_of(tascaas::intake_row(tenant.name(), digest), version)));
  EXPECT_NE(version, 0U) << "nobody knows what became of " << file.name;
  EXPECT_EQ(intake.refused().empty(), jobs_.contains(id)) << file.name << ": " << intake.refused();
  const std::string input(tascaas::kInput);
  const auto there = tascaas::find_file(store_.table(), tenant.name(), input + file.name);
  if (jobs_.contains(id)) {
    EXPECT_NE(file.iterations, 0U) << file.name << " makes no sense";
    EXPECT_TRUE(there.ok() && there.value().file.taken()) << file.name;
    if (!excused.contains(id) && !has_failed(id)) check_job(id, file);
    return;
  }
  EXPECT_TRUE(file.iterations == 0 || file.hasty) << file.name << " did not become a job";
  EXPECT_FALSE(there.ok()) << file.name << " was refused, and is there";
  const std::string aside = std::string(tascaas::kRefused) + file.name;
  EXPECT_TRUE(tascaas::find_file(store_.table(), tenant.name(), aside).ok());
}

// What counts is in the results that are there, and it is all of it.
void TascaasBooks::check_job(const std::string& id, const SimJobFile& file) {
  const Job& job = jobs_[id];
  EXPECT_NE(job.ended_ms(), 0) << id << " has not ended";
  uint64_t sum = 0;
  for (int i = 0; i < job.partitions_size(); ++i) {
    const uint64_t done = job.partitions(i).done();
    sum += done;
    if (done == 0) continue;
    const auto results = results_.find({id, static_cast<size_t>(i)});
    ASSERT_NE(results, results_.end()) << id << " is done without the results of partition " << i;
    EXPECT_GE(results->second, done) << "of partition " << i << " of " << id;
  }
  EXPECT_GE(sum, file.iterations) << "iterations of " << id << " are lost";
}

void TascaasBooks::check_files() {
  const auto files = tascaas::list_files(store_.table(), tenant.name(), "").value();
  for (const tascaas::FileInfo& info : files) {
    const auto bytes = tascaas::read_file(store_, info.file, tascaas::kJobFileMax);
    EXPECT_TRUE(bytes.ok()) << info.key << ": " << bytes.error().what;
  }
  for (const Place& place : reports_) {
    if (is_spare(place)) continue;
    const std::string key =
        tascaas::result_key(place.first, std::to_string(place.second), "balance.rep");
    EXPECT_TRUE(tascaas::find_file(store_.table(), tenant.name(), key).ok())
        << name_of(place) << " has left no report";
  }
}

void TascaasBooks::check_nothing_left(const std::set<std::string>& excused) {
  Table& table = store_.table();
  const auto count = [&](const std::string& prefix) {
    return table.scan(tascaas::kTable, prefix, "", 1000).value();
  };
  for (const Row& row : count("active/")) {
    const std::string id = row.key.substr(tascaas::active_row(tenant.name(), "").size());
    EXPECT_TRUE(excused.contains(id) || has_failed(id)) << row.key << " is left";
  }
  for (const Row& row : count("node/")) {
    EXPECT_TRUE(is_known(row.key.substr(5))) << row.key << " is nobody's";
  }
  for (const Infrastructure& one : dispatch_.infrastructures()) {
    uint64_t version = 0;
    value_of(tascaas::node_row(one.id()), version);
    EXPECT_NE(version, 0U) << one.id() << " has no tenant";
  }
  EXPECT_EQ(count("job/").size(), jobs_.size());
  EXPECT_EQ(count("intake/").size(), files_.size());
  // Nobody may have registered: there may have been nothing to do.
  const bool registered = versions_.contains(tascaas::dispatch_row(tenant.name()));
  EXPECT_EQ(count("dispatch/").size(), registered ? 1U : 0U);
  const Depth depth = store_.queue().depth(tascaas::queue_of(tenant.name())).value();
  EXPECT_EQ(depth.ready + depth.leased, 0U) << "messages are left";
}

void TascaasBooks::check_retired() {
  for (const char* prefix : {"job/", "intake/", "active/"}) {
    EXPECT_TRUE(store_.table().scan(tascaas::kTable, prefix, "", 1).value().empty())
        << prefix << " has rows";
  }
  const auto files = tascaas::list_files(store_.table(), tenant.name(), "").value();
  for (const tascaas::FileInfo& info : files) {
    EXPECT_TRUE(info.key.starts_with(tascaas::kInput)) << info.key << " is left";
    EXPECT_TRUE(tascaas::read_file(store_, info.file, tascaas::kJobFileMax).ok())
        << info.key << " has lost its bytes";
  }
}

}  // namespace dunlin
