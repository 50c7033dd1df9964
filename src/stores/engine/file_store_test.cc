#include "stores/engine/file_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/env_posix.h"
#include "sim/disk.h"
#include "store/contract.h"
#include "testing/clock.h"
#include "testing/temp_folder.h"

namespace dunlin::engine {
namespace {

class FileSubject final : public StoreSubject {
 public:
  FileSubject() { store_ = open_file_store(posix_disk(), clock_, folder_.path()).value(); }

  std::unique_ptr<Store> connect() override { return store_->connect(); }
  std::unique_ptr<Store> connect_twice() override { return twice(store_->connect()); }
  void wait(Millis time) override { clock_.skip(time); }
  bool waits() const override { return true; }

 private:
  TestFolder folder_;
  SkipClock clock_;
  std::unique_ptr<FileStore> store_;
};

std::unique_ptr<StoreSubject> file_subject() { return std::make_unique<FileSubject>(); }

// Counts the syncs of a real disk.
class CountingDisk final : public Disk {
 public:
  std::atomic<int> syncs = 0;

  Result<std::unique_ptr<File>> create(const std::string& path) override {
    return counted(posix_disk().create(path));
  }
  Result<std::unique_ptr<File>> open(const std::string& path) override {
    return counted(posix_disk().open(path));
  }
  Result<std::unique_ptr<File>> open_to_read(const std::string& path) const override {
    return posix_disk().open_to_read(path);
  }
  Result<void> remove(const std::string& path) override { return posix_disk().remove(path); }
  Result<std::vector<std::string>> list(const std::string& folder) const override {
    return posix_disk().list(folder);
  }
  Result<void> make_folder(const std::string& folder) override {
    return posix_disk().make_folder(folder);
  }
  Result<void> sync_folder(const std::string& folder) override {
    return posix_disk().sync_folder(folder);
  }
  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    return posix_disk().lock(folder);
  }

 private:
  class Counted final : public File {
   public:
    Counted(std::unique_ptr<File> file, std::atomic<int>& syncs)
        : file_(std::move(file)), syncs_(syncs) {}
    Result<void> write(uint64_t offset, std::string_view bytes) override {
      return file_->write(offset, bytes);
    }
    Result<void> sync() override {
      ++syncs_;
      return file_->sync();
    }
    Result<void> truncate(uint64_t size) override { return file_->truncate(size); }
    Result<size_t> read(uint64_t offset, std::span<char> into) const override {
      return file_->read(offset, into);
    }
    Result<uint64_t> size() const override { return file_->size(); }

   private:
    std::unique_ptr<File> file_;
    std::atomic<int>& syncs_;
  };

  Result<std::unique_ptr<File>> counted(Result<std::unique_ptr<File>> file) {
    if (!file.ok()) return file;
    return std::unique_ptr<File>(std::make_unique<Counted>(std::move(file).value(), syncs));
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(File, StoreContract, testing::Values(&file_subject));
INSTANTIATE_TEST_SUITE_P(File, WaitingContract, testing::Values(&file_subject));

TEST(FileStore, WritersThatComeTogetherShareASync) {
  const TestFolder folder;
  CountingDisk disk;
  constexpr int kThreads = 16;
  constexpr int kPushes = 50;
  auto store = open_file_store(disk, posix_clock(), folder.path()).value();
  disk.syncs = 0;
  std::vector<std::thread> writers;
  writers.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    writers.emplace_back([i, mine = store->connect()] {
      for (int n = 0; n < kPushes; ++n) {
        const Message message{std::to_string(i) + "-" + std::to_string(n), "body"};
        EXPECT_TRUE(mine->queue().push("q", {&message, 1}).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_LT(disk.syncs, kThreads * kPushes / 2);
  EXPECT_EQ(store->queue().depth("q").value().ready, uint64_t{kThreads} * kPushes);
}

TEST(FileStore, ASecondOwnerIsToldWhoTheFirstIs) {
  const TestFolder folder;
  const auto first = open_file_store(folder.path()).value();
  const auto second = open_file_store(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::denied);
  EXPECT_NE(second.error().what.find("in use by process " + std::to_string(::getpid())),
            std::string::npos)
      << second.error().what;
}

TEST(FileStore, AFolderThatCannotBeMadeIsNamed) {
  const auto store = open_file_store("/proc/nothing/here");
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().what.find("/proc/nothing"), std::string::npos) << store.error().what;
}

TEST(FileStore, WhenACommitFailsEveryWriterIsToldAndTheNextOneSucceeds) {
  SimDisk disk(1);
  SkipClock clock;
  auto store = open_file_store(disk, clock, "/s").value();
  const Message kept{"kept", "body"};
  ASSERT_TRUE(store->queue().push("q", {&kept, 1}).ok());

  disk.faults.capacity = 0;
  const Message refused{"refused", std::string(100'000, 'x')};
  const auto full = store->queue().push("q", {&refused, 1});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Code::full);
  EXPECT_EQ(store->queue().depth("q").value().ready, 1U);  // Reading goes on.

  disk.faults.capacity = UINT64_MAX;
  clock.skip(Millis(1000));
  ASSERT_TRUE(store->queue().push("q", {&refused, 1}).ok());
  EXPECT_EQ(store->queue().depth("q").value().ready, 2U);
}

}  // namespace dunlin::engine
