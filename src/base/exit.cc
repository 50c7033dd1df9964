#include "base/exit.h"

#include <cstdio>
#include <fmt/format.h>

namespace dunlin {

int exit_code(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::unsupported:
      return kExitUsage;
    case Code::not_found:
      return kExitNotFound;
    case Code::denied:
      return kExitDenied;
    case Code::unavailable:
      return kExitUnreachable;
    case Code::conflict:
    case Code::full:
    case Code::corrupt:
      return kExitFailed;
  }
  CHECK(false);
  return kExitFailed;
}

int report(const Error& error) {
  // Not fmt::print, which throws if standard error is gone.
  std::fputs(fmt::format("dunlin: {}\n", error.what).c_str(), stderr);
  return exit_code(error.code);
}

}  // namespace dunlin
