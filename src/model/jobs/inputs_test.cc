#include "model/jobs/inputs.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

#include "model/keys.h"

namespace dunlin {
namespace {

using Values = std::vector<std::string>;

SourceWriter::Finished written(const Values& values) {
  SourceWriter writer;
  for (const std::string& value : values) EXPECT_TRUE(writer.add(value).ok());
  return std::move(writer).finish("in", false);
}

// As a worker reads one: the index, then the group.
std::string read_back(const SourceWriter::Finished& list, uint64_t number) {
  if (list.source.blob().empty()) return read_values(list.source.inline_()).value().at(number);
  const uint64_t group = number / kValuesPerIndex;
  const Slice index = index_slice(list.source, group);
  const Slice slice =
      group_slice(list.source, group, list.blob.substr(index.offset, index.size)).value();
  return read_values(list.blob.substr(slice.offset, slice.size))
      .value()
      .at(number % kValuesPerIndex);
}

TEST(Inputs, ASmallListStaysInTheJob) {
  const auto list = written({"a", "", "c d"});
  EXPECT_EQ(list.source.count(), 3U);
  EXPECT_TRUE(list.source.blob().empty());
  EXPECT_TRUE(list.blob.empty());
  EXPECT_EQ(read_values(list.source.inline_()).value(), (Values{"a", "", "c d"}));
}

TEST(Inputs, AnEmptyListHasNoValues) {
  const auto list = written({});
  EXPECT_EQ(list.source.count(), 0U);
  EXPECT_TRUE(read_values(list.source.inline_()).value().empty());
}

TEST(Inputs, EveryValueOfALargeListIsFoundThroughTheIndex) {
  const bool holds = rc::check("values are found through the index", [] {
    const auto count = *rc::gen::inRange<size_t>(1, 1500);
    const auto size = *rc::gen::inRange<size_t>(0, 40);
    Values values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(std::to_string(i) + std::string(size * (i % 3), 'x'));
    }
    const auto list = written(values);
    RC_ASSERT(list.source.count() == count);
    for (const size_t at : {size_t{0}, count / 3, count / 2, count - 1}) {
      RC_ASSERT(read_back(list, at) == values[at]);
    }
  });
  EXPECT_TRUE(holds);
}

TEST(Inputs, TheLastGroupMayBeWholeOrNot) {
  for (const size_t count : {511U, 512U, 513U}) {
    const auto list = written(Values(count, "some value of a task"));
    ASSERT_FALSE(list.source.blob().empty());
    for (size_t at = 0; at < count; ++at) EXPECT_EQ(read_back(list, at), "some value of a task");
  }
}

TEST(Inputs, AValueOverTheLimitIsRefusedByNumber) {
  SourceWriter writer;
  EXPECT_TRUE(writer.add(std::string(kInputValueMax, 'x')).ok());
  const auto refused = writer.add(std::string(kInputValueMax + 1, 'x'));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what.find("value 2 has"), 0U) << refused.error().what;
}

TEST(Inputs, DamagedBytesAreCorruptAndNotRead) {
  EXPECT_EQ(read_values("\x05"
                        "abc")
                .error()
                .code,
            Code::corrupt);
  const auto list = written(Values(600, "some value of a task"));
  const std::string beyond(16, '\xff');
  EXPECT_EQ(group_slice(list.source, 0, beyond).error().code, Code::corrupt);
  EXPECT_EQ(group_slice(list.source, 0, "short").error().code, Code::corrupt);
  EXPECT_EQ(group_slice(list.source, 2, beyond).error().code, Code::corrupt);
}

}  // namespace
}  // namespace dunlin
