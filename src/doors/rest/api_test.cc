#include "doors/rest/api/api.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "doors/rest/bodies/job_body.h"
#include "doors/rest/bodies/json_body.h"
#include "doors/rest/bodies/openapi.h"
#include "hub/access/token.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"
#include "testing/rest.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;

std::string bearer(std::string_view token) {
  return fmt::format("authorization: Bearer {}\r\n", token);
}

class RestApi : public testing::Test {
 protected:
  HttpAnswer ask(std::string_view method, const std::string& path, std::string_view body = "",
                 const std::string& headers = "") {
    return HttpClient(rest.port())
        .ask(method, "/api/v1" + path, bearer(TestHub::kToken) + headers, body);
  }
  json get(const std::string& path) { return json::parse(ask("GET", path).body); }
  HttpAnswer post(std::string_view body, const std::string& headers = "") {
    return ask("POST", "/jobs", body, headers);
  }
  std::string submit(std::string_view body) { return json::parse(post(body).body)["job"]; }
  std::string detail(std::string_view body) {
    const HttpAnswer answer = post(body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return json::parse(answer.body)["detail"];
  }

  TestRest rest;
};

TEST_F(RestApi, AJobIsSubmittedAndSeen) {
  const HttpAnswer answer = post(R"({"argv":["echo","{}"],"values":["a",2],"name":"n"})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  const json submitted = json::parse(answer.body);
  EXPECT_EQ(submitted["tasks"], 2);
  const std::string id = submitted["job"];
  EXPECT_EQ(answer.header("location"), "/api/v1/jobs/" + id);
  const json seen = get("/jobs/" + id);
  EXPECT_EQ(seen["state"], "open");
  EXPECT_EQ(seen["owner"], "api");
  EXPECT_EQ(get("/jobs/" + id + "/tasks/1")["state"], "waiting");
  EXPECT_EQ(ask("GET", "/jobs/" + id + "/tasks/1/stdout").status, 404);
  EXPECT_EQ(ask("GET", "/jobs/" + id + "/tasks/2").status, 404);
  EXPECT_EQ(get("/jobs/" + id + "/results")["results"], json::array());
}

TEST_F(RestApi, AJobIsShownAsItWasDescribedAndMayBeSubmittedAgain) {
  const json body = json::parse(R"({"command":"echo {}","values":["a","b"],"requires":["gpu"],
      "retry_on":[75],"timeout":"5m","keep":"30d","owner":"ann","memory_max":1048576})");
  const json shown = get("/jobs/" + submit(body.dump()))["spec"];
  for (const auto& [name, value] : body.items()) EXPECT_EQ(shown[name], value);
  EXPECT_EQ(get("/jobs/" + submit(shown.dump()))["spec"], shown);
  EXPECT_EQ(get("/jobs/" + submit(R"({"line":"true","tags":["gpu"]})"))["spec"]["requires"],
            json::array({"gpu"}))
      << "by its old name";
}

TEST_F(RestApi, AJobMayShareIterations) {
  model::WorkerInfo worker;
  worker.set_id("w");
  worker.set_slots(6);
  worker.set_seen_ms(rest.clock().wall().time_since_epoch().count());
  const auto store = rest.store();
  ASSERT_TRUE(store->table().put(kWorkers, {"w", worker.SerializeAsString(), kAnyVersion}).ok());
  const std::string id = submit(R"({"argv":["pi"],"iterations":1e6,"span":"200ms","cpus":2})");
  const json seen = get("/jobs/" + id);
  EXPECT_EQ(seen["tasks"], 3) << "one for each slot";
  EXPECT_EQ(seen["iterations"]["total"], 1'000'000);
  EXPECT_EQ(seen["iterations"]["done"], 0);
  EXPECT_EQ(seen["iterations"]["partitions"].size(), 3);
  EXPECT_FALSE(seen.contains("finish_by_us"));
  const model::Spec spec = read_job(store->table(), id).value().record.spec();
  EXPECT_EQ(spec.iterations().span_ms(), 200U);
  EXPECT_EQ(spec.retries(), 3U);

  const json late = get("/jobs/" + submit(R"({"argv":["pi"],"iterations":9,"finish_by":"25m",
                                              "partitions":2,"partitions_max":7,"retries":0})"));
  EXPECT_EQ(late["tasks"], 7);
  EXPECT_EQ(late["iterations"]["partitions"].size(), 2);
  EXPECT_EQ(late["finish_by_us"], to_us(rest.clock().wall()) + int64_t{25} * 60'000'000);
  const json plain = get("/jobs/" + submit(R"({"argv":["a"],"values":[1,2],"finish_by":"1h"})"));
  EXPECT_TRUE(plain.contains("finish_by_us"));
  EXPECT_FALSE(plain.contains("iterations"));
}

TEST_F(RestApi, AJobWithIterationsMayBeSubmittedAgainLater) {
  const std::string key = "idempotency-key: mine\r\n";
  const std::string body = R"({"argv":["pi"],"iterations":9,"finish_by":"25m"})";
  EXPECT_EQ(post(body, key).status, 201);
  rest.clock().move(Millis(5000));
  const HttpAnswer again = post(body, key);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(json::parse(again.body)["tasks"], 100);
  EXPECT_EQ(post(R"({"argv":["pi"],"iterations":9,"finish_by":"26m"})", key).status, 409);
}

TEST_F(RestApi, SaysWhatIsWrongWithIterations) {
  const auto says = [this](const std::string& fields, std::string_view words) {
    const std::string said = detail(R"({"argv":["a"],)" + fields + "}");
    EXPECT_NE(said.find(words), std::string::npos) << fields << ": " << said;
  };
  for (const char* bad : {"0", "-1", "0.5", "\"1e6\"", "1e30", "true", "9007199254740992"}) {
    says(fmt::format(R"("iterations":{})", bad), "iterations must be a number of 1 on");
  }
  says(R"("iterations":1.5)", "iterations must be a number of 1 on");
  says(R"("iterations":9,"partitions":1001)", "partitions must be a number of 1 to 1000");
  says(R"("iterations":9,"partitions_max":0)", "partitions_max must be a number of 1 to 1000");
  says(R"("iterations":9,"partitions":5,"partitions_max":2)", "partitions");
  says(R"("iterations":9,"span":"long")", "span: the duration");
  says(R"("finish_by":"soon")", "finish_by: the deadline \"soon\" is not a time");
  says(R"("finish_by":"2001-01-01 00:00")", "finish_by: the deadline");
  says(R"("partitions":3)", "partitions is for jobs with iterations");
  says(R"("span":"1s")", "span is for jobs with iterations");
  says(R"("iterations":9,"array":{"last":3})", "array");
  says(R"("iterations":9,"delivery":"relaxed")", "delivery");
}

// A partition whose program asks over HTTP. It runs as far as the store knows.
class RestPartition : public RestApi {
 protected:
  std::string id = submit(R"({"argv":["pi"],"iterations":10,"partitions":2})");
  std::unique_ptr<RequestStore> store = rest.store();
  model::Page page;

