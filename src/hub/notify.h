// Tells the service manager that started us what state we are in (systemd's readiness protocol).
#pragma once

#include <string_view>

namespace dunlin {

// `state` is e.g. "READY=1". Does nothing if nobody asked for it (no $NOTIFY_SOCKET).
void notify_manager(std::string_view state);

}  // namespace dunlin
