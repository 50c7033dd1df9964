// What a tenant does with its own secret, and how files are sent in parts.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "doors/rest/bodies/send_file.h"
#include "testing/tenant.h"

namespace dunlin::rest {
namespace {

class TenantApi : public testing::Test {
 protected:
  HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                 const std::string& more = "") {
    const std::string headers = fmt::format("authorization: Bearer {}\r\n{}", tenant.secret, more);
    return HttpClient(rest.port()).ask(method, "/tenant/v1" + path, headers, body);
  }
  json read(const std::string& path) {
    const HttpAnswer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    return json::parse(answer.body);
  }

  TestRest rest;
  TestTenant tenant{rest, "physics"};
};

const std::string kConfig = R"({"iterations":1000,"time":600,"inputFile":"data.bin"})";

TEST_F(TenantApi, WantsTheSecret) {
  for (const char* path : {"/jobs", "/jobs/x", "/jobs/x/partitions", "/files", "/files/input/a"}) {
    EXPECT_EQ(rest.get(std::string("/tenant/v1") + path).status, 401) << path;
    const HttpAnswer wrong =
        rest.get(std::string("/tenant/v1") + path, "authorization: Bearer no\r\n");
    EXPECT_EQ(wrong.status, 401) << path;
    EXPECT_EQ(json::parse(wrong.body).at("detail"), "no tenant has this secret");
  }
  EXPECT_EQ(HttpClient(rest.port()).ask("PUT", "/tenant/v1/files/input/a", "", "x").status, 401);
}

TEST_F(TenantApi, FilesArePutAndRead) {
  EXPECT_EQ(ask("PUT", "/files/input/a.in", "some bytes").status, 201);
  EXPECT_EQ(ask("PUT", "/files/input/a.in", "other bytes").status, 200);
  EXPECT_EQ(ask("GET", "/files/input/a.in").body, "other bytes");
  EXPECT_EQ(ask("PUT", "/files/input/two%20words", "2").status, 201);
  EXPECT_EQ(ask("GET", "/files/input/two%20words").body, "2");
  EXPECT_EQ(read("/files?prefix=input/t").at("files").at(0).at("key"), "input/two%20words");
  EXPECT_EQ(ask("PUT", "/files/output/results/x", "mine").status, 403);
  EXPECT_EQ(ask("PUT", "/files/input/refused/x", "mine").status, 403);
  EXPECT_EQ(ask("GET", "/files/input/nothing").status, 404);
  EXPECT_EQ(ask("PUT", "/files/input/" + std::string(500, 'x'), "").status, 400);
  EXPECT_EQ(ask("PUT", "/files/input/two%2520words", "3").status, 400) << "it is two words";
  EXPECT_EQ(ask("PUT", "/files/input/%2e%2e", "").status, 400);
  EXPECT_EQ(ask("PUT", "/files/input/a/%2e%2e/b", "").status, 400);
  const json first = read("/files?max=1");
  EXPECT_EQ(first.at("files").size(), 1U);
  const json second = read("/files?max=9&after=" + first.at("next").get<std::string>());
  EXPECT_EQ(second.at("files").size(), 2U);
  EXPECT_FALSE(second.contains("next"));
}

TEST_F(TenantApi, JobFilesBecomeJobs) {
  const HttpAnswer made = ask("PUT", "/files/input/a.config", kConfig);
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string job = json::parse(made.body).at("job");
  const HttpAnswer same = ask("PUT", "/files/input/a.config", kConfig);
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(json::parse(same.body).at("job"), job);
  EXPECT_TRUE(json::parse(same.body).at("existed"));
  EXPECT_EQ(ask("PUT", "/files/input/a.config?again=true", kConfig).status, 201);
  const HttpAnswer wrong = ask("PUT", "/files/input/b.config", "nonsense");
  EXPECT_EQ(wrong.status, 400);
  const std::string why = json::parse(wrong.body).at("detail");
  EXPECT_TRUE(why.starts_with("b.config was refused: it is not JSON: parse error")) << why;
  EXPECT_EQ(ask("PUT", "/files/input/c.config", std::string(70'000, ' ')).status, 413);
  EXPECT_EQ(read("/jobs").at("jobs").size(), 3U);
  EXPECT_EQ(read("/jobs/" + job).at("state"), "waiting");
  // A refused file is no job that anybody could ask for.
  const json listed = read("/jobs");
  for (const json& one : listed.at("jobs")) {
    EXPECT_EQ(one.contains("job"), one.at("state") != "refused") << one;
  }
  EXPECT_EQ(ask("GET", "/jobs/nothing").status, 404);
}

TEST_F(TenantApi, PartitionsHaveARowEach) {
  tenant.drop("a.config", 1000, 600, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  rest.get("/lb/" + job + "/start?worker=0&dt=0");
  rest.get("/lb/" + job + "/report?worker=0&nIter=100&dt=20");
  const json rows = read("/jobs/" + job + "/partitions").at("partitions");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("state"), "running");
  EXPECT_EQ(rows[0].at("assigned"), 500);
  EXPECT_EQ(rows[0].at("done"), 100);
  EXPECT_EQ(rows[0].at("speed"), 5);
  EXPECT_EQ(rows[0].at("infrastructure"), infra);
  EXPECT_EQ(rows[1].at("state"), "waiting");
}

TEST_F(TenantApi, AnotherTenantSeesNothing) {
  const std::string job = json::parse(ask("PUT", "/files/input/a.config", kConfig).body).at("job");
  TestTenant other(rest, "biology");
  const std::string theirs = fmt::format("authorization: Bearer {}\r\n", other.secret);
  EXPECT_EQ(rest.get("/tenant/v1/jobs/" + job, theirs).status, 404);
  EXPECT_EQ(rest.get("/tenant/v1/jobs/" + job + "/partitions", theirs).status, 404);
  EXPECT_EQ(rest.get("/tenant/v1/files/input/a.config", theirs).status, 404);
  EXPECT_EQ(json::parse(rest.get("/tenant/v1/jobs", theirs).body).at("jobs").size(), 0U);
}

TEST_F(TenantApi, APartOfAFileIsSent) {
  tenant.put("input/ten", "0123456789");
  const auto part = [&](const std::string& range) {
    const HttpAnswer answer = ask("GET", "/files/input/ten", "", "range: " + range + "\r\n");
    return fmt::format("{} {} {}", answer.status, answer.header("content-range"), answer.body);
  };
  EXPECT_EQ(part("bytes=3-5"), "206 bytes 3-5/10 345");
  EXPECT_EQ(part("bytes=7-"), "206 bytes 7-9/10 789");
  EXPECT_EQ(part("bytes=8-99"), "206 bytes 8-9/10 89");
  EXPECT_EQ(part("bytes=-2"), "206 bytes 8-9/10 89");
  for (const std::string none : {"bytes=10-", "bytes=-0"}) {
    const HttpAnswer answer = ask("GET", "/files/input/ten", "", "range: " + none + "\r\n");
    EXPECT_EQ(answer.status, 416);
    EXPECT_EQ(answer.header("content-range"), "bytes */10");
    EXPECT_EQ(answer.header("content-type"), "application/problem+json");
    EXPECT_EQ(json::parse(answer.body).at("detail"), "the file has 10 bytes");
  }
  EXPECT_EQ(part("bytes=0-1,3-4"), "200  0123456789") << "several parts at once are not sent";
  EXPECT_EQ(part("lines=1-2"), "200  0123456789");
  const std::string tag(ask("GET", "/files/input/ten").header("etag"));
  EXPECT_EQ(part("bytes=9-\r\nif-range: " + tag), "206 bytes 9-9/10 9");
  tenant.put("input/ten", "9876543210");
  EXPECT_EQ(part("bytes=9-\r\nif-range: " + tag), "200  9876543210");
}

TEST(ByteRange, IsReadOrNotThere) {
  for (const char* wrong :
       {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=1", "bytes=-1-",
        "bytes=1-2-3", "bytes= 1-2", "bytes=+1-2", "bytes=99999999999999999999-"}) {
    EXPECT_FALSE(read_range(wrong, 10)) << wrong;
  }
  EXPECT_EQ(read_range("bytes=0-0", 0)->last, 0U);
  EXPECT_EQ(read_range("bytes=0-18446744073709551615", 10)->last, 10U);
  EXPECT_EQ(read_range("bytes=-18446744073709551615", 10)->first, 0U);
}

TEST_F(TenantApi, EachFamilyHasItsDocument) {
  const json own = read("/openapi.json");
  EXPECT_TRUE(own.at("paths").contains("/jobs/{job}/partitions"));
  EXPECT_EQ(own.at("servers").at(0).at("url"), "/tenant/v1");
  const json tascaas = json::parse(rest.get("/any/openapi.json").body);
  for (const char* path : {"/node/register", "/node/{id}/update", "/node/{id}/jobs",
                           "/node/{id}/disconnect", "/lb/{job}/start", "/lb/{job}/report",
                           "/lb/{job}/finish", "/results/upload/{job}/{worker}"}) {
    EXPECT_TRUE(tascaas.at("paths").contains(path)) << path;
  }
}

// HTTP/1.0 knows no Host.
TEST_F(TenantApi, UrlsHaveAPortWithoutAHost) {
  const std::string infra = tenant.enroll();
  HttpClient client(rest.port());
  client.send("GET /results/upload/j/0?wID=" + infra + " HTTP/1.0\r\n\r\n");
  const std::string url = client.receive().body;
  EXPECT_TRUE(url.starts_with(fmt::format("http://127.0.0.1:{}/signed/", rest.port()))) << url;
}

TEST_F(TenantApi, ATargetMayNameItsHost) {
  const std::string infra = tenant.enroll();
  HttpClient client(rest.port());
  client.send("GET HTTP://lab:81/x/results/upload/j/0?wID=" + infra +
              " HTTP/1.1\r\nhost: other\r\n\r\n");
  const std::string url = client.receive().body;
  EXPECT_TRUE(url.starts_with("http://lab:81/x/signed/")) << url;
}

TEST_F(TenantApi, AnUploadThatIsCutShortIsRefused) {
  HttpClient client(rest.port());
  client.send(
      fmt::format("PUT /tenant/v1/files/input/cut HTTP/1.1\r\nhost: x\r\n"
                  "authorization: Bearer {}\r\ncontent-length: 100\r\n\r\nsome",
                  tenant.secret));
  client.finish();
  const HttpAnswer answer = client.receive();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_FALSE(tenant.has("input/cut"));
}

}  // namespace
}  // namespace dunlin::rest