  RestPartition() {
    claim(0, 1);
    claim(1, 1);
  }
  void claim(uint32_t partition, uint32_t attempt) {
    model::Claim& claim = *page.add_claims();
    claim.set_offset(partition);
    claim.set_attempt(attempt);
    claim.set_worker("w");
    put_page();
  }
  void put_page() {
    const Row row{page_key(id, 0), page.SerializeAsString(), kAnyVersion};
    EXPECT_TRUE(store->table().put(kPages, row).ok());
  }

  HttpAnswer say(const std::string& what, const std::string& body, int partition = 0) {
    return ask("POST", fmt::format("/jobs/{}/partitions/{}/{}", id, partition, what), body);
  }
  HttpAnswer next(uint64_t had, uint32_t attempt = 1, int partition = 0) {
    return say("next", fmt::format(R"({{"attempt":{},"had":{}}})", attempt, had), partition);
  }
  HttpAnswer leave(uint64_t done, uint32_t attempt = 1) {
    return say("leave", fmt::format(R"({{"attempt":{},"done":{}}})", attempt, done));
  }
  static std::string why(const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_EQ(answer.header("content-type"), "application/problem+json");
    return json::parse(answer.body).value("detail", "");
  }
  static bool ends(const HttpAnswer& answer) {
    return answer.status == 200 && json::parse(answer.body) == json{{"end", true}};
  }
};

TEST_F(RestPartition, IsGivenIterationsUntilNoneAreLeft) {
  uint64_t had = 0;
  std::set<uint64_t> done;
  while (true) {
    const HttpAnswer answer = next(had);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(next(had).body, answer.body) << "the answer was lost";
    const json turn = json::parse(answer.body);
    if (turn.contains("end")) break;
    EXPECT_EQ(turn.size(), 2U);
    const auto count = turn["count"].get<uint64_t>();
    for (uint64_t i = 0; i < count; ++i) done.insert(turn["first"].get<uint64_t>() + i);
    had += count;
    rest.clock().move(Millis(10));
  }
  EXPECT_EQ(had, 10U);
  EXPECT_EQ(done.size(), 10U);
  EXPECT_EQ(*done.rbegin(), 9U);
  EXPECT_TRUE(ends(next(had)));
  EXPECT_TRUE(ends(leave(had))) << "that is what it ended with";
  EXPECT_EQ(leave(3).status, 409);
}

TEST_F(RestPartition, WaitsForWhatOthersMayNotDo) {
  ASSERT_EQ(next(0, 1, 1).status, 200);  // It has one, and says nothing more.
  uint64_t had = 0;
  json turn;
  while (true) {
    rest.clock().pass(Millis(10));
    turn = json::parse(next(had).body);
    if (!turn.contains("count")) break;
    had += turn["count"].get<uint64_t>();
  }
  EXPECT_EQ(turn, (json{{"wait_ms", 100}}));
  rest.clock().pass(Millis(60'000));
  turn = json::parse(next(had).body);
  EXPECT_EQ(turn["count"], 1) << turn;
  EXPECT_EQ(had + 1, 10U);
  // The silent one is told so, and a later attempt of it takes its place.
  page = read_record<model::Page>(store->table(), kPages, page_key(id, 0)).value().record;
  EXPECT_NE(why(next(1, 1, 1)).find("silent for too long"), std::string::npos);
  claim(1, 2);
  EXPECT_NE(why(next(1, 1, 1)).find("attempt 2 does"), std::string::npos);
  EXPECT_EQ(next(0, 2, 1).status, 200);
}

TEST_F(RestPartition, LeavesWithWhatItHasDone) {
  next(0);
  rest.clock().move(Millis(10));
  const uint64_t given = 1 + json::parse(next(1).body)["count"].get<uint64_t>();
  ASSERT_GT(given, 1U);
  EXPECT_NE(why(leave(given + 1)).find(fmt::format("was given {} iterations", given)),
            std::string::npos);
  EXPECT_TRUE(ends(leave(1)));
  EXPECT_TRUE(ends(leave(1))) << "the answer was lost";
  EXPECT_NE(why(leave(2)).find("was given 1 iterations, not 2"), std::string::npos);
  EXPECT_TRUE(ends(next(given))) << "there is no more for it";
}

TEST_F(RestPartition, OfAWorkerThatLeavesIsToldToEnd) {
  next(0);
  next(0, 1, 1);
  model::WorkerInfo worker;
  worker.set_draining(true);
  const Row row{"w", worker.SerializeAsString(), kAnyVersion};
  ASSERT_TRUE(store->table().put(kWorkers, row).ok());
  EXPECT_EQ(json::parse(next(0).body)["count"], 1) << "it has that";
  EXPECT_TRUE(ends(next(1)));
  EXPECT_TRUE(ends(next(1)));
}

TEST_F(RestPartition, IsRefusedIfItIsNotTheOneThatRuns) {
  EXPECT_NE(why(next(0, 2)).find("does not run: attempt 1 does"), std::string::npos);
  EXPECT_NE(why(next(0, 4'000'000'000)).find("does not run"), std::string::npos);
  EXPECT_NE(why(leave(0, 2)).find("does not run"), std::string::npos);
  EXPECT_NE(why(leave(0)).find("cannot leave"), std::string::npos) << "it never asked";
  EXPECT_NE(why(next(5)).find("was given 0 iterations, not 5"), std::string::npos);
  next(0);
  EXPECT_NE(why(next(5)).find("was given 1 iterations, not 5"), std::string::npos);
  EXPECT_EQ(next(0, 1, 2).status, 404) << "there are two";
  EXPECT_EQ(ask("POST", "/jobs/nobody/partitions/0/next", R"({"attempt":1,"had":0})").status, 404);
  page.add_outcomes();
  put_page();
  EXPECT_NE(why(next(1)).find("there is a result"), std::string::npos);
  EXPECT_EQ(ask("POST", "/jobs/" + id + "/cancel").status, 200);
  EXPECT_NE(why(next(1)).find("is cancelled"), std::string::npos);
  id = submit(R"({"argv":["a"]})");
  EXPECT_NE(why(next(0)).find("has no iterations"), std::string::npos);
}

TEST_F(RestPartition, IsToldWhatIsWrongWithItsWords) {
  for (const char* body :
       {"{}", R"({"attempt":1})", R"({"had":0})", R"({"attempt":0,"had":0})",
        R"({"attempt":4294967296,"had":0})", R"({"attempt":1,"had":-1})",
        R"({"attempt":1,"had":"0"})", R"({"attempt":1,"had":0.5})",
        R"({"attempt":1,"had":4611686018427387905})", R"({"attempt":1,"had":0,"done":0})"}) {
    EXPECT_EQ(say("next", body).status, 400) << body;
  }
  EXPECT_EQ(say("leave", R"({"attempt":1,"had":0})").status, 400);
  EXPECT_EQ(ask("POST", "/jobs/" + id + "/partitions/x/next", "{}").status, 400);
  const auto scopes = hub::parse_scopes("submit").value();
  const std::string submitter = bearer(hub::make_token(TestHub::kToken, scopes, 0).value());
  for (const char* what : {"next", "leave"}) {
    const std::string path = fmt::format("/api/v1/jobs/{}/partitions/0/{}", id, what);
    EXPECT_EQ(HttpClient(rest.port()).ask("POST", path, submitter, "{}").status, 403);
  }
}

TEST_F(RestApi, TheSameKeyIsTheSameJob) {
  const std::string key = "idempotency-key: mine\r\n";
  const std::string big(5000, 'x');
  const std::string body = fmt::format(R"({{"argv":["cat"],"stdin":"{}"}})", big);
  const HttpAnswer first = post(body, key);
  const HttpAnswer second = post(body, key);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(json::parse(first.body)["job"], json::parse(second.body)["job"]);
  EXPECT_EQ(post(R"({"argv":["dog"]})", key).status, 409);
  EXPECT_EQ(post(R"({"argv":["dog"],"key":"other"})", key).status, 400);
  EXPECT_EQ(post(body, "idempotency-key: a b\r\n").status, 400);
}

TEST_F(RestApi, SaysWhatIsWrongWithAJob) {
  EXPECT_NE(detail(R"({"argv":["a"],"colour":1})").find("\"colour\""), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"priority":10})").find("priority must be"), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"cpus":-1})").find("cpus must be"), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"timeout":"5 apples"})").find("timeout"), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"array":{"last":1,"end":2}})").find("end"), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"array":{"last":9007199254740991}})").find("tasks"),
            std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"values":[1],"array":{"last":1}})").find("leave one out"),
            std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"line":"b"})").find("more than one"), std::string::npos);
  EXPECT_NE(detail("{}").find("no command"), std::string::npos);
  EXPECT_NE(detail("{\"argv\":\n[\"a\",}").find("line 2, column 6"), std::string::npos);
  EXPECT_NE(detail(R"({"argv":["a"],"argv":["b"]})").find("twice"), std::string::npos);
  EXPECT_NE(detail("[]").find("object"), std::string::npos);
  EXPECT_NE(detail(std::string(100, '[')).find("object"), std::string::npos);
  EXPECT_EQ(post(R"({"argv":["a"],"after":["nobody"]})").status, 404);
  EXPECT_EQ(post(R"({"argv":["a"]})", "content-type: text/plain\r\n").status, 415);
  EXPECT_EQ(post(std::string(kJsonMax + 1, ' ')).status, 413);
}

