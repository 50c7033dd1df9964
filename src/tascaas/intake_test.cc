#include "tascaas/intake.h"

#include <gtest/gtest.h>

#include "base/env_posix.h"
#include "store/memory.h"
#include "tascaas/files.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/overview.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

const WallTime kNow{std::chrono::seconds(1'700'000'000)};

class Intakes : public testing::Test {
 protected:
  Intakes() : store(memory_store(posix_clock())) {
    TenantSettings settings;
    settings.max_partitions = 4;
    EXPECT_TRUE(add_tenant(*store, "physics", settings, kNow).ok());
    tenant = read_tenant(store->table(), "physics").value();
    put("input/water.in", "water");
  }

  void put(const std::string& key, const std::string& text) {
    ASSERT_TRUE(put_text(*store, "physics", key, text, kNow).ok());
  }
  std::vector<Taken> take() { return take_in(*store, tenant, kNow).value(); }
  std::string text_of(const std::string& key) {
    const auto found = find_file(store->table(), "physics", key);
    const auto text = found.ok() ? read_file(*store, found.value().file, 100) : found.error();
    return text.ok() ? text.value() : text.error().what;
  }
  size_t blobs() { return store->blobs().list("", "", 100).value().size(); }
  uint64_t queued() { return store->queue().depth(queue_of("physics")).value().ready; }

  std::unique_ptr<RequestStore> store;
  Tenant tenant;
};

TEST(JobFile, IsReadWithItsNumbers) {
  const JobFile file =
      parse_job_file(R"({"iterations":1000000,"time":200,"inputFile":"a","initWorkers":3})")
          .value();
  EXPECT_EQ(file.iterations, 1'000'000U);
  EXPECT_EQ(file.time, Millis(200'000));
  EXPECT_EQ(file.input_file, "a");
  EXPECT_EQ(file.partitions, 3U);
  EXPECT_EQ(parse_job_file(R"({"iterations":1,"time":-3,"inputFile":"a"})").value().time,
            Millis(0));
}

TEST(JobFile, TakesNumbersInStrings) {
  const JobFile file =
      parse_job_file(
          R"({"iterations":"4611686018427387904","time":"2e2","inputFile":"a b","initWorkers":"3"})")
          .value();
  EXPECT_EQ(file.iterations, uint64_t{1} << 62U);
  EXPECT_EQ(file.time, Millis(200'000));
  EXPECT_EQ(file.partitions, 3U);
  EXPECT_EQ(file.input_file, "a%20b");
}

TEST(JobFile, SaysWhatIsWrong) {
  for (const char* text : {"",
                           "[]",
                           "{",
                           "7",
                           R"({"time":1,"inputFile":"a"})",
                           R"({"iterations":1,"inputFile":"a"})",
                           R"({"iterations":1,"time":1})",
                           R"({"iterations":0,"time":1,"inputFile":"a"})",
                           R"({"iterations":-5,"time":1,"inputFile":"a"})",
                           R"({"iterations":1.5,"time":1,"inputFile":"a"})",
                           R"({"iterations":"9x","time":1,"inputFile":"a"})",
                           R"({"iterations":"[9]","time":1,"inputFile":"a"})",
                           R"({"iterations":"-9","time":1,"inputFile":"a"})",
                           R"({"iterations":"1.5","time":1,"inputFile":"a"})",
                           R"({"iterations":"","time":1,"inputFile":"a"})",
                           R"({"iterations":1e30,"time":1,"inputFile":"a"})",
                           R"({"iterations":1,"time":1e300,"inputFile":"a"})",
                           R"({"iterations":1,"time":"soon","inputFile":"a"})",
                           R"({"iterations":1,"time":true,"inputFile":"a"})",
                           R"({"iterations":1,"time":1,"inputFile":""})",
                           R"({"iterations":1,"time":1,"inputFile":7})",
                           R"({"iterations":1,"time":1,"inputFile":"/a"})",
                           R"({"iterations":1,"time":1,"inputFile":"a","initWorkers":0})",
                           R"({"iterations":1,"time":1,"inputFile":"a","initWorkers":-1})"}) {
    const auto file = parse_job_file(text);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.error().code, Code::invalid);
  }
}

TEST_F(Intakes, AFileBecomesAJobOnce) {
  put("input/pi.config", R"({"iterations":10,"time":600,"inputFile":"water.in","initWorkers":3})");
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].refused, "");
  EXPECT_TRUE(taken[0].job.ends_with("_pi.config"));
  EXPECT_EQ(taken[0].job.find('_'), 36U);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(queued(), 3U);
  const Job job = read_tascaas_job(store->table(), taken[0].job).value().record;
  EXPECT_EQ(job.report_ms(), 30'000);
  EXPECT_EQ(job.partitions(0).iterations(), 4U);
  EXPECT_EQ(job.partitions(2).iterations(), 3U);
  // The same again is the same job.
  put("input/pi.config", R"({"iterations":10,"time":600,"inputFile":"water.in","initWorkers":3})");
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(queued(), 3U);
  put("input/pi.config", R"({"iterations":11,"time":600,"inputFile":"water.in"})");
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(queued(), 4U);
}

TEST_F(Intakes, AJobHasNoMorePartitionsThanItMay) {
  put("input/pi.config", R"({"iterations":10,"time":600,"inputFile":"water.in","initWorkers":99})");
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(queued(), 4U);
}

TEST_F(Intakes, AFileWithErrorsIsMovedAside) {
  put("input/a.config", "nonsense");
  put("input/b.config", R"({"iterations":10,"time":600,"inputFile":"missing"})");
  put("input/deeper/c.config", "nobody looks at it");
  const auto taken = take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_NE(taken[0].refused, "");
  EXPECT_NE(taken[1].refused.find("missing"), std::string::npos);
  EXPECT_FALSE(find_file(store->table(), "physics", "input/a.config").ok());
  EXPECT_TRUE(find_file(store->table(), "physics", "input/refused/a.config").ok());
  const auto jobs = list_jobs(store->table(), tenant, kNow).value();
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].state, "refused");
  EXPECT_EQ(queued(), 0U);
}

// A late copy of the upload brings back the row of a file that was moved aside; the next upload
// replaces it, and erases the bytes that it names.
TEST_F(Intakes, ARefusedFileKeepsItsBytesWhateverComesLate) {
  put("input/a.config", "nonsense");
  const File late = find_file(store->table(), "physics", "input/a.config").value().file;
  EXPECT_EQ(take().size(), 1U);
  const std::string row = file_row("physics", "input/a.config");
  ASSERT_TRUE(store->table().put(kTable, {row, late.SerializeAsString(), 0}).ok());
  put("input/a.config", "other nonsense");
  EXPECT_EQ(text_of("input/refused/a.config"), "nonsense");
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(text_of("input/refused/a.config"), "other nonsense");
}

TEST_F(Intakes, AFileWhoseBytesAreGoneIsForgotten) {
  put("input/a.config", "nonsense");
  const File late = find_file(store->table(), "physics", "input/a.config").value().file;
  EXPECT_EQ(take().size(), 1U);
  const std::string row = file_row("physics", "input/a.config");
  ASSERT_TRUE(store->table().put(kTable, {row, late.SerializeAsString(), 0}).ok());
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(find_file(store->table(), "physics", "input/a.config").ok());
}

TEST_F(Intakes, AFileThatIsRefusedAgainLeavesNoBytesBehind) {
  for (const char* text : {"nonsense", "nonsense", "more of it"}) {
    put("input/a.config", text);
    EXPECT_EQ(take().size(), 1U);
    EXPECT_EQ(text_of("input/refused/a.config"), text);
    EXPECT_EQ(blobs(), 2U) << "that of the data, and this one";
  }
}

// Who knows the id of a job may speak for its partitions: nobody can compute it from the file.
TEST_F(Intakes, IdsOfJobsCannotBeComputed) {
  const std::string text = R"({"iterations":10,"time":600,"inputFile":"water.in"})";
  put("input/pi.config", text);
  const std::string id = take().at(0).job;
  EXPECT_NE(id, digest_of("physics", "pi.config", text, ""));
  ASSERT_TRUE(remove_tenant(*store, "physics").ok());
  ASSERT_TRUE(add_tenant(*store, "physics", {}, kNow).ok());
  put("input/water.in", "water");
  put("input/pi.config", text);
  EXPECT_NE(take().at(0).job, id);
}

TEST_F(Intakes, WhoPutsAJobFileHearsWhatBecameOfIt) {
  const std::string text = R"({"iterations":10,"time":600,"inputFile":"water.in"})";
  const std::string key = "input/pi.config";
  const Taken first = put_job_file(*store, tenant, key, text, false, kNow).value();
  EXPECT_FALSE(first.existed);
  const Taken second = put_job_file(*store, tenant, key, text, false, kNow).value();
  EXPECT_TRUE(second.existed);
  EXPECT_EQ(second.job, first.job);
  const Taken again = put_job_file(*store, tenant, key, text, true, kNow).value();
  EXPECT_FALSE(again.existed);
  EXPECT_NE(again.job, first.job);
  EXPECT_EQ(queued(), 2U);
  const Taken wrong = put_job_file(*store, tenant, key, "nonsense", false, kNow).value();
  EXPECT_TRUE(wrong.refused.starts_with("it is not JSON: parse error")) << wrong.refused;
  EXPECT_EQ(list_jobs(store->table(), tenant, kNow).value().size(), 3U);
}

TEST_F(Intakes, AJobFileMayHaveAnyName) {
  const std::string key = "input/" + file_key_of("m\xc3\xbc on: run.config");
  put(key, R"({"iterations":10,"time":600,"inputFile":"water.in"})");
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].refused, "");
  EXPECT_EQ(taken[0].job.substr(36), "_m_C3_BC_20on__20run.config");
}

