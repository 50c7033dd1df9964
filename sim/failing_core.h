// Cores for the hub of a test: the reference engine with commits that can be undone, or that fail;
// and a core that notes whether another one is well. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/request.h"

namespace dunlin {

// Keeps a journal, so that what was asked of it since the last commit can be undone: what was
// committed is done again in a fresh core.
class UndoableCore final : public Core {
 public:
  UndoableCore();

  void undo();
  void stop_journal();  // For good: nothing will be undone any more.

  Answer handle(Request&& request, Instant now) override;
  Result<void> commit(Instant now) override;
  std::vector<std::string> expire(Instant now) override;
  std::optional<Instant> next_expiry() const override { return below_->next_expiry(); }

 private:
  std::unique_ptr<Core> below_;
  std::vector<std::function<void(Core&)>> steps_;
  size_t committed_ = 0;  // Of the steps.
  bool journals_ = true;
};

// A commit that fails with `full` is undone. One that fails with `unavailable` is undone, or has
// happened.
class FailingCore final : public Core {
 public:
  explicit FailingCore(uint64_t seed) : random_(seed) {}

  uint64_t fails_percent = 0;  // Of commits. REQUIRES: set once, before the first request, or to 0

  Answer handle(Request&& request, Instant now) override;
  Result<void> commit(Instant now) override;
  std::vector<std::string> expire(Instant now) override { return below_.expire(now); }
  std::optional<Instant> next_expiry() const override { return below_.next_expiry(); }

 private:
  Random random_;
  UndoableCore below_;
  bool changed_ = false;  // Since the last commit.
};

class WatchedCore final : public Core {
 public:
  // `below` must outlive it.
  explicit WatchedCore(Core& below) : below_(below) {}

  // Nothing failed since the last call of this.
  bool was_well() { return std::exchange(well_, true); }

  Answer handle(Request&& request, Instant now) override {
    Answer answer = below_.handle(std::move(request), now);
    const auto* error = std::get_if<Error>(&answer);
    if (error && (error->code == Code::full || error->code == Code::unavailable)) well_ = false;
    return answer;
  }
  Result<void> commit(Instant now) override {
    Result<void> result = below_.commit(now);
    if (!result.ok()) well_ = false;
    return result;
  }
  std::vector<std::string> expire(Instant now) override { return below_.expire(now); }
  std::optional<Instant> next_expiry() const override { return below_.next_expiry(); }

 private:
  Core& below_;
  bool well_ = true;
};

}  // namespace dunlin
