// The contract of Blobs.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>

#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {
namespace {

uint64_t large_blob_mib() {
  const char* chosen = std::getenv("DUNLIN_CONTRACT_BLOB_MIB");
  return chosen == nullptr ? 24 : std::max<uint64_t>(std::strtoull(chosen, nullptr, 10), 1);
}

}  // namespace

// Blobs.

TEST_P(StoreContract, ABlobIsReadAsItWasWritten) {
  const std::string blob = name + "/a:b?c";
  EXPECT_EQ(outcome(put_blob(*store, blob, all_bytes())), "ok");
  const std::unique_ptr<Store> other = subject->connect();
  EXPECT_EQ(read_blob(*other, blob, 0, 1000), all_bytes());
  const std::vector<BlobInfo> listed = must(other->blobs().list(name, "", 10));
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, blob);
  EXPECT_EQ(listed[0].size, all_bytes().size());
}

TEST_P(StoreContract, ABlobIsWrittenOnce) {
  EXPECT_EQ(outcome(put_blob(*store, name, "bytes")), "ok");
  EXPECT_EQ(outcome(put_blob(*subject->connect(), name, "bytes")), "ok");
  for (const char* other : {"other", "byte", "bytes!", ""}) {
    EXPECT_EQ(outcome(put_blob(*store, name, other)), "conflict") << other;
  }
  EXPECT_EQ(read_blob(*store, name, 0, 100), "bytes");
}

TEST_P(StoreContract, AnErasedBlobIsGoneAndItsNameIsFree) {
  EXPECT_EQ(outcome(put_blob(*store, name, "bytes")), "ok");
  EXPECT_EQ(outcome(store->blobs().erase(name)), "ok");
  EXPECT_EQ(outcome(store->blobs().erase(name)), "ok");  // Already gone.
  EXPECT_EQ(outcome(store->blobs().get(name, 0, 1)), "not found");
  EXPECT_TRUE(blob_names(*store, name, "", 10).empty());
  EXPECT_EQ(outcome(put_blob(*store, name, "other")), "ok");
  EXPECT_EQ(read_blob(*store, name, 0, 100), "other");
}

TEST_P(StoreContract, AnEmptyBlobExists) {
  EXPECT_EQ(outcome(put_blob(*store, name, "")), "ok");
  EXPECT_EQ(outcome(put_blob(*store, name, "")), "ok");
  EXPECT_EQ(outcome(put_blob(*store, name, "x")), "conflict");
  EXPECT_EQ(must(store->blobs().get(name, 0, 10)), "");
  EXPECT_EQ(blob_names(*store, name, "", 10), (Strings{name}));
}

TEST_P(StoreContract, RangesOfABlobMayCrossItsParts) {
  const size_t size = 2 * kBlobPart + 1234;
  EXPECT_EQ(outcome(put_blob(*store, name, bytes_at(0, size))), "ok");
  const auto expect_range = [&](uint64_t offset, size_t wanted) {
    const size_t left = offset < size ? size - offset : 0;
    EXPECT_TRUE(read_blob(*store, name, offset, wanted) == bytes_at(offset, std::min(wanted, left)))
        << offset << " " << wanted;
  };
  expect_range(0, 1);
  expect_range(kBlobPart - 1, 1);
  expect_range(kBlobPart, 1);
  expect_range(kBlobPart - 1, 2);
  expect_range(kBlobPart - 7, kBlobPart + 14);
  expect_range(0, size);
  expect_range(1, kBatchBytesMax);
  expect_range(size - 1, 10);
  expect_range(size, 10);
  expect_range(size + 1, 10);
  expect_range(UINT64_MAX - 10, 10);
}

TEST_P(StoreContract, BlobsAtTheBordersOfPartsAreWhole) {
  for (const size_t size : {kBlobPart - 1, kBlobPart, kBlobPart + 1, 2 * kBlobPart}) {
    const std::string blob = fmt::format("{}/{}", name, size);
    EXPECT_EQ(outcome(put_blob(*store, blob, bytes_at(0, size))), "ok");
    EXPECT_TRUE(read_blob(*store, blob, 0, size + 1) == bytes_at(0, size)) << size;
    EXPECT_EQ(outcome(put_blob(*store, blob, bytes_at(1, size))), "conflict") << size;
  }
}

TEST_P(StoreContract, ALargeBlobIsStreamed) {
  const uint64_t size = (large_blob_mib() << 20) + 4321;
  size_t asked_max = 0;
  const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
    asked_max = std::max(asked_max, max);
    return bytes_at(offset, max);
  };
  EXPECT_EQ(outcome(store->blobs().put(name, size, source)), "ok");
  EXPECT_LE(asked_max, 8 * kBatchBytesMax);  // Never the whole of it.
  EXPECT_EQ(must(store->blobs().list(name, "", 1)).at(0).size, size);
  constexpr size_t kStep = 3'000'017;
  for (uint64_t offset = 0; offset < size; offset += kStep) {
    const size_t step = std::min<uint64_t>(kStep, size - offset);
    ASSERT_TRUE(read_blob(*store, name, offset, step) == bytes_at(offset, step)) << offset;
  }
  EXPECT_EQ(must(store->blobs().get(name, size, 10)), "");
  EXPECT_EQ(outcome(store->blobs().erase(name)), "ok");
}

