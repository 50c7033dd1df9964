#include "sim/failing_core.h"

#include "store/memory.h"

namespace dunlin {
namespace {

bool changes_something(const Request& request) {
  return std::holds_alternative<Commit>(request) || std::holds_alternative<Pull>(request) ||
         std::holds_alternative<Renew>(request) || std::holds_alternative<BlobPart>(request) ||
         std::holds_alternative<BlobEnd>(request) || std::holds_alternative<BlobErase>(request) ||
         std::holds_alternative<EraseAll>(request);
}

}  // namespace

FailingCore::FailingCore(uint64_t seed) : random_(seed), below_(memory_core()) {}

Answer FailingCore::handle(Request&& request, Instant now) {
  if (fails_percent > 0 && changes_something(request)) journal_.emplace_back(request, now);
  return below_->handle(std::move(request), now);
}

Result<void> FailingCore::commit(Instant now) {
  const bool fails = journal_.size() > committed_ && random_.percent(fails_percent);
  if (!fails) {
    committed_ = journal_.size();
    return below_->commit(now);
  }
  if (random_.percent(30)) {
    committed_ = journal_.size();
    return Error{Code::unavailable, "the disk did not answer"};
  }
  journal_.resize(committed_);
  below_ = memory_core();
  for (const auto& [request, then] : journal_) below_->handle(Request(request), then);
  below_->expire(now);
  if (random_.percent(50)) return Error{Code::unavailable, "the disk failed"};
  return Error{Code::full, "the disk is full"};
}

}  // namespace dunlin
