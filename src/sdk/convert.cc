#include "sdk/convert.h"

#include <cstdlib>

#include "base/log.h"

namespace dunlin::sdk {
inline namespace v1 {

const char* library_version() noexcept { return DUNLIN_VERSION; }

void value_of_error(const Error& error) noexcept {
  log::error("a program used the value of a call that failed: {}", error.what);
  std::abort();
}

}  // namespace v1

Error public_error(const dunlin::Error& error) {
  static_assert(int{static_cast<int>(dunlin::Code::unsupported)} ==
                static_cast<int>(Code::unsupported));
  return {static_cast<Code>(error.code), error.what};
}

static_assert(static_cast<int>(Blame::store) == static_cast<int>(model::BLAME_STORE));

TaskResult public_result(const dunlin::TaskResult& result) {
  const model::Outcome& outcome = result.outcome;
  TaskResult out;
  out.task = result.task;
  out.state = static_cast<State>(outcome.state());
  out.exit = outcome.exit();
  out.signal = static_cast<int>(outcome.signal());
  out.attempt = outcome.attempt();
  const auto take = [](const model::Output& output, std::string& bytes, uint64_t& size) {
    const bool here = output.where() == model::Output::HERE;
    if (here) bytes = output.bytes();
    size = here ? bytes.size() : output.size();
  };
  take(outcome.out(), out.output, out.output_size);
  take(outcome.err(), out.error_output, out.error_output_size);
  if (outcome.state() != model::STATE_OK) out.why = why_of(outcome);
  out.worker = result.worker;
  out.received_us = outcome.received_us();
  out.started_us = result.started_us();
  out.ended_us = result.ended_us();
  out.committed_us = result.committed_us;
  out.blame = static_cast<Blame>(outcome.blame());
  return out;
}

JobState public_state(dunlin::JobState state) {
  static_assert(static_cast<int>(dunlin::JobState::skipped) == static_cast<int>(JobState::skipped));
  return static_cast<JobState>(state);
}

}  // namespace dunlin::sdk
