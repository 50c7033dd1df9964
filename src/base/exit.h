// How a command ends: its exit code, and the line that says why. From any thread.
#pragma once

#include "base/result.h"

namespace dunlin {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;  // A task failed, or the store did.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitDenied = 4;
inline constexpr int kExitNotFound = 5;
inline constexpr int kExitCut = 6;  // An output is not whole; no task failed.
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitPipe = 141;  // As a shell says it of one that SIGPIPE has ended.

int exit_code(Code code);

// Prints "dunlin: " and the error to standard error; returns its exit code.
int report(const Error& error);

}  // namespace dunlin
