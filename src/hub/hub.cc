#include "hub/hub.h"

#include <algorithm>
#include <fmt/format.h>

#include "hub/access/owner_view.h"

namespace dunlin::hub {
namespace {

// How long a hub whose commits fail waits before it looks for work of its own again.
constexpr Millis kRetry = Millis(100);

// About the memory that an answer takes until it has been sent.
struct SizeOf {
  size_t operator()(const Deliveries& answer) const {
    size_t bytes = 0;
    for (const Delivery& delivery : answer.deliveries) {
      bytes += delivery.lease.id.size() + delivery.body.size() + sizeof(Delivery);
    }
    return bytes;
  }
  size_t operator()(const Rows& answer) const {
    size_t bytes = 0;
    for (const Row& row : answer.rows) bytes += row.key.size() + row.value.size() + sizeof(Row);
    return bytes;
  }
  size_t operator()(const Bytes& answer) const { return answer.bytes.size(); }
  size_t operator()(const Info& answer) const {
    return (answer.queues.size() + answer.tables.size()) * (sizeof(Info::QueueInfo) + kNameMax);
  }
  size_t operator()(const BlobNames& answer) const {
    return answer.blobs.size() * (sizeof(BlobInfo) + kNameMax);
  }
  size_t operator()(const auto&) const { return sizeof(Reply); }
};

}  // namespace

void HubMind::opened(SessionId session, Rights rights) {
  CHECK(!sessions_.contains(session));
  sessions_[session].rights = std::move(rights);
}

void HubMind::closed(SessionId session) {
  const auto found = sessions_.find(session);
  CHECK(found != sessions_.end());
  const absl::btree_set<uint64_t> waiting = std::move(found->second.waiting);
  found->second.waiting.clear();
  for (const uint64_t number : waiting) take(number);
  std::erase_if(beginners_, [&](const Beginner& each) { return each.session == session; });
  uploads_.left(session, now_);
  sessions_.erase(session);
}

void HubMind::request(SessionId session, uint64_t id, Request&& request, Instant now) {
  now_ = now;
  const auto found = sessions_.find(session);
  CHECK(found != sessions_.end());
  if (found->second.unanswered >= limits_.unanswered_max) {
    return stage(
        session, id,
        Error{
            Code::full,
            fmt::format(
                "{} requests of this connection are still unanswered: wait for some of the answers",
                limits_.unanswered_max)});
  }
  if (const Result<void> valid = validate(request); !valid.ok()) {
    return stage(session, id, valid.error());
  }
  if (const Result<void> allowed = allows(found->second.rights, request); !allowed.ok()) {
    return stage(session, id, allowed.error());
  }
  if (auto* asked = std::get_if<Pull>(&request)) return pull(session, id, std::move(*asked), now);
  if (const auto* renew = std::get_if<Renew>(&request); renew && renew->leases.empty()) {
    end_waits_of(session, renew->queue);
  }
  if (auto* part = std::get_if<BlobPart>(&request)) {
    return begin_or_go_on(session, id, std::move(*part), now);
  }
  if (const auto* end = std::get_if<BlobEnd>(&request)) {
    // Whatever comes of it: one that did not end is begun again under another number.
    const uint64_t upload = end->upload;
    stage(session, id, core_.handle(std::move(request), now));
    return give_up(upload);
  }

  if (auto* commit = std::get_if<Commit>(&request); commit && note_owned(*commit)) {
    const Result<void> valid = validate(request);
    if (!valid.ok()) return stage(session, id, valid.error());
  }
  // If it fails nothing became ready, and looking in vain is harmless.
  if (const auto* commit = std::get_if<Commit>(&request); commit && !queues_.empty()) {
    for (const Write& write : commit->writes) {
      if (const auto* push = std::get_if<Push>(&write)) touch(push->queue);
      const auto* keep = std::get_if<Keep>(&write);
      if (keep != nullptr && keep->hold == Millis(0)) touch(keep->queue);
    }
  }
  if (const auto* renew = std::get_if<Renew>(&request); renew && renew->hold == Millis(0)) {
    touch(renew->queue);
  }
  stage(session, id, handle(found->second.rights, std::move(request), now));
}

// Not everybody is answered alike.
Answer HubMind::handle(const Rights& rights, Request&& request, Instant now) {
  if (!rights.owner.empty()) return handle_as(rights.owner, core_, std::move(request), now);
  auto* list = std::get_if<BlobList>(&request);
  if (list == nullptr || rights.scopes.has(Scope::admin)) {
    return core_.handle(std::move(request), now);
  }
  return list_public(core_, std::move(*list), now);
}

void HubMind::begin_or_go_on(SessionId session, uint64_t id, BlobPart&& part, Instant now) {
  if (part.offset > 0 || part.bytes.empty() || uploads_.has(part.upload)) {
    return take_part(session, id, std::move(part), now);
  }
  const auto begins = std::ranges::count(beginners_, session, &Beginner::session);
  if (uploads_.size(session) + static_cast<size_t>(begins) >= limits_.uploads_max) {
    return stage(session, id,
                 Error{Code::full, fmt::format("this connection has {} uploads under way: finish "
                                               "some first, or open another connection",
                                               limits_.uploads_max)});
  }
  const std::string& owner = sessions_.at(session).rights.owner;
  if (!owner.empty() && takes_its_half(owner)) {
    return stage(
        session, id,
        Error{
            Code::full,
            fmt::format(
                "{} already has half of the uploads that this hub takes at once: finish some first",
                owner)});
  }
  if (beginners_.empty() && has_place()) return take_part(session, id, std::move(part), now);
  if (beginners_.size() >= limits_.beginners_max) {
    return stage(session, id, no_place_for_upload());
  }
  ++sessions_.at(session).unanswered;
  beginners_.push_back({session, id, std::move(part), now + kPlaceWait});
}

void HubMind::take_part(SessionId session, uint64_t id, BlobPart&& part, Instant now) {
  const uint64_t upload = part.upload;
  const bool gives_up = part.bytes.empty();
  Answer answer = core_.handle(std::move(part), now);
  if (gives_up || !std::holds_alternative<Done>(answer)) {
    give_up(upload);
  } else {
    uploads_.went_on(upload, session, now);
    parted_.push_back(upload);
  }
  stage(session, id, std::move(answer));
}

// The rest is for others, however many connections a token makes.
bool HubMind::takes_its_half(const std::string& owner) const {
  const auto is_its = [&](SessionId session) {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && found->second.rights.owner == owner;
  };
  const auto begins = static_cast<size_t>(std::ranges::count_if(
      beginners_, [&](const Beginner& each) { return is_its(each.session); }));
  return uploads_.size_of(is_its) + begins >= limits_.uploads_all_max / 2 ||
         begins >= limits_.beginners_max / 2;
}

// Makes one if an upload was left.
bool HubMind::has_place() {
  if (uploads_.size() < limits_.uploads_all_max) return true;
  const std::optional<uint64_t> left = uploads_.take_left();
  if (left) give_up(*left);
  return left.has_value();
}

void HubMind::give_up(uint64_t upload) {
  uploads_.ended(upload);
  core_.handle(BlobPart{upload, 0, ""}, now_);
}

void HubMind::let_beginners_in() {
  for (const uint64_t upload : uploads_.take_overdue(now_)) give_up(upload);
  while (!beginners_.empty()) {
    const bool enters = has_place();
    if (!enters && beginners_.front().deadline > now_) return;
    Beginner first = std::move(beginners_.front());
    beginners_.pop_front();
    --sessions_.at(first.session).unanswered;
    if (!enters) {
      stage(first.session, first.id, no_place_for_upload());
      continue;
    }
    const uint64_t upload = first.part.upload;
    take_part(first.session, first.id, std::move(first.part), now_);
    take_repeats(upload);
  }
}

// Of the first part of an upload that is in now. If they waited on they would begin it once more
// after its end, and it would keep a place that nobody uses.
void HubMind::take_repeats(uint64_t upload) {
  const auto is_other = [&](const Beginner& each) { return each.part.upload != upload; };
  const auto repeats = std::ranges::stable_partition(beginners_, is_other);
  for (Beginner& each : repeats) {
    --sessions_.at(each.session).unanswered;
    take_part(each.session, each.id, std::move(each.part), now_);
  }
  beginners_.erase(repeats.begin(), repeats.end());
}

void HubMind::stage(SessionId session, uint64_t id, Answer&& answer) {
  const size_t bytes = std::visit(SizeOf{}, answer);
  Session& owner = sessions_.at(session);
  ++owner.unanswered;
  owner.staged_bytes += bytes;
  staged_bytes_ += bytes;
  staged_.push_back({session, id, std::move(answer)});
}

bool HubMind::busy(SessionId session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && (found->second.unanswered >= limits_.unanswered_max ||
                                      found->second.staged_bytes >= limits_.staged_max ||
                                      staged_bytes_ >= limits_.staged_all_max);
}

// Nobody overtakes those who wait already, not even a pull that does not want to wait.
void HubMind::pull(SessionId session, uint64_t id, Pull&& pull, Instant now) {
  const bool patient = pull.wait > Millis(0) && !draining_;
  if (queues_.contains(pull.queue)) {
    if (!patient) return wait(session, id, std::move(pull), now);
  } else {
    Pull once = pull;
    once.wait = Millis(0);
    Answer answer = core_.handle(std::move(once), now);
    const auto* found = std::get_if<Deliveries>(&answer);
    if (!patient || !found || !found->deliveries.empty()) {
      return stage(session, id, std::move(answer));
    }
  }
  if (sessions_.at(session).waiting.size() >= limits_.waiting_max) {
    return stage(
        session, id,
        Error{Code::full, fmt::format("this connection already has {} waiting pulls: wait for "
                                      "fewer queues at once, or open another connection",
                                      limits_.waiting_max)});
  }
  const Instant deadline = now + pull.wait;
  wait(session, id, std::move(pull), deadline);
}

void HubMind::wait(SessionId session, uint64_t id, Pull&& pull, Instant deadline) {
  const uint64_t number = ++last_number_;
  Session& owner = sessions_.at(session);
  ++owner.unanswered;
  owner.waiting.insert(number);
  queues_[pull.queue].insert(number);
  deadlines_.insert({deadline, number});
  pull.wait = Millis(0);
  waiters_.emplace(number, Waiter{session, id, std::move(pull), deadline});
}

// Removes a waiter from wherever it is noted.
HubMind::Waiter HubMind::take(uint64_t number) {
  auto node = waiters_.extract(number);
  CHECK(!node.empty());
  Waiter waiter = std::move(node.mapped());
  deadlines_.erase({waiter.deadline, number});
  const auto queue = queues_.find(waiter.pull.queue);
  queue->second.erase(number);
  if (queue->second.empty()) queues_.erase(queue);
  Session& owner = sessions_.at(waiter.session);
  owner.waiting.erase(number);
  --owner.unanswered;
  return waiter;
}

void HubMind::touch(const std::string& queue) {
  if (queues_.contains(queue)) touched_.insert(queue);
}

// The core could not say or hand out what is ready, but soon may.
void HubMind::look_again(const std::string& queue, Instant now) {
  touched_.insert(queue);
  retry_at_ = now + kRetry;
}

void HubMind::serve(const std::string& queue, Instant now) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  const Answer depth = core_.handle(AskDepth{queue}, now);
  if (!std::holds_alternative<Depth>(depth)) return look_again(queue, now);
  uint64_t ready = std::get<Depth>(depth).ready;
  const std::vector<uint64_t> waiting(
      found->second.begin(),
      std::next(found->second.begin(),
                static_cast<ptrdiff_t>(std::min<uint64_t>(ready, found->second.size()))));
  uint64_t left = found->second.size();
  for (const uint64_t number : waiting) {
    if (ready == 0) return;
    Pull asked = waiters_.at(number).pull;
    asked.max = std::min(asked.max, (ready + left - 1) / left);
    Answer answer = core_.handle(std::move(asked), now);
    if (const auto* taken = std::get_if<Deliveries>(&answer)) {
      if (taken->deliveries.empty()) return;
      ready -= std::min<uint64_t>(ready, taken->deliveries.size());
    } else {
      look_again(queue, now);
    }
    const Waiter waiter = take(number);
    stage(waiter.session, waiter.id, std::move(answer));
    --left;
  }
}

