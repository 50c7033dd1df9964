// TaScaaS's routes as its clients see them.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <set>

#include "testing/tenant.h"

namespace dunlin::rest {
namespace {

using std::chrono::seconds;

class Tascaas : public testing::Test {
 protected:
  // What the partition of a job says, and the service answers.
  std::string lb(const std::string& job, const std::string& call) {
    const HttpAnswer answer = rest.get("/test/lb/" + job + "/" + call);
    return answer.status == 200 ? answer.body : fmt::format("{}: {}", answer.status, answer.body);
  }
  std::string get(const std::string& target) {
    const HttpAnswer answer = rest.get(target);
    return fmt::format("{} {}", answer.status, answer.body);
  }
  // The partitions that a service hands out, until it has none several times.
  std::vector<std::string> fetch_all(const std::string& id, const TestRest& from) {
    std::vector<std::string> all;
    for (int empty = 0; empty < 3;) {
      const json configs = tenant.fetch(id, 3, &from);
      if (configs.empty()) ++empty;
      for (const json& one : configs) {
        all.push_back(one.at("ID").get<std::string>() + one.at("worker").get<std::string>());
      }
    }
    return all;
  }

  TestRest rest;
  TestTenant tenant{rest, "physics"};
};

TEST_F(Tascaas, RegistersWhoKnowsASecret) {
  const std::string base = "/any/prefix/node/register";
  EXPECT_EQ(get(base), "400 missing query parameters");
  EXPECT_EQ(get(base + "?slots=1&maxSlots=2"), "401 Unauthorized");
  EXPECT_EQ(get(base + "?secret=&slots=1&maxSlots=2"), "401 Unauthorized");
  EXPECT_EQ(get(base + "?secret=wrong"), "401 Unauthorized");
  const std::string known = base + "?secret=" + tenant.secret;
  EXPECT_EQ(get(known), "400 missing available slots number");
  EXPECT_EQ(get(known + "&slots=1"), "400 missing available \"maxSlots\" number");
  for (const char* wrong : {"x", "-1", "1.5", "99999999999999999999999", "%00", "1e3"}) {
    EXPECT_EQ(rest.get(fmt::format("{}&slots={}&maxSlots=2", known, wrong)).status, 400) << wrong;
    EXPECT_EQ(rest.get(fmt::format("{}&slots=1&maxSlots={}", known, wrong)).status, 400) << wrong;
  }
  const HttpAnswer answer = rest.get(known + "&slots=x&slots=1&maxSlots=2");
  EXPECT_EQ(answer.status, 200);
  const json body = json::parse(answer.body);
  EXPECT_EQ(body.at("id").get<std::string>().size(), 36U);
  EXPECT_EQ(body.at("scaleTime"), 300);
}

TEST_F(Tascaas, UpdatesTellWhatIsWanted) {
  const std::string id = tenant.enroll(4, 8);
  const std::string update = "/node/" + id + "/update";
  json body = json::parse(rest.get(update).body);
  EXPECT_EQ(body.at("requiredCap"), "-1");
  EXPECT_TRUE(body.at("epoch").is_number_float());
  EXPECT_EQ(body.at("scaleTime"), 300);
  // Nobody waits, nothing was handed out: 0.8 of 5 slots, of 10 that there could be.
  EXPECT_EQ(rest.get(update + "?slots=5&maxSlots=10").status, 200);
  EXPECT_EQ(rest.get(update + "?slots=-7&maxSlots=0").status, 200);  // Only a sign of life.
  rest.clock().move(seconds(301));
  body = json::parse(rest.get(update).body);
  EXPECT_EQ(body.at("requiredCap"), "0.4");
  EXPECT_EQ(rest.get(update + "?slots=x").status, 400);
  EXPECT_EQ(rest.get(update + "?maxSlots=9999999999999999999999").status, 400);
}

TEST_F(Tascaas, AHostThatIsNoneStopsNothing) {
  tenant.drop("a.config", 1000, 60);
  const std::string id = tenant.enroll();
  HttpClient client(rest.port());
  client.send("GET /node/" + id + "/jobs?slots=1 HTTP/1.1\r\nhost: \xff\r\n\r\n");
  const HttpAnswer answer = client.receive();
  EXPECT_EQ(answer.status, 200);
  const std::string url = json::parse(answer.body).at("configs").at(0).at("data-url");
  EXPECT_TRUE(url.starts_with(fmt::format("http://127.0.0.1:{}/", rest.port()))) << url;
}

TEST_F(Tascaas, AStrangerIsUnknownEverywhere) {
  for (const char* route : {"update", "jobs", "jobs?slots=1", "disconnect"}) {
    EXPECT_EQ(get(std::string("/node/nobody/") + route), "401 Unknown worker ID") << route;
    EXPECT_EQ(get(std::string("/node/%20%ff/") + route), "401 Unknown worker ID") << route;
  }
  EXPECT_EQ(get("/results/upload/job/0?wID=nobody"), "401 Unknown worker ID");
}

TEST_F(Tascaas, AnUnknownPathIsForbidden) {
  const std::string forbidden = R"(403 {"message":"Missing Authentication Token"})";
  for (const char* path :
       {"/", "/node", "/node/register/x", "/lb/job/stop", "/results/upload/job"}) {
    EXPECT_EQ(get(path), forbidden) << path;
  }
  EXPECT_EQ(HttpClient(rest.port()).ask("POST", "/node/register").status, 403);
}

TEST_F(Tascaas, HandsOutPartitionsInTheirOrder) {
  tenant.drop("b.config", 7, 600, 2);
  const std::string id = tenant.enroll();  // Sees the file.
  rest.clock().move(seconds(1));
  const std::string jobs = "/node/" + id + "/jobs";
  EXPECT_EQ(get(jobs), "400 missing query parameters");
  EXPECT_EQ(get(jobs + "?x=1"), "400 missing available slots number");
  for (const char* wrong : {"0", "-1", "x", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(get(jobs + "?slots=" + wrong), "400 Invalid number of requested jobs") << wrong;
  }
  const json first = tenant.fetch(id, 1);
  ASSERT_EQ(first.size(), 1U);
  for (const auto& [name, value] : first[0].items()) EXPECT_TRUE(value.is_string()) << name;
  EXPECT_EQ(first[0].at("worker"), "0");
  EXPECT_EQ(first[0].at("nIter"), "4");
  EXPECT_EQ(first[0].at("reportTime"), "30");
  const json second = tenant.fetch(id, 5);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].at("worker"), "1");
  EXPECT_EQ(second[0].at("nIter"), "3");
  const json none = json::parse(rest.get(jobs + "?slots=1").body);
  EXPECT_FALSE(none.contains("configs"));
  EXPECT_EQ(none.at("requiredCap"), "-1");
}

TEST_F(Tascaas, TheDataIsThereForWhoHasTheUrl) {
  tenant.drop("a.config", 7, 600);
  const std::string url = tenant.fetch(tenant.enroll(), 1)[0].at("data-url");
  ASSERT_TRUE(url.starts_with("http://test/test/signed/physics/input/data.bin?")) << url;
  const std::string path = url.substr(std::string("http://test").size());
  const HttpAnswer answer = rest.get(path);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "data");
  EXPECT_EQ(rest.get(path + "0").status, 403);
  EXPECT_EQ(rest.get(path.substr(0, path.find('?'))).status, 403);
  EXPECT_EQ(HttpClient(rest.port()).ask("PUT", path, "", "mine").status, 403);
  std::string other = path;
  other.replace(other.find("data.bin"), 8, "a.config");
  EXPECT_EQ(rest.get(other).status, 403);
  rest.clock().move(seconds(1199));
  EXPECT_EQ(rest.get(path).status, 200);
  rest.clock().move(seconds(2));
  EXPECT_EQ(rest.get(path).status, 403);
}