TEST_F(RestApi, JobsComeInPagesNewestFirst) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(submit(fmt::format(R"({{"argv":["a"],"name":"n{}"}})", i % 2)));
    rest.clock().move(Millis(10));
  }
  const json first = get("/jobs?max=2");
  EXPECT_EQ(first["jobs"][0]["job"], ids[4]);
  EXPECT_EQ(first["next"], ids[3]);
  const json last = get("/jobs?max=9&after=" + ids[1]);
  EXPECT_EQ(last["jobs"].size(), 1);
  EXPECT_FALSE(last.contains("next"));
  EXPECT_EQ(get("/jobs?name=n1")["jobs"].size(), 2);
  EXPECT_EQ(get("/jobs?state=done")["jobs"].size(), 0);
  EXPECT_EQ(ask("GET", "/jobs?state=asleep").status, 400);
}

TEST_F(RestApi, AJobIsCancelledOnceAndCannotBeRetried) {
  const std::string id = submit(R"({"line":"true"})");
  EXPECT_EQ(ask("POST", "/jobs/" + id + "/retry").status, 409);
  EXPECT_EQ(json::parse(ask("POST", "/jobs/" + id + "/cancel").body)["cancelled"], true);
  EXPECT_EQ(json::parse(ask("POST", "/jobs/" + id + "/cancel").body)["cancelled"], false);
  EXPECT_EQ(ask("POST", "/jobs/" + id + "/retry").status, 400);
  EXPECT_EQ(ask("POST", "/jobs/nobody/cancel").status, 404);
}

