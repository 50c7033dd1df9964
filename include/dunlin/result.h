// What the SDK's functions return: values or errors, and the outcomes of tasks. Plain values, to be
// used from any thread like any other.
#pragma once

#include <chrono>
#include <cstdint>
#include <dunlin/api.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace dunlin::sdk {
inline namespace v1 {

// Says what the caller should do next, not where the failure happened.
enum class Code : int {
  invalid = 0,      // The request can never succeed: fix the caller.
  not_found = 1,    // There is no such thing.
  conflict = 2,     // Someone else was first: look again, then decide.
  denied = 3,       // Not allowed: repeating it gives the same answer.
  full = 4,         // A limit was reached: slow down.
  unavailable = 5,  // It may or may not have happened: repeat the call.
  corrupt = 6,      // Stored bytes are not those that were written: tell a person.
  unsupported = 7,  // This store cannot do it.
  timeout = 8,      // Nothing happened in the time that was given.
};

struct Error {
  Code code = Code::invalid;
  std::string what;  // For people: names the object and the next step.
};

// Says what is wrong on standard error and ends the program.
[[noreturn]] DUNLIN_API void value_of_error(const Error& error) noexcept;

// A value or an error. Taking the value of an error ends the program, so ask first.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & {
    check();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok()
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  void check() const {
    if (!ok()) value_of_error(error());
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

enum class State : int {
  none = 0,     // No outcome.
  ok = 1,       //
  failed = 2,   // Its exit code says so, or its function threw.
  crashed = 3,  // A signal ended it.
  timeout = 4,  //
  lost = 5,     // Its worker, or three of them.
  refused = 6,  // Could not be started.
};

// Whose fault it is that a task is not ok.
enum class Blame : int {
  nobody = 0,
  task = 1,    // Its program, or what was asked for.
  worker = 2,  // Its machine.
  store = 3,
};

// The one outcome of a task.
struct TaskResult {
  uint64_t task = 0;
  State state = State::none;
  int exit = 0;
  int signal = 0;
  uint32_t attempt = 0;

  // What the task wrote; `output` of a function is what it returned. More than 64 KiB are not here:
  // then the size says how much there is, and JobHandle::output() fetches it.
  std::string output = {};
  std::string error_output = {};
  uint64_t output_size = 0;
  uint64_t error_output_size = 0;

  std::string why = {};  // For people, if it is not ok.
  std::string worker = {};

  // Wall time in microseconds, by the worker's clock.
  int64_t received_us = 0;
  int64_t started_us = 0;
  int64_t ended_us = 0;
  int64_t committed_us = 0;

  Blame blame = Blame::nobody;

  bool ok() const { return state == State::ok; }
};

}  // namespace v1
}  // namespace dunlin::sdk