TEST_F(Tascaas, AUrlEndsWithItsTenant) {
  tenant.drop("a.config", 7, 600);
  const std::string id = tenant.enroll();
  const json config = tenant.fetch(id, 1)[0];
  const std::string data = config.at("data-url").get<std::string>();
  const std::string path = data.substr(std::string("http://test").size());
  const std::string url = rest.get("/results/upload/x/0?wID=" + id).body;
  const std::string results = url.substr(url.find("/signed/"));
  EXPECT_TRUE(tascaas::remove_tenant(tenant.store(), "physics").ok());
  EXPECT_EQ(rest.get(path).status, 403);
  rest.clock().move(seconds(1));
  const TestTenant again(rest, "physics");
  EXPECT_EQ(rest.get(path).status, 403);
  EXPECT_EQ(HttpClient(rest.port()).ask("PUT", results, "", "mine").status, 403);
  EXPECT_FALSE(again.has("output/results/x/worker-0/results.dat"));
}

TEST_F(Tascaas, ResultsCanBeReplaced) {
  const std::string id = tenant.enroll();
  EXPECT_EQ(get("/results/upload/job_x/3"), "400 missing query parameters");
  EXPECT_EQ(get("/results/upload/job_x/3?x=1"), "400 missing wID");
  EXPECT_EQ(rest.get("/results/upload/job_x/%2e%20?wID=" + id).status, 400);
  EXPECT_EQ(rest.get("/results/upload/a%2Fb/3?wID=" + id).status, 400);
  const HttpAnswer url = rest.get("/results/upload/job_x/3?wID=" + id);
  ASSERT_TRUE(url.body.starts_with("http://test/signed/physics/")) << url.body;
  const std::string path = url.body.substr(std::string("http://test").size());
  HttpClient client(rest.port());
  EXPECT_EQ(client.ask("PUT", path, "", "first").status, 200);
  EXPECT_EQ(client.ask("PUT", path, "", "second").status, 200);
  EXPECT_EQ(client.ask("GET", path).status, 403);
  const std::string key = "output/results/job_x/worker-3/results.dat";
  const auto info = tascaas::find_file(tenant.store().table(), "physics", key).value();
  EXPECT_EQ(tascaas::read_file(tenant.store(), info.file, 100).value(), "second");
  // The bytes that were replaced are gone: those of the data file and of the results are left.
  EXPECT_EQ(tenant.store().blobs().list("tascaas/physics/", "", 10).value().size(), 2U);
  rest.clock().move(seconds(901));
  EXPECT_EQ(client.ask("PUT", path, "", "late").status, 403);
}