TEST_F(RestApi, WhoMayReadMayNotWrite) {
  const std::string id = submit(R"({"line":"true"})");
  const auto scopes = hub::parse_scopes("read").value();
  const std::string reader = bearer(hub::make_token(TestHub::kToken, scopes, 0).value());
  HttpClient client(rest.port());
  EXPECT_EQ(client.ask("GET", "/api/v1/jobs/" + id, reader).status, 200);
  EXPECT_EQ(client.ask("POST", "/api/v1/jobs", reader, "{}").status, 403);
  EXPECT_EQ(client.ask("POST", "/api/v1/jobs/" + id + "/cancel", reader).status, 403);
  EXPECT_EQ(client.ask("POST", "/api/v1/jobs/nobody/retry", reader).status, 403);
  EXPECT_EQ(client.ask("PUT", "/api/v1/blobs/b", reader, "x").status, 403);
  EXPECT_EQ(client.ask("DELETE", "/api/v1/blobs/b", reader).status, 403);
}

TEST_F(RestApi, BlobsComeAndGo) {
  const std::string bytes(3 << 20, 'b');
  EXPECT_EQ(ask("PUT", "/blobs/a/b", bytes).status, 201);
  EXPECT_EQ(ask("PUT", "/blobs/a/b", bytes).status, 200);
  EXPECT_EQ(ask("PUT", "/blobs/a/b", "other").status, 409);
  EXPECT_EQ(ask("PUT", "/blobs/a/bc", "other").status, 201);
  EXPECT_EQ(ask("PUT", "/blobs/jobs/j/000000000/1/out", "x").status, 403);
  EXPECT_EQ(ask("GET", "/blobs/a/b").body, bytes);
  EXPECT_EQ(ask("GET", "/blobs/a%2Fb").body, bytes);
  EXPECT_EQ(ask("GET", "/blobs/a%20b").status, 400);
  EXPECT_EQ(ask("GET", "/blobs/a/").status, 404);
  const json first = get("/blobs?prefix=a&max=1");
  EXPECT_EQ(first["blobs"][0]["size"], 3 << 20);
  EXPECT_EQ(get("/blobs?prefix=a&after=" + first["next"].get<std::string>())["blobs"].size(), 1);
  EXPECT_EQ(ask("DELETE", "/blobs/a/b").status, 204);
  EXPECT_EQ(ask("GET", "/blobs/a/b").status, 404);
}

