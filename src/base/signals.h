// Signals as a descriptor, for a loop that waits for other things, too. watch_signals() is called
// before any thread begins, take_signal() by the loop. Never blocks.
#pragma once

#include <initializer_list>
#include <optional>

namespace dunlin {

// From now on they are only read there. Those that our parent wants ignored stay so: nohup does
// that with SIGHUP, and a shell with SIGINT for what it runs in the background. To be called before
// any thread begins.
int watch_signals(std::initializer_list<int> signals);

// The number of one that came, if any.
std::optional<int> take_signal(int descriptor);

}  // namespace dunlin
