#include "bench/cloud_store.h"

#include <utility>

#include "base/check.h"
#include "store/memory.h"
#include "stores/aws/dynamo_table.h"
#include "stores/aws/sqs_hints.h"
#include "stores/mixed/message_row.h"

namespace dunlin::bench {
namespace {

constexpr size_t kRowExtra = 80;  // Names of attributes, version and nonce, as in DynamoTable.
constexpr size_t kHintExtra = 60;
constexpr size_t kSqsBatch = 10;
constexpr size_t kKeysMax = 100;    // Of one BatchGetItem.
constexpr size_t kScanRows = 1000;  // As a mixed store reads its messages.
constexpr uint64_t kLookEveryUs = 5'000'000;

size_t round_up(size_t count, size_t by) { return (count + by - 1) / by; }

size_t base64(size_t bytes) { return round_up(bytes, 3) * 4; }

}  // namespace

CloudStore::CloudStore(Timeline& timeline, const CloudModel& model, uint64_t seed)
    : timeline_(timeline),
      model_(model),
      random_(seed),
      core_(memory_core()),
      writes_(model.write_units),
      reads_(model.read_units) {}

Answer CloudStore::ask_now(Request&& request) {
  CHECK(validate(request).ok());
  core_->expire(timeline_.instant());
  Answer answer = core_->handle(std::move(request), timeline_.instant());
  CHECK(core_->commit(timeline_.instant()).ok());
  return answer;
}

void CloudStore::ask(CloudSite& site, Request&& request, Then then) {
  std::visit([&](auto&& kind) { on(site, std::forward<decltype(kind)>(kind), std::move(then)); },
             std::move(request));
}

void CloudStore::forget_bill() {
  sqs_ = {};
  writes_.forget();
  reads_.forget();
}

Micros CloudStore::write(size_t requests, uint64_t units) {
  Micros took = writes_.admit(units, timeline_.now(), requests);
  for (; requests > 0; --requests) took += model_.dynamo.draw(random_);
  return took;
}

Micros CloudStore::read(size_t requests, uint64_t units) {
  Micros took = reads_.admit(units, timeline_.now(), requests);
  for (; requests > 0; --requests) took += model_.dynamo.draw(random_);
  return took;
}

template <typename Other>
void CloudStore::on(CloudSite& /*site*/, Other&& /*other*/, const Then& then) {
  then(Error{Code::unsupported, "the simulated tasks have no blobs"});
}

// --- Commits ---

CloudStore::Cost CloudStore::cost_of(const Commit& commit) const {
  Cost cost;
  const auto add_row = [&](size_t bytes) {
    ++cost.rows;
    cost.units += units_of(bytes, kWriteUnit);
  };
  const auto add_message = [&](const Weight& weight) {
    ++cost.messages;
    add_row(weight.row);
    if (weight.body > 0) add_row(weight.body);
  };
  for (const Write& write : commit.writes) {
    if (const auto* put = std::get_if<Put>(&write)) {
      cost.has_rows = true;
      add_row(put->table.size() + put->key.size() + put->value.size() + kRowExtra);
    } else if (std::holds_alternative<Erase>(write)) {
      cost.has_rows = true;
      add_row(0);  // Only small rows are erased: where ranges were split.
    } else if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) add_message(weigh(push->queue, message));
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) {
        const auto found = weights_.find(mixed::message_key(finish->queue, lease.id));
        if (found != weights_.end()) add_message(found->second);
      }
    } else if (const auto* keep = std::get_if<Keep>(&write)) {
      cost.has_rows = true;
      const auto found = weights_.find(mixed::message_key(keep->queue, keep->lease.id));
      if (found != weights_.end()) add_row(found->second.row + keep->note.size());
    }
  }
  if (cost.rows > 1) cost.units *= 2;  // A transaction.
  return cost;
}

CloudStore::Weight CloudStore::weigh(const std::string& queue, const Message& message) {
  const mixed::MessageRow row = mixed::new_message(message);
  const size_t key = mixed::message_key(queue, message.id).size();
  Weight weight;
  weight.row = mixed::kMessageRows.size() + key + mixed::encode(row).size() + kRowExtra;
  if (row.apart()) weight.body = mixed::kBodyRows.size() + key + message.body.size() + kRowExtra;
  return weight;
}