TEST_F(RestApi, EventsEndWithTheJobAndAreNotRepeated) {
  const std::string id = submit(R"({"line":"true"})");
  HttpClient client(rest.port());
  client.send(fmt::format("GET /api/v1/jobs/{}/events HTTP/1.1\r\nhost: x\r\n{}\r\n", id,
                          bearer(TestHub::kToken)));
  client.until("event: progress");
  ask("POST", "/jobs/" + id + "/cancel");
  const std::string events = client.receive().body;
  EXPECT_NE(events.find("event: end\nid: cancelled-0-0\n"), std::string::npos) << events;
  EXPECT_EQ(ask("GET", "/jobs/" + id + "/events", "", "last-event-id: cancelled-0-0\r\n").status,
            204);
  EXPECT_EQ(ask("GET", "/jobs/nobody/events").status, 404);
}

TEST_F(RestApi, TheStreamOfAllTellsOfJobsThatComeAndOfThoseThatEndedMeanwhile) {
  const std::string old = submit(R"({"line":"true","name":"old"})");
  ask("POST", "/jobs/" + old + "/cancel");
  const auto before = rest.clock().wall().time_since_epoch().count() - 1;
  HttpClient client(rest.port());
  client.send(fmt::format(
      "GET /api/v1/events?seconds=60 HTTP/1.1\r\nhost: x\r\nlast-event-id: {}\r\n{}\r\n", before,
      bearer(TestHub::kToken)));
  client.until("event: end");
  const std::string id = submit(R"({"line":"true","name":"new"})");
  client.until("\"name\":\"new\"");
  rest.service().stop();
  const std::string events = client.receive().body;
  EXPECT_NE(events.find("\"job\":\"" + old), std::string::npos) << events;
  EXPECT_TRUE(events.ends_with("0\r\n\r\n"));
}