void HubMind::end_waits(Instant now) {
  while (!deadlines_.empty() && (draining_ || deadlines_.begin()->first <= now)) {
    const Waiter waiter = take(deadlines_.begin()->second);
    stage(waiter.session, waiter.id, Deliveries{});
  }
}

// Whoever leaves must not be handed anything any more.
void HubMind::end_waits_of(SessionId session, const std::string& queue) {
  const absl::btree_set<uint64_t> waiting = sessions_.at(session).waiting;
  for (const uint64_t number : waiting) {
    if (waiters_.at(number).pull.queue != queue) continue;
    const Waiter waiter = take(number);
    stage(waiter.session, waiter.id, Deliveries{});
  }
}

// What was handed out since the last commit is ready again, so every queue is worth a look.
void HubMind::fail_all(const Error& error) {
  for (Reply& reply : staged_) reply.answer = error;
  for (const uint64_t upload : parted_) give_up(upload);  // Its sender was told that it failed.
  for (const auto& [queue, waiting] : queues_) touched_.insert(queue);
}

std::vector<Reply> HubMind::turn(Instant now) {
  now_ = now;
  let_beginners_in();
  // Also when no lease ends now: a request of this turn may have given messages back already.
  for (const std::string& queue : core_.expire(now)) touch(queue);
  for (const std::string& queue : std::exchange(touched_, {})) serve(queue, now);
  end_waits(now);
  if (const Result<void> committed = core_.commit(now); !committed.ok()) {
    fail_all(committed.error());
    retry_at_ = now + kRetry;
  }

  std::vector<Reply> replies = std::exchange(staged_, {});
  staged_bytes_ = 0;
  parted_.clear();
  std::erase_if(replies, [this](const Reply& reply) { return !sessions_.contains(reply.session); });
  for (const Reply& reply : replies) {
    Session& owner = sessions_.at(reply.session);
    --owner.unanswered;
    owner.staged_bytes = 0;
  }
  return replies;
}

std::optional<Instant> HubMind::next_wake() const {
  std::optional<Instant> wake = core_.next_expiry();
  if (!deadlines_.empty() && (!wake || deadlines_.begin()->first < *wake)) {
    wake = deadlines_.begin()->first;
  }
  const std::optional<Instant> overdue = uploads_.next_overdue();
  if (overdue && (!wake || *overdue < *wake)) wake = overdue;
  if (!beginners_.empty() && (!wake || beginners_.front().deadline < *wake)) {
    wake = beginners_.front().deadline;
  }
  if (!touched_.empty() || (draining_ && !waiters_.empty())) wake = Instant::min();
  if (wake) wake = std::max(*wake, retry_at_);
  return wake;
}

}  // namespace dunlin::hub