TEST_F(Tascaas, LargeUploadsAreTakenInPieces) {
  TestRest small({.upload_max = 3 << 20}, &rest);
  const std::string id = tenant.enroll();
  const std::string url = rest.get("/results/upload/job_x/0?wID=" + id).body;
  const std::string path = url.substr(std::string("http://test").size());
  const std::string bytes(2'500'000, 'x');
  HttpClient client(small.port());
  client.send("PUT " + path +
              " HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2500000\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send(bytes);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.ask("PUT", path, "", bytes + bytes).status, 413);
  HttpClient chunks(small.port());
  chunks.send("PUT " + path +
              " HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2625a0\r\n" + bytes);
  chunks.send("\r\n2625a0\r\n" + bytes + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunks.receive().status, 413);
}

TEST_F(Tascaas, AnotherTenantSeesNothing) {
  TestTenant other(rest, "biology");
  tenant.drop("a.config", 7, 600);
  tenant.enroll();
  const std::string foreign = other.enroll();
  EXPECT_TRUE(other.fetch(foreign, 5).empty());
  // Its URLs are for its own files.
  EXPECT_NE(rest.get("/results/upload/j/0?wID=" + foreign).body.find("/signed/biology/"),
            std::string::npos);
}

// Who knows the id of a job of others can put files beside its own only.
TEST_F(Tascaas, ResultsOfAnotherTenantEndNothing) {
  TestTenant other(rest, "biology");
  tenant.drop("a.config", 3, 0);
  const std::string job = tenant.fetch(tenant.enroll(), 1)[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  EXPECT_EQ(other.upload(other.enroll(), job, 0), 200);
  EXPECT_FALSE(tenant.job(job).partitions(0).finished());
}

TEST_F(Tascaas, ResultsUnderAnotherNameEndNothing) {
  tenant.drop("a.config", 3, 0);
  const std::string id = tenant.enroll();
  const std::string job = tenant.fetch(id, 1)[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  const HttpAnswer url = rest.get(fmt::format("/results/upload/{}/000?wID={}", job, id));
  ASSERT_EQ(url.status, 200);
  HttpClient client(rest.port());
  EXPECT_EQ(client.ask("PUT", url.body.substr(url.body.find("/signed/")), "", "results").status,
            200);
  EXPECT_FALSE(tenant.job(job).partitions(0).finished());
  EXPECT_EQ(tenant.upload(id, job, 0), 200);
  EXPECT_TRUE(tenant.job(job).partitions(0).finished());
}

TEST_F(Tascaas, ALifeOfAPartition) {
  tenant.drop("a.config", 1'000'000, 600);
  const std::string id = tenant.enroll();
  const std::string job = tenant.fetch(id, 1)[0].at("ID");
  EXPECT_EQ(lb(job, "start?worker=0&dt=0"), "0 \n Assigned: 1000000\n ETA: 600\n");
  rest.clock().move(seconds(30));
  EXPECT_EQ(lb(job, "report?worker=0&nIter=60000&dt=30"), "0\n Assigned: 1000000\n ETA: 600\n");
  EXPECT_EQ(lb(job, "report?worker=0&nIter=60000&dt=30"), "1 5\n");
  rest.clock().move(seconds(30));
  EXPECT_EQ(lb(job, "report?worker=0&nIter=120000&dt=60"), "0\n Assigned: 1000000\n ETA: 440\n");
  rest.clock().move(seconds(440));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000000&dt=500"), "0\n");
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000000&dt=500"), "3 5\n");
  EXPECT_EQ(lb(job, "start?worker=0&dt=0"), "2 12\n");
  EXPECT_TRUE(tenant.has(tascaas::result_key(job, "0", "balance.rep")));
  EXPECT_EQ(tenant.job(job).ended_ms(), 0) << "its results are missing";
  EXPECT_EQ(tenant.upload(id, job, 0), 200);
  EXPECT_NE(tenant.job(job).ended_ms(), 0);
}

TEST_F(Tascaas, BadWordsOfPartitions) {
  tenant.drop("a.config", 1000, 600, 2);
  const std::string job = tenant.fetch(tenant.enroll(), 2)[0].at("ID");
  for (const char* word : {"start", "report", "finish"}) {
    EXPECT_EQ(lb(job, word), "400: missing query parameters");
    EXPECT_EQ(lb(job, std::string(word) + "?dt=1&nIter=1"), "400: missing worker number");
    EXPECT_EQ(lb(job, std::string(word) + "?worker=0&nIter=1"), "400: missing elapsed time");
    EXPECT_EQ(lb("nonsense", std::string(word) + "?worker=0&nIter=1&dt=1"),
              "400: Dynamo table/item doesn't exist");
    for (const char* worker : {"2", "-1", "4000000000"}) {
      EXPECT_EQ(lb(job, fmt::format("{}?worker={}&nIter=1&dt=1", word, worker)),
                "400: Worker out of range");
    }
    for (const char* wrong : {"x", "1.5", "99999999999999999999"}) {
      EXPECT_EQ(lb(job, fmt::format("{}?worker={}&nIter=1&dt=1", word, wrong)),
                "400: invalid worker number");
    }
    for (const char* wrong : {"x", "-1", "1e99", "nan", "inf", "1e400"}) {
      EXPECT_EQ(lb(job, fmt::format("{}?worker=0&nIter=1&dt={}", word, wrong)),
                "400: invalid elapsed time");
    }
  }
  EXPECT_EQ(lb(job, "finish?nIter="), "400: missing worker number");
  EXPECT_EQ(lb(job, "report?worker=0&dt=1"), "400: missing iterations done");
  for (const char* wrong : {"x", "-1", "99999999999999999999", "9223372036854775807"}) {
    EXPECT_EQ(lb(job, fmt::format("report?worker=0&nIter={}&dt=1", wrong)),
              "400: invalid iterations done");
  }
  EXPECT_EQ(lb(job, "report?worker=1&nIter=1&dt=1"), "1 5\n");
  EXPECT_EQ(lb(job, "start?worker=7&worker=1&dt=0"), "0 \n Assigned: 500\n ETA: 600\n");
}

TEST_F(Tascaas, WithoutATimeNothingIsBalanced) {
  tenant.drop("a.config", 7, 0, 2);
  const json configs = tenant.fetch(tenant.enroll(), 2);
  EXPECT_EQ(configs[0].at("reportTime"), "1000000000");
  const std::string job = configs[0].at("ID");
  EXPECT_EQ(lb(job, "start?worker=0&dt=0"), "0 \n Assigned: 4\n ETA: 1000000000\n");
  EXPECT_EQ(lb(job, "start?worker=1&dt=0"), "0 \n Assigned: 3\n ETA: 1000000000\n");
  EXPECT_EQ(lb(job, "finish?worker=1&nIter=3&dt=5"), "0\n");
  EXPECT_EQ(tenant.job(job).partitions(0).assigned(), 4U);
}

// Time 200 and one partition: at its third report one more, and at the fifth, which is of the new
// one, four: as the original was seen to do.
TEST_F(Tascaas, PartitionsAreAddedWhenTheDeadlineIsInDanger) {
  tenant.drop("a.config", 32'600, 200);
  const std::string id = tenant.enroll(9, 9);
  const std::string job = tenant.fetch(id, 1)[0].at("ID");
  EXPECT_EQ(lb(job, "start?worker=0&dt=0"), "0 \n Assigned: 32600\n ETA: 200\n");
  for (int t = 20; t <= 40; t += 20) {
    rest.clock().move(seconds(20));
    lb(job, fmt::format("report?worker=0&nIter={}&dt={}", 100 * t, t));
    EXPECT_EQ(tenant.job(job).partitions_size(), 1) << t;
  }
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "report?worker=0&nIter=6000&dt=60"), "0\n Assigned: 32600\n ETA: 266\n");
  ASSERT_EQ(tenant.job(job).partitions_size(), 2);
  const json added = tenant.fetch(id, 5);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].at("worker"), "1");
  EXPECT_EQ(added[0].at("nIter"), "6000");
  EXPECT_EQ(lb(job, "start?worker=1&dt=0"), "0 \n Assigned: 16300\n ETA: 200\n");
}

