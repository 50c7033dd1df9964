// What every Store must do, as tests. An engine earns its place by a subject and a few lines in its
// own test file:
//
//   INSTANTIATE_TEST_SUITE_P(File, StoreContract, testing::Values(&file_subject));
//   INSTANTIATE_TEST_SUITE_P(File, WaitingContract, testing::Values(&file_subject));
//
// Each test makes a new subject and uses names that no other test or run uses, so subjects may
// stand for one real server. DUNLIN_CONTRACT_BLOB_MIB sets the size of the large blob (24).
//
// A subject belongs to the thread of its test. If it waits(), tests use its connections from
// several threads, each connection from one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/request_store.h"

namespace dunlin {

class StoreSubject {
 public:
  virtual ~StoreSubject() = default;

  // Another connection to the same store. REQUIRES: the subject outlives it.
  virtual std::unique_ptr<Store> connect() = 0;

  // One whose requests arrive twice: see twice() below.
  virtual std::unique_ptr<Store> connect_twice() = 0;

  // Moves a fake clock, or sleeps for a real server; longer if its leases are not exact.
  virtual void wait(Millis time) = 0;

  // A lease that a few calls surely fit into, and that a test can afford to wait for.
  virtual Millis hold() const { return Millis(1000); }

  // Whether connections may be used by one thread each, and a waiting pull sees what others push.
  virtual bool waits() const { return false; }

  // Whether messages come oldest first.
  virtual bool ordered() const { return true; }

  // Whether a blob travels as BlobParts.
  virtual bool blob_parts() const { return true; }
};

// A store that sends each request to `store` twice and believes the second answer, as a client does
// that lost the first: except a pull, which hands out more each time, and the end of a blob, after
// which an upload is rightly forgotten.
std::unique_ptr<Store> twice(std::unique_ptr<RequestStore> store);

// Makes the subject of one test.
using StoreFactory = std::unique_ptr<StoreSubject> (*)();

class StoreContract : public testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override;

  std::unique_ptr<StoreSubject> subject;
  std::unique_ptr<Store> store;
  std::string name;  // Of this test's queue and table, and the start of its blobs' names.
};

// For the subjects whose pulls wait.
class WaitingContract : public StoreContract {};

}  // namespace dunlin
