// A body that is kept until it is whole: a little in memory, more of it in a file that nobody else
// sees and that goes away with it. So a slow client holds up nothing but its own thread, and the
// store may ask for any part again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/env.h"
#include "store/store.h"

namespace dunlin::rest {

class Call;

class Spool {
 public:
  Result<void> append(std::string_view bytes);
  uint64_t size() const { return size_; }
  // REQUIRES: the spool outlives it, and nothing is appended any more.
  BlobSource source() const;

 private:
  std::string memory_;
  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
};

// The body of a call. False if it is larger than an upload may be: then the connection is not kept.
Result<bool> receive(Call& call, Spool& into);

}  // namespace dunlin::rest
