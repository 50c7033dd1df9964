// Tells the service manager that started us what state we are in (systemd's readiness protocol). A
// failure is a line in the log. From any thread.
#pragma once

#include <string_view>

namespace dunlin::hub {

// `state` is e.g. "READY=1". Does nothing if nobody asked for it (no $NOTIFY_SOCKET).
void notify_manager(std::string_view state);

}  // namespace dunlin::hub