void CloudStore::on(CloudSite& site, Commit&& commit, Then then) {
  const Cost cost = cost_of(commit);
  size_t parts = 1;
  if (!cost.has_rows) {
    while (2 * round_up(cost.messages, parts) > cloud::kCloudWritesMax) parts *= 2;
  }
  CHECK(cost.rows <= cloud::kCloudWritesMax * parts);
  const Micros took = write(parts, cost.units);
  timeline_.after(took, [this, &site, cost, commit = std::move(commit),
                         then = std::move(then)]() mutable {
    std::vector<Write> messages;
    for (const Write& write : commit.writes) {
      const bool row = std::holds_alternative<Put>(write) || std::holds_alternative<Erase>(write);
      if (!row) messages.push_back(write);
    }
    Answer answer = ask_now(std::move(commit));
    if (std::holds_alternative<Committed>(answer)) {
      note_messages(site, messages);
      return then(std::move(answer));
    }
    // It reads what is there instead, and the messages to see whether it was one of them.
    const Micros more = read(cost.messages > 0 ? 2 : 1, cost.rows);
    timeline_.after(more, [then, answer = std::move(answer)] { then(Answer(answer)); });
  });
}

void CloudStore::note_messages(CloudSite& site, const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) {
        const Weight weight = weigh(push->queue, message);
        if (!weights_.emplace(mixed::message_key(push->queue, message.id), weight).second) continue;
        lines_[push->queue].row_bytes += weight.row;
        const size_t hint = message.id.size() + kHintExtra;
        const bool fits = hint + message.body.size() <= cloud::kHintBytesMax;
        post_hint(site, push->queue, hint + (fits ? message.body.size() : 0));
      }
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) {
        const auto found = weights_.find(mixed::message_key(finish->queue, lease.id));
        if (found == weights_.end()) continue;
        lines_[finish->queue].row_bytes -= found->second.row;
        weights_.erase(found);
      }
    }
  }
}

// --- Hints ---

void CloudStore::post_hint(CloudSite& site, const std::string& queue, size_t bytes) {
  site.posted_[queue].push_back(bytes);
  if (!std::exchange(site.busy_, true)) send_next(site);
}

void CloudStore::send_next(CloudSite& site) {
  if (site.sending_.empty()) {
    const auto posted = std::exchange(site.posted_, {});
    for (const auto& [queue, hints] : posted) {
      for (const size_t hint : hints) {
        const bool room = !site.sending_.empty() && site.sending_.back().queue == queue &&
                          site.sending_.back().hints.size() < kSqsBatch;
        if (!room) site.sending_.push_back({queue, {}});
        site.sending_.back().hints.push_back(hint);
      }
    }
  }
  if (site.sending_.empty()) {
    site.busy_ = false;
    return;
  }
  CloudSite::Batch batch = std::move(site.sending_.front());
  site.sending_.pop_front();
  size_t bytes = 0;
  for (const size_t hint : batch.hints) bytes += base64(hint);
  sqs_.sent += units_of(bytes, kSqsChunk);
  timeline_.after(model_.sqs.draw(random_), [this, &site, batch = std::move(batch)] {
    Line& line = lines_[batch.queue];
    line.hints.insert(line.hints.end(), batch.hints.begin(), batch.hints.end());
    while (!line.hints.empty() && !line.waiting.empty()) {
      const uint64_t pull = line.waiting.front();
      line.waiting.pop_front();
      receive(pull);
    }
    send_next(site);
  });
}

// --- Pulls ---

void CloudStore::on(CloudSite& site, Pull&& pull, Then then) {
  CHECK(pull.wait > Millis(0));  // There is one route, so every pull waits.
  pull.max = std::min<size_t>(pull.max, cloud::kCloudWritesMax);
  const uint64_t id = ++last_pull_;
  const Micros until = timeline_.now() + pull.wait.count() * 1000;
  pulls_.emplace(id, Pulling{&site, std::move(pull), std::move(then), until});
  advance(id);
}

