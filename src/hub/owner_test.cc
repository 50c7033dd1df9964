// Tokens at a hub that is running: owners, and tokens that end, with real clients.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <thread>

#include "hub/access/token.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/views/explain.h"
#include "model/views/list_jobs.h"
#include "retention/remove.h"
#include "stores/open.h"
#include "testing/hub.h"

namespace dunlin::hub {
namespace {

std::unique_ptr<RequestStore> open_with(const TestHub& hub, const std::string& token) {
  return stores::open_store("dunlin://" + hub.address().text(), {.token = token}).value();
}

std::string token_of(Scopes scopes, const std::string& owner, int64_t expires_s = 0) {
  return make_token(TestHub::kToken, scopes, expires_s, owner).value();
}

// Somebody with a store, who submits as our clients do.
class User {
 public:
  User(const TestHub& hub, std::string name, const std::string& token)
      : owner(std::move(name)), store(open_with(hub, token)) {}
  User(const TestHub& hub, const std::string& name)
      : User(hub, name, token_of(Scope::submit, name)) {}

  model::Spec spec(uint64_t tasks = 1) const {
    model::Spec spec;
    spec.set_owner(owner.empty() ? "who" : owner);
    spec.mutable_command()->set_builtin("noop");
    spec.mutable_inputs()->set_single(tasks == 1);
    spec.set_tasks(tasks);
    spec.set_priority(kPriorityDefault);
    spec.set_created_us(to_us(posix_clock().wall()));
    return spec;
  }
  Result<Submitted> submit(model::Spec spec, const std::string& key = "") {
    const std::string id = owned_job_id(make_job_id(random_, posix_clock().wall()), owner);
    SubmitOptions options{.id = id, .key = key};
    spec.set_stdin_blob(input_blob_name(id, "stdin"));
    options.blobs.push_back(blob_of_bytes(spec.stdin_blob(), std::string(100'000, 's')));
    return dunlin::submit(*store, std::move(spec), options);
  }
  std::string submit() { return submit(spec()).value().id; }
  std::vector<std::string> jobs() {
    std::vector<std::string> ids;
    const auto all = [](const Listed&) { return true; };
    const std::vector<Listed> some =
        newest_jobs(store->table(), posix_clock().wall(), 100, all).value();
    for (const Listed& one : some) {
      ids.push_back(one.job.id());
    }
    std::ranges::sort(ids);
    return ids;
  }

  const std::string owner;
  const std::unique_ptr<RequestStore> store;

 private:
  Random random_{random_seed()};
};

int64_t now_us() { return to_us(posix_clock().wall()); }

TEST(Owner, EachSeesAndSteersTheirOwnJobs) {
  TestHub hub;
  User ann(hub, "ann");
  User bob(hub, "bob");
  User all(hub, "", std::string(TestHub::kToken));
  const std::string first = ann.submit();
  const std::string his = bob.submit();
  model::Spec later = ann.spec();
  later.add_after(first);
  const std::string second = ann.submit(later).value().id;
  std::vector<std::string> hers = {first, second};
  std::ranges::sort(hers);
  EXPECT_EQ(ann.jobs(), hers);
  EXPECT_EQ(bob.jobs(), std::vector<std::string>{his});
  EXPECT_EQ(all.jobs().size(), 3U);

  EXPECT_TRUE(explain_job(*ann.store, first, "", posix_clock().wall()).ok());
  EXPECT_TRUE(explain_job(*ann.store, second, "", posix_clock().wall()).ok());
  ASSERT_TRUE(cancel_job(*ann.store, first, now_us()).ok());
  EXPECT_EQ(read_standings(ann.store->table(), {second}).value().front().state, JobState::skipped);
  retention::Remover remover(*ann.store, {});
  std::vector<retention::Candidate> gone = remover.read({second}).value();
  const auto removed = remover.remove(gone, posix_clock().wall());
  ASSERT_TRUE(removed.ok()) << removed.error().what;
  EXPECT_EQ(removed.value().front(), retention::Verdict::removed);
  EXPECT_EQ(read_job(ann.store->table(), second).error().code, Code::not_found);
}

TEST(Owner, NobodyReachesTheJobsOfOthers) {
  TestHub hub;
  User ann(hub, "ann");
  User bob(hub, "bob");
  const std::string his = bob.submit();
  EXPECT_EQ(read_job(ann.store->table(), his).error().code, Code::not_found);
  EXPECT_EQ(read_standings(ann.store->table(), {his}).error().code, Code::denied);
  EXPECT_EQ(cancel_job(*ann.store, his, now_us()).error().code, Code::not_found);
  EXPECT_EQ(retry_failed(*ann.store, his, now_us()).error().code, Code::not_found);
  EXPECT_EQ(ann.store->blobs().get(input_blob_name(his, "stdin"), 0, 1).error().code, Code::denied);
  model::Spec after = ann.spec();
  after.add_after(his);
  EXPECT_FALSE(ann.submit(after).ok());
  model::Spec as_him = ann.spec();
  as_him.set_owner("bob");
  EXPECT_EQ(ann.submit(as_him).error().code, Code::denied);
  EXPECT_EQ(bob.jobs(), std::vector<std::string>{his});
  EXPECT_EQ(read_standings(bob.store->table(), {his}).value().front().state, JobState::open);
}

TEST(Owner, KeysDoNotMeetAndAreFoundAgain) {
  TestHub hub;
  User ann(hub, "ann");
  User bob(hub, "bob");
  const std::string hers = ann.submit(ann.spec(), "nightly").value().id;
  const std::string his = bob.submit(bob.spec(2), "nightly").value().id;
  EXPECT_NE(hers, his);
  const Submitted again = ann.submit(ann.spec(), "nightly").value();
  EXPECT_EQ(again.id, hers);
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(ann.submit(ann.spec(2), "nightly").error().code, Code::conflict);
}

// The sweeper goes with an admin's token over jobs of all, and the key is free after that.
TEST(Owner, AJobThatIsRemovedLeavesNothingBehind) {
  TestHub hub;
  User ann(hub, "ann");
  User admin(hub, "", std::string(TestHub::kToken));
  const std::string hers = ann.submit(ann.spec(), "nightly").value().id;
  ASSERT_TRUE(cancel_job(*ann.store, hers, now_us()).ok());
  // What is old goes at once; the blob makes it go by a stone.
  retention::Remover remover(*admin.store, {.old_ends = kAnyVersion - 1});
  std::vector<retention::Candidate> gone = remover.read({hers}).value();
  ASSERT_EQ(remover.remove(gone, posix_clock().wall()).value().front(),
            retention::Verdict::removed);
  EXPECT_EQ(ann.jobs(), std::vector<std::string>{});
  for (const auto& [table, key] :
       {std::pair("jobs", hers), std::pair("ends", hers),
        std::pair("keys", std::string("ann/nightly")), std::pair("_owned", "ann/" + hers)}) {
    EXPECT_EQ(get_row(admin.store->table(), table, key).value().version, 0U) << table;
  }
  EXPECT_TRUE(admin.store->blobs().list("jobs/", "", 10).value().empty());
  EXPECT_FALSE(ann.submit(ann.spec(2), "nightly").value().existed);
}

TEST(Owner, ATokenOfAnotherOwnerCannotBeMadeOfOnes) {
  TestHub hub;
  std::string token = token_of(Scope::submit, "ann");
  EXPECT_NE(token.find("submit@ann."), std::string::npos);
  token.replace(token.find("@ann"), 4, "@bob");
  EXPECT_EQ(stores::open_store("dunlin://" + hub.address().text(), {.token = token}).error().code,
            Code::denied);
  for (const Scopes scopes :
       {Scopes(Scope::worker), Scopes(Scope::admin), Scopes(Scope::read) | Scope::worker}) {
    EXPECT_EQ(make_token(TestHub::kToken, scopes, 0, "ann").error().code, Code::invalid);
  }
  for (const auto* bad : {"a.b", "a@b", "a b", "a/b"}) {
    EXPECT_EQ(make_token(TestHub::kToken, Scope::read, 0, bad).error().code, Code::invalid) << bad;
  }
}

TEST(Expiry, AnOpenConnectionIsToldThatItsTokenHasEnded) {
  TestHub hub;
  const int64_t now_s = now_us() / 1'000'000;
  const auto store = open_with(hub, token_of(Scope::worker, "", now_s + 3600));
  const auto other = open_with(hub, token_of(Scope::worker, ""));
  EXPECT_TRUE(store->queue().depth("q").ok());
  hub.skip(std::chrono::hours(2));
  const auto depth = store->queue().depth("q");
  ASSERT_FALSE(depth.ok());
  EXPECT_EQ(depth.error().code, Code::denied);
  EXPECT_NE(depth.error().what.find("token expired"), std::string::npos) << depth.error().what;
  const std::vector<Message> one = {{"1", "x"}};
  EXPECT_EQ(store->queue().push("q", one).error().code, Code::denied);
  EXPECT_EQ(store->blobs().list("", "", 1).error().code, Code::denied);
  EXPECT_TRUE(other->queue().depth("q").ok());
}

// What comes after the token has ended goes to others.
TEST(Expiry, APullWaitsNoLongerThanItsTokenLasts) {
  TestHub hub;
  const int64_t now_s = now_us() / 1'000'000;
  const auto store = open_with(hub, token_of(Scope::worker, "", now_s + 3600));
  hub.skip(std::chrono::seconds(3597));
  const Instant begun = posix_clock().now();
  const auto pulled = store->queue().pull("q", 1, Millis(1000), std::chrono::seconds(30));
  ASSERT_TRUE(pulled.ok()) << pulled.error().what;
  EXPECT_TRUE(pulled.value().empty());
  EXPECT_LT(posix_clock().now() - begun, std::chrono::seconds(25));
  EXPECT_EQ(store->queue().pull("q", 1, Millis(1000), Millis(0)).error().code, Code::denied);
}

}  // namespace
}  // namespace dunlin::hub
