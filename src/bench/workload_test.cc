#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/jobs/inputs.h"

namespace dunlin::bench {
namespace {

TEST(Workload, LengthsAreLogUniformAndTheSameForASeed) {
  Workload work{.tasks = 10'000, .sleep_min_ms = 1, .sleep_max_ms = 1000, .seed = 7};
  const auto lengths = lengths_ms(work);
  EXPECT_EQ(lengths, lengths_ms(work));
  EXPECT_GE(*std::ranges::min_element(lengths), 1);
  EXPECT_LE(*std::ranges::max_element(lengths), 1000);
  // A third of them in each power of ten.
  const auto shorter = std::ranges::count_if(lengths, [](double ms) { return ms < 10; });
  EXPECT_NEAR(static_cast<double>(shorter) / 10'000, 1.0 / 3, 0.03);
  work.seed = 8;
  EXPECT_NE(lengths, lengths_ms(work));
}

TEST(Workload, EqualBoundsGiveEqualLengths) {
  const auto lengths = lengths_ms({.tasks = 3, .sleep_min_ms = 16, .sleep_max_ms = 16});
  EXPECT_EQ(lengths, (std::vector<double>{16, 16, 16}));
}

TEST(Workload, NoOpsWithoutAPayloadAreAPlainArray) {
  const WorkJob job = make_job({}, {}, "id", 0, 500).value();
  EXPECT_EQ(job.spec.tasks(), 500U);
  EXPECT_EQ(job.spec.inputs().sources_size(), 0);
  EXPECT_TRUE(validate_spec(job.spec).ok());
}

TEST(Workload, APayloadTravelsWithEachTask) {
  const WorkJob job = make_job({.payload = 100}, {}, "id", 0, 500).value();
  EXPECT_EQ(job.spec.inputs().sources(0).count(), 500U);
  ASSERT_EQ(job.blobs.size(), 1U);
  EXPECT_GE(job.blobs[0].size, 500U * 100);
  EXPECT_TRUE(validate_spec(job.spec).ok());
}

TEST(Workload, EachClientGetsItsOwnLengths) {
  const Workload work{.tasks = 4, .sleep_min_ms = 1, .sleep_max_ms = 1000};
  const std::vector<double> lengths = {1, 2.5, 3, 4};
  const WorkJob job = make_job(work, lengths, "id", 1, 2).value();
  EXPECT_EQ(read_values(job.spec.inputs().sources(0).inline_()).value(),
            (std::vector<std::string>{"2.5", "3"}));
}

TEST(Workload, UnknownDeliveryIsRefused) {
  EXPECT_EQ(parse_delivery("twice").error().code, Code::invalid);
}

}  // namespace
}  // namespace dunlin::bench