void CloudStore::advance(uint64_t id) {
  const Pulling& pulling = pulls_.at(id);
  if (timeline_.now() >= pulling.site->looks_[pulling.pull.queue]) return look(id);
  wait(id);
}

void CloudStore::look(uint64_t id) {
  const Pulling& pulling = pulls_.at(id);
  const std::string& queue = pulling.pull.queue;
  const Depth depth = std::get<Depth>(ask_now(AskDepth{queue}));
  const size_t rows = depth.ready + depth.leased;
  const bool plenty = depth.ready >= 4 * pulling.pull.max;
  const size_t pages = plenty ? 1 : round_up(rows, kScanRows) + 1;
  const size_t bytes = plenty && rows > kScanRows ? lines_[queue].row_bytes * kScanRows / rows
                                                  : lines_[queue].row_bytes;
  pulling.site->looks_[queue] =
      timeline_.now() + static_cast<Micros>(kLookEveryUs * 3 / 4 + random_.below(kLookEveryUs / 2));
  timeline_.after(read(pages, units_of(bytes, kReadUnit)), [this, id] {
    const Pull& pull = pulls_.at(id).pull;
    const Depth now = std::get<Depth>(ask_now(AskDepth{pull.queue}));
    if (now.ready == 0) return wait(id);
    lease(id, std::min<size_t>(now.ready, pull.max), false);
  });
}

void CloudStore::wait(uint64_t id) {
  Pulling& pulling = pulls_.at(id);
  Line& line = lines_[pulling.pull.queue];
  pulling.hints = 0;
  if (!line.hints.empty()) return receive(id);
  line.waiting.push_back(id);
  const Micros wake = std::min(pulling.until, pulling.site->looks_[pulling.pull.queue]);
  timeline_.at(wake, [this, id, wait = ++pulling.wait] { give_up_waiting(id, wait); });
}

void CloudStore::give_up_waiting(uint64_t id, uint64_t wait) {
  const auto found = pulls_.find(id);
  if (found == pulls_.end() || found->second.wait != wait) return;
  const Pulling& pulling = found->second;
  std::erase(lines_[pulling.pull.queue].waiting, id);
  ++sqs_.received;
  timeline_.after(settle(*pulling.site, pulling.pull.queue, 0), [this, id] {
    if (timeline_.now() >= pulls_.at(id).until) return end(id, Deliveries{});
    advance(id);
  });
}

// How long it takes.
Micros CloudStore::settle(CloudSite& site, const std::string& queue, size_t hints) {
  size_t& waiting = site.unsettled_[queue];
  waiting += hints;
  if (hints > 0 && waiting < kSqsBatch) return 0;
  Micros took = 0;
  for (; waiting > 0; waiting -= std::min(waiting, kSqsBatch)) {
    ++sqs_.deleted;
    took += model_.sqs.draw(random_);
  }
  return took;
}

// Also without a hint there: who got as many as it asked for asks for more.
void CloudStore::receive(uint64_t id) {
  Pulling& pulling = pulls_.at(id);
  ++pulling.wait;  // That one is over.
  Line& line = lines_[pulling.pull.queue];
  const size_t wanted = std::min<size_t>(kSqsBatch, pulling.pull.max - pulling.hints);
  const size_t count = std::min(wanted, line.hints.size());
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += base64(line.hints[i]);
  line.hints.erase(line.hints.begin(), line.hints.begin() + static_cast<ptrdiff_t>(count));
  pulling.hints += count;
  sqs_.received += units_of(bytes, kSqsChunk);
  timeline_.after(model_.sqs.draw(random_), [this, id, all = count == wanted] {
    const Pulling& now = pulls_.at(id);
    if (all && now.hints < now.pull.max) return receive(id);
    lease(id, now.hints, true);
  });
}

