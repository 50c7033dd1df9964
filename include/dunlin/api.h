// What every header of the SDK needs: its version, and what the library exports.
//
// The SDK is all that stands in include/dunlin/. It needs nothing but C++20 and its standard
// library, throws nothing, and hides what it is made of, so that a new library does not break
// programs that were built with an older one of the same version of its namespace.
#pragma once

#define DUNLIN_SDK_VERSION "0.1.0"

#if defined(__GNUC__)
#define DUNLIN_API __attribute__((visibility("default")))
#else
#define DUNLIN_API
#endif

namespace dunlin::sdk {
inline namespace v1 {

// Of the library that this program runs with.
DUNLIN_API const char* library_version() noexcept;

}  // namespace v1
}  // namespace dunlin::sdk