TEST_F(Tascaas, AfterTheDeadlineReportsAreAnswered) {
  tenant.drop("a.config", 1'000'000, 60);
  const std::string job = tenant.fetch(tenant.enroll(), 1)[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  for (int t = 20; t <= 100; t += 20) {
    rest.clock().move(seconds(20));
    EXPECT_TRUE(lb(job, fmt::format("report?worker=0&nIter={}&dt={}", t, t)).starts_with("0\n"))
        << t;
  }
  EXPECT_EQ(tenant.job(job).partitions_size(), 10);  // As many as there may be.
}

TEST_F(Tascaas, WhatIsNotStartedIsHandedOutAgain) {
  tenant.drop("a.config", 100, 600, 2);
  const std::string id = tenant.enroll();
  const json configs = tenant.fetch(id, 2);
  const std::string job = configs[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(1100));
  EXPECT_TRUE(tenant.fetch(id, 2).empty());
  lb(job, "report?worker=0&nIter=10&dt=1100");
  rest.clock().move(seconds(101));
  rest.get("/node/" + id + "/update");
  // A service looks after it every few seconds; another one does so at once.
  TestRest other({}, &rest);
  const json again = tenant.fetch(id, 2, &other);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].at("worker"), "1");
}

TEST_F(Tascaas, WhatADisconnectedInfrastructureHadGoesToOthers) {
  tenant.drop("a.config", 100, 600, 2);
  const std::string one = tenant.enroll();
  const std::string two = tenant.enroll();
  const json configs = tenant.fetch(one, 2);
  ASSERT_EQ(configs.size(), 2U);
  const std::string job = configs[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  EXPECT_EQ(get("/node/" + one + "/disconnect"), "200 Done");
  EXPECT_EQ(get("/node/" + one + "/disconnect"), "401 Unknown worker ID");
  EXPECT_EQ(get("/node/" + one + "/update"), "401 Unknown worker ID");
  EXPECT_EQ(get("/results/upload/j/0?wID=" + one), "401 Unknown worker ID");
  const json again = tenant.fetch(two, 5);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].at("worker"), "1");
  // The one that started may still run, as long as it is heard of.
  rest.clock().move(seconds(61));
  TestRest other({}, &rest);
  const json lost = tenant.fetch(two, 5, &other);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].at("worker"), "0");
  // If it is there all the same, it is told to start again.
  EXPECT_EQ(lb(job, "report?worker=0&nIter=10&dt=70"), "1 5\n");
  EXPECT_TRUE(lb(job, "start?worker=0&dt=70").starts_with("0 \n"));
}

