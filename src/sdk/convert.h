// From what the parts below say to what the SDK says. Pure; from any thread.
#pragma once

#include <dunlin/client.h>
#include <dunlin/result.h>
#include <utility>

#include "base/result.h"
#include "model/jobs/progress.h"
#include "model/jobs/results.h"

namespace dunlin::sdk {

Error public_error(const dunlin::Error& error);

template <typename T>
Expected<T> expected(Result<T>&& result) {
  if (!result.ok()) return public_error(result.error());
  return std::move(result).value();
}
inline Expected<void> expected(Result<void>&& result) {
  if (!result.ok()) return public_error(result.error());
  return {};
}

// Outputs as far as they are in the outcome itself.
TaskResult public_result(const dunlin::TaskResult& result);
JobState public_state(dunlin::JobState state);

}  // namespace dunlin::sdk