// As a store that is not transactional may leave it: the id is chosen, the rest is not there.
TEST_F(Intakes, WhatWasCutOffIsCompleted) {
  const std::string text = R"({"iterations":10,"time":600,"inputFile":"water.in"})";
  put("input/pi.config", text);
  Intake intake;
  intake.set_file("pi.config");
  intake.set_job("some-id");
  const std::string row = intake_row("physics", digest_of("physics", "pi.config", text, ""));
  ASSERT_TRUE(store->table().put(kTable, {row, intake.SerializeAsString(), 0}).ok());
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(queued(), 1U);
  const auto jobs = list_jobs(store->table(), tenant, kNow).value();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, "some-id");
  EXPECT_TRUE(find_file(store->table(), "physics", "input/pi.config").value().file.taken());
}

TEST_F(Intakes, ARemovedTenantLeavesNothing) {
  put("input/pi.config", R"({"iterations":10,"time":600,"inputFile":"water.in"})");
  EXPECT_EQ(take().size(), 1U);
  ASSERT_TRUE(remove_tenant(*store, "physics").ok());
  EXPECT_TRUE(store->table().scan(kTable, "", "", 10).value().empty());
  EXPECT_TRUE(store->blobs().list("", "", 10).value().empty());
  EXPECT_EQ(queued(), 0U);
  EXPECT_EQ(remove_tenant(*store, "physics").error().code, Code::not_found);
}

TEST_F(Intakes, TenantsAreKnownByTheirSecrets) {
  const std::string secret = add_tenant(*store, "biology", {}, kNow).value();
  EXPECT_EQ(find_by_secret(store->table(), secret).value().name(), "biology");
  EXPECT_EQ(find_by_secret(store->table(), "guess").error().code, Code::not_found);
  EXPECT_EQ(add_tenant(*store, "biology", {}, kNow).error().code, Code::conflict);
  EXPECT_EQ(add_tenant(*store, "no spaces", {}, kNow).error().code, Code::invalid);
  EXPECT_EQ(add_tenant(*store, "x", {.max_partitions = 0}, kNow).error().code, Code::invalid);
  EXPECT_EQ(list_tenants(store->table()).value().size(), 2U);
}

}  // namespace
}  // namespace dunlin::tascaas