// The source of each blob puts the next one before it gives its last bytes: so all are under way at
// once, a few of them on each connection. None is sent more often than one that is alone.
TEST_P(StoreContract, ManyBlobsMayBeOnTheirWayAtOnce) {
  constexpr size_t kBlobs = 72;
  constexpr size_t kOnEach = 12;
  const uint64_t size = kBlobPart + 10;
  std::vector<std::unique_ptr<Store>> stores;
  for (size_t i = 0; i < kBlobs; i += kOnEach) stores.push_back(subject->connect());
  std::vector<int> begun(kBlobs);
  const std::function<std::string(size_t)> put = [&](size_t number) {
    std::string others = "ok";
    bool asked = false;
    const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
      if (offset == 0) ++begun[number];
      const bool is_last = offset >= kBlobPart && !std::exchange(asked, true);
      if (is_last && number + 1 < kBlobs) others = put(number + 1);
      return bytes_at(offset + number, max);
    };
    const std::string blob = fmt::format("{}/{}", name, number);
    const std::string own = outcome(stores[number / kOnEach]->blobs().put(blob, size, source));
    return own == "ok" ? others : own;
  };
  EXPECT_EQ(put(0), "ok");
  // The innermost one ended before the others went on.
  EXPECT_EQ(begun, std::vector<int>(kBlobs, begun.back())) << "some were forgotten and sent again";
  for (size_t number = 0; number < kBlobs; number += 7) {
    EXPECT_TRUE(read_blob(*store, fmt::format("{}/{}", name, number), 0, size + 1) ==
                bytes_at(number, size))
        << number;
  }
}

TEST_P(StoreContract, ABlobWhoseSourceFailsIsNotThere) {
  const auto ends_early = [](uint64_t offset, size_t max) -> Result<std::string> {
    return offset < kBlobPart ? std::string(max, 'x') : std::string();
  };
  EXPECT_EQ(outcome(store->blobs().put(name, 2 * kBlobPart, ends_early)), "invalid");
  const auto fails = [](uint64_t offset, size_t max) -> Result<std::string> {
    if (offset >= kBlobPart) return Error{Code::conflict, "the file changed"};
    return std::string(max, 'x');
  };
  EXPECT_EQ(outcome(store->blobs().put(name, 2 * kBlobPart, fails)), "conflict");
  EXPECT_EQ(outcome(store->blobs().get(name, 0, 1)), "not found");
  EXPECT_TRUE(blob_names(*store, name, "", 10).empty());
  EXPECT_EQ(outcome(put_blob(*store, name, "whole")), "ok");
}

TEST_P(StoreContract, ASourceMayGiveLessThanItIsAskedFor) {
  const uint64_t size = kBlobPart + 99'999;
  const auto source = [&](uint64_t offset, size_t max) -> Result<std::string> {
    return bytes_at(offset, std::min<size_t>(max, 65'521));
  };
  EXPECT_EQ(outcome(store->blobs().put(name, size, source)), "ok");
  EXPECT_TRUE(read_blob(*store, name, 0, size + 1) == bytes_at(0, size));
}

TEST_P(StoreContract, BlobsAreListedByPrefixInPages) {
  Strings within;
  for (const char* end : {"/", "/1", "/10", "/2/x", "/~", "/~~"}) within.push_back(name + end);
  for (const std::string& blob : within) EXPECT_EQ(outcome(put_blob(*store, blob, "x")), "ok");
  for (const char* end : {".", "0", "~"}) {
    EXPECT_EQ(outcome(put_blob(*store, name + end, "x")), "ok");
  }
  for (const size_t max : {size_t{1}, size_t{4}, kBatchMax}) {
    EXPECT_EQ(blob_names(*store, name + "/", "", max), within);
  }
  EXPECT_EQ(blob_names(*store, name + "/", within[3], 10), (Strings{within[4], within[5]}));
  EXPECT_EQ(blob_names(*store, name + "/", name, 10), within);
  EXPECT_EQ(blob_names(*store, name + "/", name + "0", 10), (Strings{}));
  EXPECT_EQ(blob_names(*store, name, "", 2).size(), 9U);
}

TEST_P(StoreContract, BlobsHaveLimits) {
  const std::string longest = name + std::string(kKeyMax - name.size(), '~');
  EXPECT_EQ(outcome(put_blob(*store, longest, "x")), "ok");
  EXPECT_EQ(read_blob(*store, longest, 0, 10), "x");
  const auto never = [](uint64_t /*offset*/, size_t /*max*/) -> Result<std::string> {
    ADD_FAILURE() << "asked for bytes of a blob that is refused";
    return std::string();
  };
  Blobs& blobs = store->blobs();
  EXPECT_EQ(outcome(blobs.put(longest + "~", 1, never)), "invalid");
  EXPECT_EQ(outcome(blobs.put(name, kBlobMax + 1, never)), "invalid");
  EXPECT_EQ(outcome(blobs.get(longest, 0, 0)), "invalid");
  EXPECT_EQ(outcome(blobs.get(longest, 0, kBatchBytesMax + 1)), "invalid");
  EXPECT_EQ(outcome(blobs.list("", "", 0)), "invalid");
  EXPECT_EQ(outcome(blobs.list("", "", kBatchMax + 1)), "invalid");
  EXPECT_EQ(outcome(blobs.get(name, 0, 1)), "not found");
  for (const std::string& odd : odd_keys()) {
    EXPECT_EQ(outcome(blobs.put(odd, 1, never)), "invalid");
    EXPECT_EQ(outcome(blobs.get(odd, 0, 1)), "invalid");
    EXPECT_EQ(outcome(blobs.erase(odd)), "invalid");
    if (odd.empty()) continue;
    EXPECT_EQ(outcome(blobs.list(odd, "", 1)), "invalid");
  }
}

}  // namespace dunlin::contract
