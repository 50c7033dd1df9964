#include "sim/failing_core.h"

#include <utility>

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

UndoableCore::UndoableCore() : below_(memory_core()) {}

void UndoableCore::undo() {
  steps_.resize(committed_);
  below_ = memory_core();
  for (const auto& step : steps_) step(*below_);
}

void UndoableCore::stop_journal() {
  journals_ = false;
  steps_.clear();
}

Answer UndoableCore::handle(Request&& request, Instant now) {
  if (journals_) {
    steps_.emplace_back([request, now](Core& core) { core.handle(Request(request), now); });
  }
  return below_->handle(std::move(request), now);
}

Result<void> UndoableCore::commit(Instant now) {
  committed_ = steps_.size();
  return below_->commit(now);
}

std::vector<std::string> UndoableCore::expire(Instant now) {
  if (journals_) steps_.emplace_back([now](Core& core) { core.expire(now); });
  return below_->expire(now);
}

Answer FailingCore::handle(Request&& request, Instant now) {
  if (fails_percent == 0) below_.stop_journal();
  changed_ = changed_ || changes_something(request);
  return below_.handle(std::move(request), now);
}

Result<void> FailingCore::commit(Instant now) {
  const bool fails = std::exchange(changed_, false) && random_.percent(fails_percent);
  if (!fails) return below_.commit(now);
  if (random_.percent(30)) {
    if (const auto committed = below_.commit(now); !committed.ok()) return committed;
    return Error{Code::unavailable, "the disk did not answer"};
  }
  below_.undo();
  below_.expire(now);
  if (random_.percent(50)) return Error{Code::unavailable, "the disk failed"};
  return Error{Code::full, "the disk is full"};
}

}  // namespace dunlin
