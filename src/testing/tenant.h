// A tenant of the REST service for tests, and what its infrastructures and partitions say. One
// thread.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "tascaas/files.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"
#include "testing/rest.h"

namespace dunlin {

using nlohmann::json;

class TestTenant {
 public:
  TestTenant(TestRest& rest, std::string name, tascaas::TenantSettings settings = {})
      : rest_(rest), name_(std::move(name)), store_(rest.store()) {
    secret = tascaas::add_tenant(*store_, name_, settings, rest.clock().wall()).value();
    put("input/data.bin", "data");
  }

  void put(const std::string& key, const std::string& text) {
    CHECK(tascaas::put_text(*store_, name_, key, text, rest_.clock().wall()).ok());
  }
  // Returns its id. It is seen by the next infrastructure that says something.
  void drop(const std::string& name, uint64_t iterations, int64_t time, int partitions = 1) {
    put("input/" + name, json{{"iterations", iterations},
                              {"time", time},
                              {"inputFile", "data.bin"},
                              {"initWorkers", partitions}}
                             .dump());
  }
  std::string enroll(uint64_t slots = 4, uint64_t most = 8, const TestRest* at = nullptr) const {
    const HttpAnswer answer =
        (at ? *at : rest_)
            .get(fmt::format("/test/node/register?secret={}&slots={}&maxSlots={}", secret, slots,
                             most));
    CHECK(answer.status == 200);
    return json::parse(answer.body).at("id");
  }
  // Partitions that were handed out.
  json fetch(const std::string& id, int slots, const TestRest* from = nullptr) const {
    const HttpAnswer answer =
        (from ? *from : rest_).get(fmt::format("/test/node/{}/jobs?slots={}", id, slots));
    CHECK(answer.status == 200);
    return json::parse(answer.body).value("configs", json::array());
  }
  // What the results of a partition are uploaded with. Returns the status of the first step that
  // did not go well, or of the last one.
  int upload(const std::string& infra, const std::string& job, size_t partition,
             const std::string& text = "results") const {
    const HttpAnswer url =
        rest_.get(fmt::format("/results/upload/{}/{}?wID={}", job, partition, infra));
    if (url.status != 200) return url.status;
    const std::string path = url.body.substr(url.body.find("/signed/"));
    return HttpClient(rest_.port()).ask("PUT", path, "", text).status;
  }
  tascaas::Job job(const std::string& id) const {
    return tascaas::read_tascaas_job(store_->table(), id).value().record;
  }
  bool has(const std::string& key) const {
    return tascaas::find_file(store_->table(), name_, key).ok();
  }
  // A job that is as a test wants it.
  void keep(const std::string& id, tascaas::Job job) const {
    job.set_tenant(name_);
    const std::string key = tascaas::job_row(id);
    CHECK(store_->table().put(tascaas::kTable, {key, job.SerializeAsString(), kAnyVersion}).ok());
  }
  RequestStore& store() { return *store_; }

  std::string secret;

 private:
  TestRest& rest_;
  const std::string name_;
  std::unique_ptr<RequestStore> store_;
};

}  // namespace dunlin
