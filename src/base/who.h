// Who runs this program, and where: for owners of jobs and names of workers. Reads the environment
// and /proc. From any thread.
#pragma once

#include <string>
#include <sys/types.h>

namespace dunlin {

std::string user_name();  // $USER, or uidNNN if that is not a name.
std::string host_name();  // Without what is not allowed in names; at most 40 characters.

// What tells this process from every other that has its number, now, before and after a reboot:
// "BOOTID STARTTIME". Empty if there is none or it has ended and only waits to be asked how.
std::string process_birth(pid_t process);

}  // namespace dunlin