TEST_F(Tascaas, WhoHasUploadedIsNotRunAgain) {
  tenant.drop("a.config", 100, 600);
  const std::string id = tenant.enroll();
  const std::string job = tenant.fetch(id, 2)[0].at("ID");
  lb(job, "start?worker=0&dt=0");
  tenant.put(tascaas::result_key(job, "0", "results.dat"), "results");
  EXPECT_EQ(lb(job, "finish?nIter="), "400: missing worker number");
  rest.clock().move(seconds(200));
  TestRest other({}, &rest);
  EXPECT_TRUE(tenant.fetch(id, 5, &other).empty());
  EXPECT_TRUE(tenant.job(job).partitions(0).finished());
}

TEST_F(Tascaas, SilentInfrastructuresAreForgotten) {
  const std::string id = tenant.enroll();
  const std::string silent = tenant.enroll();
  for (int i = 0; i < 6; ++i) {
    rest.clock().move(seconds(301));
    EXPECT_EQ(rest.get("/node/" + id + "/update").status, 200);
  }
  EXPECT_EQ(get("/node/" + silent + "/update"), "401 Unknown worker ID");
}

// Two services on one store, and many who ask at once: each partition is handed out once.
TEST_F(Tascaas, TwoServicesHandOutEachPartitionOnce) {
  TestRest other({}, &rest);
  constexpr int kJobs = 6;
  for (int i = 0; i < kJobs; ++i) tenant.drop(fmt::format("j{}.config", i), 1000, 600, 10);
  const std::string id = tenant.enroll();
  std::vector<std::vector<std::string>> got(4);
  std::vector<std::thread> threads;
  threads.reserve(got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = fetch_all(id, i % 2 == 0 ? rest : other); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  size_t count = 0;
  for (const auto& some : got) {
    count += some.size();
    all.insert(some.begin(), some.end());
  }
  EXPECT_EQ(count, 10U * kJobs);
  EXPECT_EQ(all.size(), 10U * kJobs);
}

TEST_F(Tascaas, ReportsThatComeTogetherAreAllKept) {
  tenant.drop("a.config", 1'000'000, 600, 8);
  const std::string job = tenant.fetch(tenant.enroll(9, 9), 9)[0].at("ID");
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      lb(job, fmt::format("start?worker={}&dt=0", i));
      for (int t = 1; t <= 10; ++t) {
        lb(job, fmt::format("report?worker={}&nIter={}&dt={}", i, 10 * t, 5 * t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const tascaas::Job after = tenant.job(job);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(after.partitions(i).done(), 100U);
}

// The vectors of the original server: a job in a given state, and what a call answers.
class Vectors : public Tascaas {
 protected:
  static void add(tascaas::Job& job, uint64_t assigned, uint64_t done, int64_t at_s, double speed) {
    auto& partition = *job.add_partitions();
    partition.set_assigned(assigned);
    partition.set_done(done);
    partition.set_started(true);
    partition.set_last_ms(at_s * 1000);
    partition.add_measures();
    if (speed <= 0) return;
    auto& measure = *partition.add_measures();
    measure.set_at_ms(at_s * 1000);
    measure.set_speed(speed);
  }
  tascaas::Job job_at(uint64_t iterations, int64_t now_s) {
    tascaas::Job job;
    job.set_iterations(iterations);
    job.set_time_ms(600'000);
    job.set_report_ms(20'000);
    job.set_max_partitions(1);
    job.set_begun_ms(tascaas::to_ms(rest.clock().wall()) - now_s * 1000);
    return job;
  }
};

TEST_F(Vectors, AreAnsweredAsTheOriginalDid) {
  tascaas::Job a = job_at(1'000'000, 40);
  add(a, 0, 2000, 20, 100);
  add(a, 0, 6000, 20, 300);
  tenant.keep("a", a);
  EXPECT_EQ(lb("a", "report?worker=0&nIter=4000&dt=40"), "0\n Assigned: 251500\n ETA: 2460\n");

  tascaas::Job c = job_at(1'000'000, 20);
  add(c, 500'000, 0, 0, 0);
  add(c, 500'000, 0, 0, 0);
  tenant.keep("c", c);
  EXPECT_EQ(lb("c", "report?worker=0&nIter=2000&dt=20"), "0\n Assigned: 500000\n ETA: 600\n");

  tascaas::Job d = job_at(10'000, 40);
  add(d, 5555, 2000, 20, 100);
  add(d, 5555, 4000, 20, 200);
  tenant.keep("d", d);
  EXPECT_EQ(lb("d", "report?worker=0&nIter=4000&dt=40"), "0\n Assigned: 5555\n ETA: 0\n");

  tascaas::Job f = job_at(900, 0);
  for (int i = 0; i < 3; ++i) f.add_partitions();
  tenant.keep("f", f);
  EXPECT_EQ(lb("f", "start?worker=2&dt=0"), "0 \n Assigned: 300\n ETA: 600\n");

  tascaas::Job h = job_at(1000, 40);
  add(h, 500, 100, 20, 5);
  h.mutable_partitions(0)->set_finished(true);
  h.add_partitions();
  tenant.keep("h", h);
  EXPECT_EQ(lb("h", "report?worker=9&nIter=1&dt=20"), "400: Worker out of range");
  EXPECT_EQ(lb("h", "report?worker=1&nIter=1&dt=20"), "1 5\n");
  EXPECT_EQ(lb("h", "report?worker=0&nIter=100&dt=20"), "1 5\n");
  EXPECT_EQ(lb("h", "report?worker=0&nIter=200&dt=40"), "1 12\n");
}

}  // namespace
}  // namespace dunlin::rest