void CloudStore::lease(uint64_t id, size_t count, bool hinted) {
  const std::string& queue = pulls_.at(id).pull.queue;
  const Depth depth = std::get<Depth>(ask_now(AskDepth{queue}));
  const size_t row = lines_[queue].row_bytes / std::max<size_t>(depth.ready + depth.leased, 1);
  const uint64_t units = count * units_of(row, kWriteUnit) * (count > 1 ? 2 : 1);
  timeline_.after(write(1, units), [this, id, count, hinted] { leased(id, count, hinted); });
}

void CloudStore::leased(uint64_t id, size_t count, bool hinted) {
  Pull pull = pulls_.at(id).pull;
  pull.max = count;
  pull.wait = Millis(0);
  Answer answer = ask_now(std::move(pull));
  const size_t got = std::get<Deliveries>(answer).deliveries.size();
  Micros more = 0;
  if (got < count) {  // Somebody was quicker: it reads twice, and writes what is left.
    more += read(2, count);
    if (got > 0) more += write(1, 2 * got);
  }
  if (hinted) more += settle(*pulls_.at(id).site, pulls_.at(id).pull.queue, count);
  timeline_.after(more, [this, id, got, answer = std::move(answer)] {
    const bool over = timeline_.now() >= pulls_.at(id).until;
    if (got > 0 || over) return end(id, Answer(answer));
    advance(id);
  });
}

void CloudStore::end(uint64_t id, Answer&& answer) {
  const Then then = std::move(pulls_.extract(id).mapped().then);
  then(std::move(answer));
}

// --- The rest ---

void CloudStore::on(CloudSite& /*site*/, Renew&& renew, Then then) {
  uint64_t units = 0;
  for (const Lease& lease : renew.leases) {
    const auto found = weights_.find(mixed::message_key(renew.queue, lease.id));
    units += found == weights_.end() ? 1 : units_of(found->second.row, kWriteUnit);
  }
  const size_t count = renew.leases.size();
  const Micros took = write(round_up(count, cloud::kCloudWritesMax), count > 1 ? 2 * units : units);
  timeline_.after(took, [this, renew = std::move(renew), then = std::move(then)] {
    then(ask_now(Renew(renew)));
  });
}

void CloudStore::on(CloudSite& /*site*/, AskDepth&& ask, Then then) {
  const Depth depth = std::get<Depth>(ask_now(AskDepth(ask)));
  const size_t pages = round_up(depth.ready + depth.leased, kScanRows) + 1;
  const Micros took = read(pages, units_of(lines_[ask.queue].row_bytes, kReadUnit));
  timeline_.after(
      took, [this, ask = std::move(ask), then = std::move(then)] { then(ask_now(AskDepth(ask))); });
}

void CloudStore::on(CloudSite& /*site*/, Get&& get, Then then) {
  const size_t requests = round_up(get.keys.size(), kKeysMax);
  read_then(std::move(get), requests, std::move(then));
}

void CloudStore::on(CloudSite& /*site*/, Scan&& scan, Then then) {
  read_then(std::move(scan), 1, std::move(then));
}

// The answer is what is there when it comes. Its size must be known before, so it is made twice.
void CloudStore::read_then(Request&& request, size_t requests, Then then) {
  uint64_t units = 0;
  const Rows there = std::get<Rows>(ask_now(Request(request)));
  for (const Row& row : there.rows) {
    units += units_of(row.key.size() + row.value.size() + kRowExtra, kReadUnit);
  }
  const Micros took = read(requests, std::max<uint64_t>(units, 1));
  timeline_.after(took, [this, request = std::move(request), then = std::move(then)] {
    then(ask_now(Request(request)));
  });
}

// --- Lanes ---

void CloudLane::post(Request&& request, CloudStore::Then then) {
  posted_.push_back({std::move(request), std::move(then)});
  if (!std::exchange(busy_, true)) next();
}

void CloudLane::next() {
  if (posted_.empty()) {
    busy_ = false;
    return;
  }
  Posted posted = std::move(posted_.front());
  posted_.pop_front();
  store_.ask(site_, std::move(posted.request),
             [this, then = std::move(posted.then)](Answer&& answer) {
               next();
               then(std::move(answer));
             });
}

}  // namespace dunlin::bench