TEST_F(RestApi, APageOfResultsIsAsLargeAsWhatIsInIt) {
  const std::string id = submit(R"({"argv":["a"],"array":{"last":199}})");
  const auto store = rest.store();
  model::Page page;
  for (uint32_t offset = 0; offset < 200; ++offset) {
    model::Outcome& outcome = *page.add_outcomes();
    outcome.set_offset(offset);
    outcome.set_state(model::STATE_OK);
    outcome.set_attempt(1);
    outcome.mutable_out()->set_where(model::Output::ROW);
    outcome.mutable_out()->set_size(60'000);
    const std::string key = output_key(id, offset, 1, "out");
    ASSERT_TRUE(store->table().put(kOutputs, {key, std::string(60'000, '\1'), kAnyVersion}).ok());
  }
  const auto put_page = [&] {
    const Row row{page_key(id, 0), page.SerializeAsString(), kAnyVersion};
    ASSERT_TRUE(store->table().put(kPages, row).ok());
  };
  put_page();
  // In JSON a byte 1 takes six.
  const HttpAnswer honest = ask("GET", "/jobs/" + id + "/results?max=1000");
  EXPECT_EQ(honest.status, 200);
  EXPECT_LT(honest.body.size(), size_t{5} << 20U);
  const json some = json::parse(honest.body);
  EXPECT_EQ(some["next"], some["results"].size() - 1);
  // One that says less of its outputs than they have, or has one task many times, is damaged.
  for (model::Outcome& outcome : *page.mutable_outcomes()) outcome.mutable_out()->set_size(0);
  put_page();
  EXPECT_EQ(ask("GET", "/jobs/" + id + "/results?max=1000").status, 500);
  for (model::Outcome& outcome : *page.mutable_outcomes()) {
    outcome.mutable_out()->set_size(60'000);
    outcome.set_offset(0);
  }
  put_page();
  EXPECT_EQ(ask("GET", "/jobs/" + id + "/results?max=1000").status, 500);
}

TEST_F(RestApi, StreamsAreFewAndOfOneTokenHalfOfThem) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  const auto stream = [&](const std::string& token) {
    clients.push_back(std::make_unique<HttpClient>(rest.port()));
    clients.back()->send("GET /api/v1/events HTTP/1.1\r\nhost: x\r\n" + bearer(token) + "\r\n");
    clients.back()->until("retry");
  };
  const auto status = [&](const std::string& token) {
    return HttpClient(rest.port()).get("/api/v1/events", bearer(token)).status;
  };
  const hub::Scopes read = hub::parse_scopes("read").value();
  const std::string ann = hub::make_token(TestHub::kToken, read, 0, "ann").value();
  const int64_t later = rest.clock().wall().time_since_epoch().count() / 1000 + 3600;
  const std::string also_ann = hub::make_token(TestHub::kToken, read, later, "ann").value();
  for (int i = 0; i < 64; ++i) stream(i % 2 == 0 ? ann : also_ann);
  EXPECT_EQ(status(ann), 429);
  EXPECT_EQ(status(also_ann), 429);
  for (int i = 0; i < 64; ++i) stream(std::string(TestHub::kToken));
  EXPECT_EQ(status(hub::make_token(TestHub::kToken, read, 0, "bob").value()), 429)
      << "all are taken";
}

TEST_F(RestApi, TellsWhichMethodsAPathHas) {
  const HttpAnswer answer = ask("PATCH", "/jobs");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("allow"), "POST, GET");
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
}

TEST_F(RestApi, TheDocumentListsEveryRoute) {
  const json document = get("/openapi.json");
  size_t listed = 0;
  for (const json& path : document["paths"]) listed += path.size();
  const Family family = api_family();
  EXPECT_EQ(listed, family.routes.size());
  for (const Route& route : family.routes) {
    std::string path(route.pattern);
    std::erase(path, '*');
    EXPECT_TRUE(document["paths"].contains(path)) << path;
    EXPECT_FALSE(route.summary.empty()) << path;
    EXPECT_FALSE(route.scope.empty()) << path;
  }
  const json body = document["paths"]["/jobs"]["post"]["requestBody"]["content"];
  EXPECT_EQ(body["application/json"]["schema"]["properties"]["priority"]["maximum"], 9);
}

}  // namespace
}  // namespace dunlin::rest
