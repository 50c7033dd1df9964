#include "tascaas/files.h"

#include <gtest/gtest.h>

#include "base/env_posix.h"
#include "store/memory.h"
#include "tascaas/keys.h"

namespace dunlin::tascaas {
namespace {

const WallTime kNow{std::chrono::seconds(1'700'000'000)};

// Before the first write of a row somebody else is quicker.
class SecondPlace final : public RequestStore {
 public:
  SecondPlace(RequestStore& store, std::function<void()> quicker)
      : RequestStore(2), store_(store), quicker_(std::move(quicker)) {}

 protected:
  Answer call(Request&& request) override {
    if (std::holds_alternative<Commit>(request) && quicker_) std::exchange(quicker_, {})();
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  std::function<void()> quicker_;
};

class Files : public testing::Test {
 protected:
  void put(Store& to, const std::string& text) {
    ASSERT_TRUE(put_text(to, "t", "input/a", text, kNow).ok());
  }
  FileInfo find() { return find_file(store->table(), "t", "input/a").value(); }
  std::string text() { return read_file(*store, find().file, 100).value(); }
  size_t blobs() { return store->blobs().list("", "", 100).value().size(); }

  std::unique_ptr<RequestStore> store = memory_store(posix_clock());
};

TEST_F(Files, AFileThatIsReplacedLeavesNoBytesBehind) {
  put(*store, "one");
  put(*store, "two");
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(blobs(), 1U);
}

TEST_F(Files, WhoWasSecondLeavesNoBytesBehind) {
  put(*store, "one");
  SecondPlace second(*store, [this] { put(*store, "two"); });
  put(second, "three");
  EXPECT_EQ(text(), "three");
  EXPECT_EQ(blobs(), 1U);
}

TEST_F(Files, BytesStayWhenOnlyTheRowHasChanged) {
  put(*store, "one");
  SecondPlace second(*store, [this] {
    FileInfo info = find();
    info.file.set_taken(true);
    const Row row{file_row("t", info.key), info.file.SerializeAsString(), info.version};
    ASSERT_TRUE(store->table().put(kTable, row).ok());
    EXPECT_EQ(text(), "one");
  });
  put(second, "two");
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(blobs(), 1U);
}

}  // namespace
}  // namespace dunlin::tascaas
